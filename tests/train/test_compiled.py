"""Tests that a compiled step trains like an uncompiled step, and is reported."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import CaptureError, GradientError, RunFolderError


def train(model, data, valid=None, **options):
    every: dict[str, Any] = {"epochs": 3, "batch_size": 16, "report": False, **options}
    return sl.train.fit(model, data, valid, **as_arguments(**every))


def weights_of(run):
    return {path: np.array(it) for path, it in run.model.to_record().items()}


TASK_OF_LABELS = {"classes": "classify", "gc": "regress", "motifs": "multilabel"}


@pytest.mark.parametrize("labels", TASK_OF_LABELS)
@pytest.mark.parametrize(
    "backend",
    ["numpy", pytest.param("jax", marks=pytest.mark.soak)],
)
def test_compiled_and_uncompiled_runs_end_with_the_same_weights(toy, labels, backend):
    task = TASK_OF_LABELS[labels]
    data = toy(labels=labels, task=task)
    outputs = 1 if task == "regress" else 2
    config = sl.models.SequenceCNNConfig(4, outputs, widths=(8,), kernel_size=5)
    plain, compiled = (
        train(config, data, data, compile=it, backend=backend, lr=0.01)
        for it in (False, True)
    )
    for path, expected in weights_of(plain).items():
        np.testing.assert_allclose(
            weights_of(compiled)[path], expected, rtol=1e-4, atol=1e-5
        )
    assert compiled.report.facts["compiled"] == "yes"


def test_by_default_only_long_runs_with_equal_lengths_are_compiled(toy, small):
    plans = []

    class Reader:
        def on_start(self, plan):
            plans.append(plan.is_compiled)
            raise KeyboardInterrupt

    long, mixed = {"epochs": 100}, toy(lengths=(20, 25), name="mixed")
    for data, options in [
        (toy(), long),
        (toy(), {}),
        (mixed, long),
        (toy(), {**long, "compile": False}),
    ]:
        with pytest.raises(KeyboardInterrupt):
            train(small, data, callbacks=[Reader()], **options)
    assert plans == [True, False, False, False]


class Annealed:
    """A loss with a weight that a callback lowers."""

    beta = 1.0

    def __call__(self, output, labels):
        return sl.nn.functional.cross_entropy(output, labels) * self.beta


class Weighted(sl.nn.Module):
    """A layer that multiplies logits by a number that a callback lowers."""

    head: sl.nn.Linear
    beta: float = 1.0

    def logits(self, inputs):
        return self.head(inputs.mean(axis=2)) * self.beta


class Lowering(sl.train.Progress):
    def __init__(self, holder):
        self.holder = holder

    def on_epoch(self, row):
        del row
        self.holder.beta = 0.0


def loss_of(output, labels, *, settings):
    return sl.nn.functional.cross_entropy(output, labels) * settings.beta


def of_an_object(small):
    loss = Annealed()
    return small, loss, loss


def of_a_partial_function(small):
    settings = Annealed()
    return small, partial(loss_of, settings=settings), settings


def of_a_field(_):
    model = Weighted(sl.nn.Linear(4, 2))
    return model, None, model


@pytest.mark.parametrize("backend", ["numpy", pytest.param("jax", marks=pytest.mark.soak)])
@pytest.mark.parametrize("compiles", [True, "auto"])
@pytest.mark.parametrize("kind", [of_an_object, of_a_partial_function, of_a_field])
def test_a_number_that_a_callback_changes_is_used_in_the_next_epoch(
    toy, small, kind, compiles, backend
):
    pytest.importorskip(backend)
    model, loss, holder = kind(small)
    options: dict[str, Any] = {"compile": compiles, "backend": backend, "loss": loss}
    if loss is not None:
        options["task"] = "custom"
    run = train(model, toy(), callbacks=[Lowering(holder)], epochs=3, **options)
    losses = [row["train_loss"] for row in run.history]
    wanted = 0.0 if loss is not None else np.log(2)  # the loss for two equal logits
    assert losses[0] > 0.1
    np.testing.assert_allclose(losses[1:], wanted, atol=1e-6)


@pytest.mark.parametrize("kind", [of_an_object, of_a_partial_function, of_a_field])
def test_a_step_with_a_user_object_is_compiled_only_on_request(toy, small, kind):
    model, loss, _ = kind(small)
    options = {} if loss is None else {"loss": loss, "task": "custom"}
    facts = []

    class Reader:
        def on_start(self, plan):
            facts.append(plan.facts["compiled"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(model, toy(), epochs=100, callbacks=[Reader()], **options)
    assert "Computation(compile=True) compiles the step" in facts[0]


class Pooled(sl.nn.Module):
    def __call__(self, x):
        pooled = x.mean(axis=2)
        return pooled * (2.0 if pooled.sum().item() > 0 else 1.0)


def test_a_layer_that_a_callback_adds_disables_compilation(toy):
    layers = sl.nn.Sequential(
        sl.nn.AdaptiveAvgPool1d(1), sl.nn.Flatten(), sl.nn.Linear(4, 2)
    )

    class Replace(sl.train.Progress):
        def on_epoch(self, row):
            if row["epoch"] == 1:
                layers.layers[:2] = [Pooled()]

    run = train(layers, toy(), epochs=100, lr=1e-6, callbacks=[Replace()])
    assert "needs its values" in str(run.report.facts["compiled"])


@pytest.mark.parametrize("place", [(1, 2), (2, None)], ids=str)
def test_a_compiled_run_resumes_to_the_same_bits(toy, small, tmp_path, place):
    class Stop(sl.train.Progress):
        def on_batch(self, step):
            if (step.epoch, step.batch) == place:
                raise KeyboardInterrupt

        def on_epoch(self, row):
            if (row["epoch"], None) == place:
                raise KeyboardInterrupt

    whole = train(small, toy(), compile=True)
    folder: Any = {"out": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        train(small, toy(), compile=True, callbacks=[Stop()], **folder)
    again = train(small, toy(), resume=True, **folder)
    assert again.report.facts["compiled"] == "yes"
    for path, expected in weights_of(whole).items():
        assert weights_of(again)[path].tobytes() == expected.tobytes()


@pytest.mark.parametrize("options", [{}, {"accumulate": 2}, {"clip_norm": 1.0}], ids=str)
def test_a_compiled_step_whose_loss_is_nan_is_not_saved(tmp_path, options):
    """In a compiled step, the weights are updated before the loss is checked."""
    x = np.ones((40, 3), np.float32)
    x[0, 0] = np.nan
    steps = []

    class Reader(sl.train.Progress):
        def on_start(self, plan):
            assert plan.is_compiled

        def on_batch(self, step):
            steps.append(step.number)

    with pytest.raises(GradientError, match="the loss is nan"):
        train(
            sl.nn.Linear(3, 1),
            {"x": x, "label": np.arange(40.0)},
            compile=True,
            task="regress",
            batch_size=4,
            callbacks=[Reader()],
            out=tmp_path,
            checkpoint_every=1,
            **options,
        )
    assert len(steps) > 1
    record = sl.record.load(tmp_path / "checkpoint/last.safetensors")
    assert 0 < record.metadata["step_count"] <= steps[-1]
    # In the table of steps, the accuracy of a regression is NaN.
    infinite = [path for path in record if not np.isfinite(np.asarray(record[path])).all()]
    assert infinite == ["epoch.steps"]


def test_a_run_cannot_resume_with_another_choice_of_compilation(toy, small, tmp_path):
    train(small, toy(), compile=True, out=tmp_path / "run")
    with pytest.raises(RunFolderError, match="started with compiled True, not None"):
        train(small, toy(), compile=False, out=tmp_path / "run", resume=True)


class Peeking(sl.nn.Module):
    """A network that reads the value of a tensor, which cannot be compiled."""

    head: sl.nn.Linear

    def __init__(self):
        self.head = sl.nn.Linear(4, 2)

    def logits(self, inputs):
        pooled = inputs.mean(axis=2)
        return self.head(pooled * (2.0 if pooled.sum().item() > 0 else 1.0))


def test_a_step_that_cannot_be_compiled_runs_and_the_report_explains_why(toy):
    run = train(Peeking(), toy(), epochs=100)
    assert str(run.report.facts["compiled"]).startswith("no: ")
    with pytest.raises(CaptureError):
        train(Peeking(), toy(), compile=True)


def test_a_compiled_custom_step_trains_the_same_weights(toy, small):
    def step(model, batch, key):
        logits = model.logits(batch["inputs"], mask=None, key=key)
        loss = sl.nn.functional.cross_entropy(logits, batch["label"])
        return loss, {"twice": loss * 2.0}

    runs = [train(small, toy(), step=step, compile=it) for it in (False, True)]
    losses = [[row["train_twice"] for row in run.history] for run in runs]
    np.testing.assert_allclose(*losses, rtol=1e-5)
