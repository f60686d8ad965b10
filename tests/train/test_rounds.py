"""Tests of rounds of epochs, which are added while the validation loss falls."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import ArgumentError
from seqloom.train import Epochs
from seqloom.train._updates import count_max_epochs, ends_of_rounds


def make_history(count, last=0.5):
    """The history of a run with a linearly falling validation loss."""
    return [{"valid_loss": float(loss)} for loss in np.linspace(1.0, last, count)]


def test_a_given_number_of_epochs_is_trained_in_one_round():
    assert ends_of_rounds(Epochs(7), make_history(7)) == [7]


def test_a_training_round_that_lowers_the_loss_is_followed_by_as_many_epochs():
    assert ends_of_rounds(Epochs(), make_history(20)) == [20, 40]
    assert ends_of_rounds(Epochs(), make_history(40)) == [20, 40, 80]


def test_training_has_at_most_four_rounds_of_epochs():
    assert ends_of_rounds(Epochs(), make_history(160)) == [20, 40, 80, 160]


def test_a_training_round_whose_best_epoch_was_early_is_the_last():
    rows = make_history(15) + [{"valid_loss": 0.6}] * 5
    assert ends_of_rounds(Epochs(), rows) == [20]


def test_a_training_round_that_hardly_lowers_the_loss_is_the_last():
    rows = make_history(20) + [{"valid_loss": 0.5}] * 19 + [{"valid_loss": 0.49}]
    assert ends_of_rounds(Epochs(), rows) == [20, 40]


def test_a_later_training_round_whose_best_epoch_was_early_is_the_last():
    rows = make_history(25, last=0.3) + [{"valid_loss": 0.4}] * 15
    assert ends_of_rounds(Epochs(), rows) == [20, 40]


def test_training_without_a_validation_set_has_one_round():
    assert ends_of_rounds(Epochs(), [{"train_loss": 1.0}] * 20) == [20]


def timed_history(count):
    """A history of epochs of one second, after a first epoch of three seconds."""
    seconds = [3.0] + [1.0] * (count - 1)
    return [
        row | {"seconds": it} for row, it in zip(make_history(count), seconds, strict=True)
    ]


@pytest.mark.parametrize(("budget", "end"), [("8s", 6), (8, 6), ("1min", 20), (0.1, 1)])
def test_a_budget_limits_the_number_of_epochs(budget, end):
    assert ends_of_rounds(Epochs(budget=budget), timed_history(5)) == [end]


def test_a_budget_limits_a_given_number_of_epochs():
    assert ends_of_rounds(Epochs(12, budget="8s"), timed_history(5)) == [6]


def test_a_further_round_follows_only_if_it_fits_into_the_budget():
    assert ends_of_rounds(Epochs(budget="1m"), timed_history(20)) == [20, 40]
    assert ends_of_rounds(Epochs(budget="41s"), timed_history(20)) == [20]


@pytest.mark.parametrize("wrong", [0, -1, "2q", "0s", "m", float("nan")])
def test_a_budget_that_is_not_a_time_is_an_error(wrong):
    with pytest.raises(ArgumentError, match="budget"):
        Epochs(budget=wrong)


def test_a_run_with_a_budget_names_the_budget_in_its_report(slow):
    settings: Any = as_arguments(**slow, report=False)
    settings["epochs"] = Epochs(budget=1e-9)
    run = sl.train.fit(**settings)
    assert len(run.history) == 1
    assert str(run.report.facts["epochs"]).endswith("; the budget is 1e-09 s")


@pytest.mark.parametrize("has_valid", [False, True])
def test_the_maximum_number_of_epochs_is_that_of_a_run_that_always_improves(has_valid):
    rows, ends = make_history(500), []
    for count in range(500):
        history = rows[:count] if has_valid else [{"train_loss": 1.0}] * count
        ends.append(ends_of_rounds(Epochs(), history)[-1])
    assert count_max_epochs(None, has_valid=has_valid) == max(ends)
    assert count_max_epochs(7, has_valid=has_valid) == 7


class Listener(sl.train.Progress):
    """A callback that records calls of `on_more`."""

    def __init__(self):
        self.heard = []

    def on_more(self, epochs):
        self.heard.append(epochs)


@pytest.fixture(scope="module")
def slow() -> dict[str, Any]:
    """A network that still improves after twenty epochs, because it learns slowly."""
    rows = np.random.default_rng(48).choice([*"ACGT"], (48, 20))
    texts = {f"r{number}": "".join(row) for number, row in enumerate(rows)}
    labels = {
        name: (text.count("G") + text.count("C")) / 20 for name, text in texts.items()
    }
    encoder = sl.encode.OneHot("dna")
    data = sl.data.SequenceDataset(
        texts, labels=sl.data.Labels(labels, task="regress"), encoder=encoder
    )
    config = sl.models.SequenceCNNConfig(channels=4, outputs=1, widths=(8,), kernel_size=5)
    return {"model": config, "train": data, "valid": data, "batch_size": 16}


@pytest.fixture(scope="module")
def whole(slow):
    """An uninterrupted run, and the planned numbers of epochs that the run reported."""
    listener = Listener()
    return sl.train.fit(
        **as_arguments(**slow, progress=listener, report=False)
    ), listener.heard


def test_a_run_that_still_improves_continues_and_reports_the_extension(whole):
    run, heard = whole
    assert heard[0] == 40
    assert len(run.history) == heard[-1]
    rates = [row["lr"] for row in run.history]
    assert rates[20] > 10 * rates[19]  # the learning rate rises again


class EndingCallback(Listener):
    """A callback that ends a run after its first round."""

    def on_epoch(self, row):
        return row["epoch"] == 20


def test_a_run_that_ends_after_one_round_reports_no_further_round(slow):
    listener = EndingCallback()
    run = sl.train.fit(**as_arguments(**slow, progress=listener, report=False))
    assert (len(run.history), listener.heard) == (20, [])


def test_the_report_names_the_best_epoch(whole):
    run, _ = whole
    losses = [row["valid_loss"] for row in run.history]
    best = losses.index(min(losses)) + 1
    spelled = f"{len(losses)}, in rounds; the best was epoch {best}"
    assert run.report.facts["epochs"] == spelled


class StoppingCallback(sl.train.Progress):
    """A callback that simulates Ctrl-C in a later round."""

    def on_epoch(self, row):
        if row["epoch"] == 23:
            raise KeyboardInterrupt


def test_a_run_that_was_stopped_in_a_later_round_ends_with_the_same_bits(
    slow, whole, tmp_path
):
    with pytest.raises(KeyboardInterrupt):
        sl.train.fit(
            **as_arguments(
                **slow, out=tmp_path / "run", report=False, progress=StoppingCallback()
            )
        )
    run = sl.train.fit(
        **as_arguments(**slow, out=tmp_path / "run", report=False, resume=True)
    )
    found, expected = (it.model.to_record() for it in (run, whole[0]))
    assert len(run.history) == len(whole[0].history) > 23
    for path, array in expected.items():
        assert np.asarray(found[path]).tobytes() == np.asarray(array).tobytes()
