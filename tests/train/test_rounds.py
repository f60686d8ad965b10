"""Tests of rounds of epochs, which are added while the validation loss falls."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.train._updates import count_max_epochs, ends_of_rounds


def make_history(count, last=0.5):
    """The history of a run with a linearly falling validation loss."""
    return [{"valid_loss": float(loss)} for loss in np.linspace(1.0, last, count)]


def test_a_given_number_of_epochs_is_trained_in_one_round():
    assert ends_of_rounds(7, make_history(7)) == [7]


def test_a_training_round_that_lowers_the_loss_is_followed_by_as_many_epochs():
    assert ends_of_rounds(None, make_history(20)) == [20, 40]
    assert ends_of_rounds(None, make_history(40)) == [20, 40, 80]


def test_training_has_at_most_four_rounds_of_epochs():
    assert ends_of_rounds(None, make_history(160)) == [20, 40, 80, 160]


def test_a_training_round_whose_best_epoch_was_early_is_the_last():
    rows = make_history(15) + [{"valid_loss": 0.6}] * 5
    assert ends_of_rounds(None, rows) == [20]


def test_a_training_round_that_lowers_the_loss_by_under_1_percent_is_the_last():
    rows = make_history(20) + [{"valid_loss": 0.5}] * 19 + [{"valid_loss": 0.499}]
    assert ends_of_rounds(None, rows) == [20, 40]


def test_a_later_training_round_whose_best_epoch_was_early_is_the_last():
    rows = make_history(25, last=0.3) + [{"valid_loss": 0.4}] * 15
    assert ends_of_rounds(None, rows) == [20, 40]


def test_training_without_a_validation_set_has_one_round():
    assert ends_of_rounds(None, [{"train_loss": 1.0}] * 20) == [20]


@pytest.mark.parametrize("has_valid", [False, True])
def test_the_maximum_number_of_epochs_is_that_of_a_run_that_always_improves(has_valid):
    rows, ends = make_history(500), []
    for count in range(500):
        history = rows[:count] if has_valid else [{"train_loss": 1.0}] * count
        ends.append(ends_of_rounds(None, history)[-1])
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
    spelled = f"{len(losses)}, in rounds; the weights are those of epoch {best}"
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
