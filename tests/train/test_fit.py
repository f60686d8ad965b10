"""Tests of `fit`: the results, the files, and the errors before training begins."""

import json
import math
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import (
    ArgumentError,
    ConfigError,
    FileError,
    FormatError,
    GradientError,
    LabelError,
    RunFolderError,
    ShapeError,
)


def weights_of(run):
    """Return the parameters of a run's network as bytes."""
    return b"".join(np.asarray(each).tobytes() for each in run.model.to_record().values())


def test_training_lowers_the_loss(toy, small):
    run = sl.train.fit(small, toy(), epochs=15, lr=1e-2, batch_size=8)
    assert run.history[-1]["train_loss"] < 0.5 * run.history[0]["train_loss"]


def test_equal_seeds_give_equal_weights(toy, small):
    first, second = (sl.train.fit(small, toy(), epochs=2, seed=3) for _ in range(2))
    assert weights_of(first) == weights_of(second)


def test_the_number_of_threads_does_not_change_the_weights(toy, small):
    runs = (
        sl.train.fit(small, toy(), epochs=2, backend=sl.train.Computation(num_threads=n))
        for n in (1, 2, 3, 4)
    )
    assert len({weights_of(run) for run in runs}) == 1


def test_different_seeds_give_different_weights(toy, small):
    first, second = (sl.train.fit(small, toy(), epochs=1, seed=seed) for seed in (0, 1))
    assert weights_of(first) != weights_of(second)


def test_the_resulting_weights_have_the_lowest_validation_loss(toy, small):
    run = sl.train.fit(small, toy(), toy(30), epochs=6, lr=0.3, batch_size=8)
    losses = [row["valid_loss"] for row in run.history]
    assert run.best_epoch == 1 + losses.index(min(losses))
    assert run.valid is not None
    assert (
        run.valid.metrics["accuracy"] == run.history[run.best_epoch - 1]["valid_accuracy"]
    )


def test_without_a_validation_set_the_last_weights_are_the_result(toy, small):
    assert sl.train.fit(small, toy(), epochs=3).best_epoch == 3


def test_early_stopping_ends_the_run(toy, small):
    run = sl.train.fit(
        small,
        toy(),
        toy(30),
        epochs=sl.train.Epochs(40, early_stop=2),
        lr=0.5,
        batch_size=4,
    )
    assert len(run.history) == run.best_epoch + 2 < 40


def test_a_module_is_trained_in_place(toy, small):
    network = small.init("numpy", sl.Key(5))
    assert sl.train.fit(network, toy(), epochs=1).model is network


def test_balanced_class_weights_compensate_class_sizes(toy, small):
    run = sl.train.fit(
        small, toy(45), epochs=1, objective=sl.train.Objective(class_weight="balanced")
    )
    counts = np.array(list(toy(45).class_counts.values()))
    np.testing.assert_allclose(run.trained.task.to_dict()["weights"], 45 / (2 * counts))


@pytest.mark.parametrize("weights", [{"yes": 2.0}, [1.0, 2.0]], ids=["by name", "in order"])
def test_class_weights_are_given_by_name_or_in_order(toy, small, weights):
    run = sl.train.fit(
        small, toy(), epochs=1, objective=sl.train.Objective(class_weight=weights)
    )
    assert run.trained.task.to_dict()["weights"] == [1.0, 2.0]


def test_a_custom_loss_is_used(toy, small):
    def loss(logits, labels):
        return 0.0 * sl.nn.functional.cross_entropy(logits, labels) + 7.0

    assert (
        sl.train.fit(small, toy(), epochs=1, objective=loss).history[0]["train_loss"] == 7
    )


def test_a_run_folder_contains_the_expected_files(toy, small, tmp_path):
    sl.train.fit(small, toy(), toy(30), test=toy(20), epochs=1, out=tmp_path / "run")
    run = tmp_path / "run"
    found = {path.relative_to(run).as_posix() for path in run.rglob("*")}
    assert found >= {
        "config.json", "model.safetensors", "checkpoint/last.safetensors", "metrics.jsonl",
        "scores-valid.tsv", "scores-test.tsv", "labels-valid.tsv", "labels-test.tsv",
        "learning-curve.svg", "confusion.svg", "report.html",
    }  # fmt: skip


def test_the_metrics_file_has_a_line_for_each_epoch(toy, small, tmp_path):
    run = sl.train.fit(small, toy(), toy(30), epochs=3, out=tmp_path / "run")
    lines = (tmp_path / "run/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == run.history


def test_nothing_is_written_without_a_folder(toy, small, tmp_path):
    data = toy()
    before = set(tmp_path.rglob("*"))
    assert sl.train.fit(small, data, epochs=1).folder is None
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch_size": 0},
        {"lr": 0.0},
        {"lr": math.nan},
        {"lr": math.inf},
        {"weight_decay": -1.0},
        {"seed": -1},
        {"early_stop": 0},
        {"early_stop": 3},
        {"num_threads": -1},
        {"task": "sort"},
        {"class_weight": "equal"},
        {"class_weight": [1.0]},
        {"class_weight": {"maybe": 1.0}},
        {"class_weight": [1.0, math.nan]},
        {"resume": True, "overwrite": True},
    ],
    ids=str,
)
def test_an_invalid_argument_of_fit_is_an_error(toy, small, tmp_path, wrong):
    with pytest.raises(ArgumentError):
        sl.train.fit(small, toy(), **as_arguments(out=tmp_path / "run", **wrong))
    assert not (tmp_path / "run").exists()


def test_an_object_that_is_not_a_model_is_an_error(toy, small):
    its_class: Any = type(small)
    with pytest.raises(ArgumentError, match="a Config or a Module"):
        sl.train.fit(its_class, toy(), epochs=1)


class Silent(sl.nn.Module):
    """A module with parameters, but without a method to call."""

    head: sl.nn.Linear


def test_a_network_without_a_forward_method_is_an_error(toy):
    network = Silent(sl.nn.Linear(4, 2))
    with pytest.raises(
        ArgumentError, match=r"Silent has no method logits\(x\), forward\(x\)"
    ):
        sl.train.fit(network, toy(), epochs=1)


def test_a_network_with_the_wrong_number_of_outputs_is_an_error(toy):
    config = sl.models.SequenceCNNConfig(channels=4, outputs=3)
    with pytest.raises(
        ArgumentError, match="3 outputs, but the classify task needs 2: no, yes"
    ):
        sl.train.fit(config, toy())


def test_data_without_an_encoder_are_an_error(toy, small):
    with pytest.raises(ArgumentError, match="no encoder"):
        sl.train.fit(small, toy(encoder=None))


def test_data_without_labels_are_an_error(toy, small):
    with pytest.raises(LabelError, match="has no labels"):
        sl.train.fit(small, toy(labels=None))


def test_training_with_a_single_class_is_an_error(toy, small):
    only = sl.data.Subset(toy(), [1, 3, 5])
    with pytest.raises(LabelError, match="every one of the 3 training labels is 'yes'"):
        sl.train.fit(small, only)


class Relabelled:
    """Sequence records with other labels, as in a user-defined dataset."""

    def __init__(self, data, labels):
        self._data, self.labels = data, np.asarray(labels)

    def __getattr__(self, name):
        return getattr(self._data, name)

    def __len__(self):
        return len(self._data)

    def batch(self, indices):
        return self._data.batch(indices) | {"label": self.labels[indices]}


CONFIG_OF_GC_CONTENT_NETWORK = sl.models.SequenceCNNConfig(
    channels=4, outputs=1, widths=(8,), kernel_size=5
)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("part", ["training", "validation", "test"])
def test_an_error_names_the_record_with_an_infinite_label(toy, part, value):
    data = toy(8, labels="gc", task="regress")
    bad: Any = Relabelled(data, np.where(np.arange(8) == 5, value, data.labels))
    parts: dict[str, Any] = {"training": data, "validation": data, "test": data, part: bad}
    with pytest.raises(LabelError, match=r"the label of 'r5' is .*finite number \(1 such"):
        sl.train.fit(
            CONFIG_OF_GC_CONTENT_NETWORK,
            parts["training"],
            parts["validation"],
            test=parts["test"],
        )


@pytest.mark.parametrize("value", [-1, 2, 0.5, math.nan])
def test_an_error_names_the_record_with_an_unknown_class(toy, small, value):
    data = toy(8)
    bad: Any = Relabelled(data, np.where(np.arange(8) == 5, value, data.labels))
    with pytest.raises(
        LabelError, match=r"the label of 'r5' is .*index of a class, 0 to 1"
    ):
        sl.train.fit(small, bad)


@pytest.mark.parametrize("value", [0.1, 1 / 3, -7.0])
def test_equal_labels_are_an_error_in_spite_of_rounding(toy, value):
    data = toy(7, labels="gc", task="regress")
    same: Any = Relabelled(data, np.full(7, value, np.float32))
    with pytest.raises(
        LabelError, match=f"'label' are {value:g}, so there is nothing to learn"
    ):
        sl.train.fit(CONFIG_OF_GC_CONTENT_NETWORK, same)


@pytest.mark.parametrize("part", ["valid", "test"])
def test_an_empty_validation_or_test_set_is_an_error_with_advice(toy, small, part):
    parts: dict[str, Any] = {part: sl.data.Subset(toy(), [])}
    with pytest.raises(FormatError, match=r"set has no sequences; .*leave the set out"):
        sl.train.fit(small, toy(), **as_arguments(**parts))


def test_an_empty_training_set_is_an_error(toy, small):
    with pytest.raises(FormatError, match="the training set has no sequences"):
        sl.train.fit(small, sl.data.Subset(toy(), []))


def test_labels_of_another_task_are_an_error(toy, small):
    with pytest.raises(LabelError, match=r"give the dataset Labels\(..., task='regress'\)"):
        sl.train.fit(small, toy(), objective="regress")


def test_class_weights_for_a_regression_are_an_error(toy):
    config = sl.models.SequenceCNNConfig(channels=4, outputs=1)
    with pytest.raises(ArgumentError, match="the task is regress"):
        sl.train.fit(
            config,
            toy(labels="gc", task="regress"),
            objective=sl.train.Objective(class_weight="balanced"),
        )


def test_sets_with_different_classes_are_an_error(toy, small):
    with pytest.raises(LabelError, match="the validation set: the model's classes are"):
        sl.train.fit(small, toy(), toy(classes=("yes", "no")))


def test_sets_with_different_encoders_are_an_error(toy, small):
    with pytest.raises(ConfigError):
        sl.train.fit(small, toy(), toy(encoder=sl.encode.OneHot("iupac")))


def test_sequences_of_the_wrong_length_are_an_error_before_training(toy):
    config = sl.models.SequenceCNNConfig(channels=4, outputs=2, length=30)
    with pytest.raises(ShapeError, match="30 residues, but 'r0' has 20"):
        sl.train.fit(config, toy())


def test_a_loss_of_nan_ends_the_run_at_its_batch(toy, small, tmp_path):
    def loss(logits, labels):
        return sl.nn.functional.cross_entropy(logits, labels) * math.nan

    with pytest.raises(GradientError, match="batch 1: the loss is nan; nothing was saved"):
        sl.train.fit(small, toy(), objective=loss, out=tmp_path / "run")
    assert not (tmp_path / "run/model.safetensors").exists()


class LaterNan:
    """A loss function that returns NaN from a given step on."""

    def __init__(self, step):
        self.left = step

    def __call__(self, logits, labels):
        self.left -= 1
        factor = math.nan if self.left < 0 else 1.0
        return sl.nn.functional.cross_entropy(logits, labels) * factor


def test_a_loss_that_becomes_nan_keeps_the_last_checkpoint(toy, small, tmp_path):
    options: dict[str, Any] = {"out": tmp_path / "run", "epochs": 3, "batch_size": 8}
    with pytest.raises(GradientError, match="the loss is nan"):
        sl.train.fit(
            small, toy(), **as_arguments(loss=LaterNan(9), report=False, **options)
        )
    record = sl.record.load(tmp_path / "run/checkpoint/last.safetensors")
    assert all(np.isfinite(np.asarray(each)).all() for each in record.values())
    assert record.metadata["step_count"] == 6


def test_an_existing_run_is_not_overwritten_by_default(toy, small, tmp_path):
    sl.train.fit(small, toy(), epochs=1, out=tmp_path / "run")
    with pytest.raises(RunFolderError, match="already contains a run"):
        sl.train.fit(small, toy(), epochs=1, out=tmp_path / "run")


def test_overwriting_a_run_keeps_other_files(toy, small, tmp_path):
    sl.train.fit(small, toy(), toy(30), epochs=1, out=tmp_path / "run")
    (tmp_path / "run/notes.txt").write_text("mine")
    sl.train.fit(
        small, toy(), epochs=2, out=sl.train.RunFolder(tmp_path / "run", overwrite=True)
    )
    assert (tmp_path / "run/notes.txt").read_text() == "mine"
    assert not (tmp_path / "run/scores-valid.tsv").exists()


def test_a_folder_with_other_files_is_not_used_as_a_run_folder(toy, small, tmp_path):
    (tmp_path / "thesis.doc").write_text("all my work")
    with pytest.raises(RunFolderError, match="choose an empty folder"):
        sl.train.fit(small, toy(), out=sl.train.RunFolder(tmp_path, overwrite=True))


def test_a_folder_that_cannot_be_created_is_an_error_before_training(toy, small, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot create the run folder"):
        sl.train.fit(small, toy(), out=tmp_path / "file/run")


def test_class_weights_of_zero_for_all_records_are_an_error(toy, small):
    with pytest.raises(ArgumentError, match="weight of every training record to 0"):
        sl.train.fit(small, toy(), objective=sl.train.Objective(class_weight=[0, 0]))


@pytest.mark.parametrize("name", ["epochs", "batch_size", "early_stop", "seed"])
def test_epochs_batch_size_early_stop_and_seed_must_be_integers(toy, small, name):
    numbers: dict[str, Any] = {name: 1.5}
    with pytest.raises(ArgumentError, match=rf"{name} .*must be an integer"):
        sl.train.fit(small, toy(), **as_arguments(**numbers))


def test_records_of_different_lengths_are_padded_with_channels_last(toy):
    class Net(sl.nn.Module):
        head: sl.nn.Linear

        def logits(self, x, mask=None):
            assert mask is None or mask.shape == x.shape[:2]
            return self.head(x.mean(axis=1))

    last = sl.encode.OneHot("dna", channels="last")
    data = toy(lengths=(20, 30), encoder=last)
    run = sl.train.fit(Net(sl.nn.Linear(4, 2)), data, epochs=1)
    assert run.history[0]["train_loss"] > 0
