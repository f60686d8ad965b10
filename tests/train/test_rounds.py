"""Epochs that nobody asked for: rounds of them, as long as they help."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.train._updates import ends_of_rounds, most_epochs


def falling(count, last=0.5):
    """The rows of a run whose validation loss falls in a line."""
    return [{"valid_loss": float(loss)} for loss in np.linspace(1.0, last, count)]


def test_epochs_that_are_asked_for_are_made():
    assert ends_of_rounds(7, falling(7)) == [7]


def test_a_round_that_helped_is_followed_by_one_of_twice_its_length():
    assert ends_of_rounds(None, falling(20)) == [20, 60]
    assert ends_of_rounds(None, falling(60)) == [20, 60, 140]


def test_there_are_three_rounds_at_most():
    assert ends_of_rounds(None, falling(140)) == [20, 60, 140]


def test_a_round_whose_best_epoch_was_early_is_the_last():
    rows = falling(15) + [{"valid_loss": 0.6}] * 5
    assert ends_of_rounds(None, rows) == [20]


def test_a_round_that_helped_by_less_than_a_hundredth_is_the_last():
    rows = falling(20) + [{"valid_loss": 0.499}] * 40
    assert ends_of_rounds(None, rows) == [20, 60]


def test_without_a_validation_part_there_is_one_round():
    assert ends_of_rounds(None, [{"train_loss": 1.0}] * 20) == [20]


@pytest.mark.parametrize("has_valid", [False, True])
def test_the_most_epochs_are_those_of_a_run_that_always_improves(has_valid):
    rows, ends = falling(500), []
    for count in range(500):
        history = rows[:count] if has_valid else [{"train_loss": 1.0}] * count
        ends.append(ends_of_rounds(None, history)[-1])
    assert most_epochs(None, has_valid=has_valid) == max(ends)
    assert most_epochs(7, has_valid=has_valid) == 7


class Listener(sl.train.Progress):
    """Hears of more epochs."""

    def __init__(self):
        self.heard = []

    def on_more(self, epochs):
        self.heard.append(epochs)


@pytest.fixture(scope="module")
def slow() -> dict[str, Any]:
    """What still improves after twenty epochs, because it learns slowly."""
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
    """A run that nobody stops, and the numbers of epochs of which it told."""
    listener = Listener()
    return sl.train.fit(
        **as_arguments(**slow, progress=listener, report=False)
    ), listener.heard


def test_a_run_that_still_improves_goes_on_and_says_so(whole):
    run, heard = whole
    assert heard[0] == 60
    assert len(run.history) == heard[-1]
    rates = [row["lr"] for row in run.history]
    assert rates[20] > 10 * rates[19]  # a new rise begins


class Ending(Listener):
    """Ends a run with its first round."""

    def on_epoch(self, row):
        return row["epoch"] == 20


def test_a_run_that_ends_with_a_round_reports_no_further_one(slow):
    listener = Ending()
    run = sl.train.fit(**as_arguments(**slow, progress=listener, report=False))
    assert (len(run.history), listener.heard) == (20, [])


def test_the_report_names_the_epoch_whose_weights_are_kept(whole):
    run, _ = whole
    losses = [row["valid_loss"] for row in run.history]
    best = losses.index(min(losses)) + 1
    spelled = f"{len(losses)}, in rounds; the weights of epoch {best} are kept"
    assert run.report.facts["epochs"] == spelled


class Quitter(sl.train.Progress):
    """Stops a run in a later round."""

    def on_epoch(self, row):
        if row["epoch"] == 23:
            raise KeyboardInterrupt


def test_a_run_that_was_stopped_in_a_later_round_ends_with_the_same_bits(
    slow, whole, tmp_path
):
    with pytest.raises(KeyboardInterrupt):
        sl.train.fit(
            **as_arguments(**slow, out=tmp_path / "run", report=False, progress=Quitter())
        )
    run = sl.train.fit(
        **as_arguments(**slow, out=tmp_path / "run", report=False, resume=True)
    )
    found, expected = (it.model.to_record() for it in (run, whole[0]))
    assert len(run.history) == len(whole[0].history) > 23
    for path, array in expected.items():
        assert np.asarray(found[path]).tobytes() == np.asarray(array).tobytes()
