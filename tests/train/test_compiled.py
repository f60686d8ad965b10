"""A compiled step learns what the step learns, and a run says that it has one."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import CaptureError, RunFolderError

pytestmark = pytest.mark.usefixtures("without_pictures")


def train(model, data, valid=None, **options):
    every: dict[str, Any] = {"epochs": 3, "batch_size": 16, "report": False, **options}
    return sl.train.fit(model, data, valid, **every)


def weights_of(run):
    return {path: np.array(it) for path, it in run.model.to_record().items()}


TASKS = {"classes": "classify", "gc": "regress", "motifs": "multilabel"}


@pytest.mark.parametrize("labels", TASKS)
@pytest.mark.parametrize(
    "backend",
    ["numpy", pytest.param("jax", marks=pytest.mark.soak)],
)
def test_both_end_with_the_same_weights(toy, labels, backend):
    task = TASKS[labels]
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


def test_unasked_long_runs_of_one_length_are_compiled_and_others_are_not(toy, small):
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


@pytest.mark.parametrize("place", [(1, 2), (2, None)], ids=str)
def test_a_compiled_run_goes_on_to_the_same_bits(toy, small, tmp_path, place):
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


def test_a_run_does_not_change_between_both(toy, small, tmp_path):
    train(small, toy(), compile=True, out=tmp_path / "run")
    with pytest.raises(RunFolderError, match="begun with compiled True, not None"):
        train(small, toy(), compile=False, out=tmp_path / "run", resume=True)


class Peeking(sl.nn.Module):
    """Looks at a value within the step, which cannot be compiled."""

    head: sl.nn.Linear

    def __init__(self):
        self.head = sl.nn.Linear(4, 2)

    def logits(self, inputs):
        pooled = inputs.mean(axis=2)
        return self.head(pooled * (2.0 if pooled.sum().item() > 0 else 1.0))


def test_what_cannot_be_compiled_runs_as_it_is_and_the_report_says_why(toy):
    run = train(Peeking(), toy(), epochs=100)
    assert str(run.report.facts["compiled"]).startswith("no: ")
    with pytest.raises(CaptureError):
        train(Peeking(), toy(), compile=True)


def test_a_compiled_step_of_ones_own_learns_the_same(toy, small):
    def step(model, batch, key):
        logits = model.logits(batch["inputs"], mask=None, key=key)
        loss = sl.nn.functional.cross_entropy(logits, batch["label"])
        return loss, {"twice": loss * 2.0}

    runs = [train(small, toy(), step=step, compile=it) for it in (False, True)]
    losses = [[row["train_twice"] for row in run.history] for run in runs]
    np.testing.assert_allclose(*losses, rtol=1e-5)
