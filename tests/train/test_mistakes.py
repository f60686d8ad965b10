"""Tests of the report section with wrongly predicted sequences, coloured by occlusion."""

import re
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from networks import Logistic
from seqloom.models import Classify, Trained
from seqloom.report import Report, make_page
from seqloom.train import Part
from seqloom.train._residue_sections import mistakes_section, weigh_residues

HOSTILE_IDS = ["<script>alert(1)</script>", "\x1b[31mred", "\u202eab", "x" * 300]


@pytest.fixture
def linear():
    """A linear model that predicts three classes from six bases."""
    network = Logistic(24, 3).bind(sl.tensor.backend("numpy"), sl.Key(5)).eval()
    return Trained(network, sl.encode.OneHot("dna"), Classify(("a", "b", "c")), 256)


def score_data(trained, sequences, labels, ids=None):
    """A dataset, and the scores of a model for its records."""
    names = ids or [f"r{number}" for number in range(len(sequences))]
    data = sl.data.SequenceDataset(
        list(zip(names, sequences, strict=True)), encoder=trained.encoder, labels=False
    )
    return data, Part(sl.infer.predict(trained, data), np.asarray(labels), {})


def mislabelled_data(trained, sequences, ids=None):
    """Return the data; the label of each record is its least likely class."""
    data, part = score_data(trained, sequences, [0] * len(sequences), ids)
    return data, Part(part.scores, part.scores.to_numpy().argmin(axis=1), {})


def section_of(trained, data, part, **options) -> Any:
    return mistakes_section(trained, data, part, **options)


def page_of(section):
    return make_page(Report(title="t", sections=(section,))).decode()


def test_occlusion_of_a_linear_model_equals_differences_of_its_weights(linear):
    weights = np.asarray(linear.model.to_record()["head.weight"]).reshape(3, 4, 6)
    (found,) = weigh_residues(linear, [b"GATTAC"], np.array([[2, 0]]))
    codes = ["ACGT".index(letter) for letter in "GATTAC"]
    expected = (weights[2] - weights[0])[codes, np.arange(6)]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*the model was trained on 20:UserWarning")
def test_windows_of_a_long_sequence_are_occluded(toy, small):
    run = sl.train.fit(small, toy(), epochs=1)
    sequence = b"ACGTTGCA" * 20
    (found,) = weigh_residues(run.trained, [sequence], np.array([[1, 0]]))
    for start, stop in ((0, 3), (90, 93), (159, 160)):  # three of 54 windows
        hidden = sequence[:start] + b"N" * (stop - start) + sequence[stop:]
        scores = np.log(sl.infer.predict(run, [sequence, hidden]).to_numpy())
        change = (scores[0, 1] - scores[0, 0]) - (scores[1, 1] - scores[1, 0])
        np.testing.assert_allclose(found[start:stop], change, atol=1e-5)


def test_the_most_confident_eight_mistakes_are_drawn_and_ten_listed(linear):
    rng = np.random.default_rng(1)
    sequences = ["".join(rng.choice([*"ACGT"], 6)) for _ in range(30)]
    data, part = mislabelled_data(linear, sequences)
    section = section_of(linear, data, part, name="test", most=10_000)
    titles = [it.title.split(":")[0] for it in section.drawings[0].sequences]
    sure = part.scores.to_numpy().max(axis=1)
    order = np.argsort(-sure, kind="stable")
    assert titles == [f"r{number}" for number in order[:8]]
    assert len(section.details.rows) == 10
    assert "of 30 wrong predictions on the test set" in section.note


def test_a_short_run_explains_only_one_mistake(linear):
    data, part = mislabelled_data(linear, ["ACGTAC", "GGGTTT", "ACACAC"])
    section = section_of(linear, data, part, name="test", most=5)
    assert len(section.drawings[0].sequences) == 1
    assert "In the first, each residue" in section.note


def test_a_long_sequence_shows_the_range_with_the_largest_weights():
    network = Logistic(4 * 600, 2).bind(sl.tensor.backend("numpy"), sl.Key(0)).eval()
    trained = Trained(network, sl.encode.OneHot("dna"), Classify(("a", "b")), 64)
    data, part = mislabelled_data(trained, ["ACGTTGCATC" * 60])
    section = section_of(trained, data, part, name="test", most=100)
    (sequence,) = section.drawings[0].sequences
    (whole,) = weigh_residues(trained, [b"ACGTTGCATC" * 60], np.array([[1, 0]]))
    sums = [np.abs(whole[start : start + 200]).sum() for start in range(401)]
    assert sequence.first == int(np.argmax(sums))
    stop = sequence.first + 199
    assert sequence.note == f"residues {sequence.first} to {stop} of 600"


def test_positions_are_printed_above_each_ten_residues(linear):
    data, part = mislabelled_data(linear, ["ACGTAC"])
    page = page_of(section_of(linear, data, part, name="test", most=100))
    assert "<b>0</b>" in page
    letters = re.sub(r"<[^>]+>", "", re.search(r"<b>0</b>(.*?)</span>", page)[1])
    assert letters == "ACGTAC"


def test_a_report_without_mistakes_has_no_section_about_mistakes(linear):
    data, part = score_data(linear, ["ACGTAC"], [0])
    right = Part(part.scores, part.scores.to_numpy().argmax(axis=1), {})
    assert section_of(linear, data, right, name="test", most=100) is None


def test_the_note_mentions_an_encoder_that_rejects_n():
    network = Logistic(24, 2).bind(sl.tensor.backend("numpy"), sl.Key(0)).eval()
    encoder = sl.encode.OneHot("dna", unknown="error")
    trained = Trained(network, encoder, Classify(("a", "b")), 64)
    data, part = mislabelled_data(trained, ["ACGTAC"])
    section = section_of(trained, data, part, name="test", most=100)
    assert "not shown, because the encoder rejects N" in section.note
    assert section.table.rows
    assert not section.drawings


@pytest.mark.parametrize("name", HOSTILE_IDS)
def test_markup_in_an_id_is_escaped(linear, name):
    data, part = mislabelled_data(linear, ["ACGTAC"], [name])
    page = page_of(section_of(linear, data, part, name="test", most=100))
    assert "<script" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_the_report_of_a_run_shows_its_worst_mistakes(toy, small):
    run = sl.train.fit(small, toy(), toy(30), test=toy(20), epochs=1)
    (section,) = (it for it in run.report.sections if it.title == "Worst mistakes")
    assert "on the test set" in section.note
    assert section.drawings
