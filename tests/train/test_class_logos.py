"""Tests of sequence logos of residue frequencies that differ between classes."""

import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import seqloom as sl
from seqloom.report import Logo, Report, Section, make_page
from seqloom.train._residue_sections import class_logos


def data(sequences, labels, alphabet="dna", classes=None):
    names = [f"r{number}" for number in range(len(sequences))]
    return sl.data.SequenceDataset(
        list(zip(names, sequences, strict=True)),
        labels=sl.data.Labels(dict(zip(names, labels, strict=True)), classes=classes),
        encoder=sl.encode.OneHot(alphabet),
    )


def logos_of(made, classes) -> Any:
    return class_logos(made, classes)


def frequency(sequences, position, letter):
    return np.mean([sequence[position] == letter for sequence in sequences])


@pytest.fixture(scope="module")
def random():
    """200 sequences of eight bases in two classes; the first class prefers G at index 3."""
    rng = np.random.default_rng(2)
    sequences = ["".join(rng.choice([*"ACGT"], 8)) for _ in range(200)]
    labels = ["yes" if it[3] == "G" and i % 5 else "no" for i, it in enumerate(sequences)]
    return sequences, labels


def test_logo_heights_are_differences_of_frequencies(random):
    sequences, labels = random
    (logo,) = logos_of(data(*random), ("no", "yes")).drawings
    yes = [it for it, label in zip(sequences, labels, strict=True) if label == "yes"]
    no = [it for it, label in zip(sequences, labels, strict=True) if label == "no"]
    assert logo.title == "yes minus no"
    least = norm.ppf(1 - 0.05 / 2 / logo.heights.size)
    for position, row in enumerate(logo.heights):
        for letter, height in zip("ACGT", row, strict=True):
            p, q = frequency(yes, position, letter), frequency(no, position, letter)
            error = np.sqrt(p * (1 - p) / len(yes) + q * (1 - q) / len(no))
            expected = p - q if abs(p - q) > least * error else 0.0
            assert height == pytest.approx(expected)
    assert logo.heights[3][2] == 1 - frequency(no, 3, "G")


def test_each_of_three_classes_is_compared_with_all_others():
    sequences = ["AAAA"] * 20 + ["CCCC"] * 20 + ["GGGG"] * 40
    labels = ["a"] * 20 + ["c"] * 20 + ["g"] * 40
    logos = logos_of(data(sequences, labels), ("a", "c", "g")).drawings
    titles = ["a minus all others", "c minus all others", "g minus all others"]
    assert [logo.title for logo in logos] == titles
    # Among the other 60 sequences, 20 have C and 40 have G.
    np.testing.assert_allclose(logos[0].heights[0], [1, -1 / 3, -2 / 3, 0])


def test_sequences_of_different_lengths_are_aligned_at_the_middle():
    sequences = ["TTATT", "TATT", "TTTATTT"] * 10 + ["TTCTT", "TCTT", "TTTCTTT"] * 10
    made = data(sequences, ["a"] * 30 + ["c"] * 30)
    (logo,) = logos_of(made, ("a", "c")).drawings
    assert logo.axis == "position relative to the middle"
    middle = np.flatnonzero(np.any(logo.heights, axis=1)) + logo.first
    assert middle.tolist() == [-1, 0]  # the middle of 4 bases is after the second base
    assert logo.heights[-logo.first][1] > 0


def test_a_logo_of_long_sequences_shows_the_middle_100_positions():
    sequences = ["A" * 500 + "G" + "A" * 499] * 10 + ["A" * 1000] * 10
    (logo,) = logos_of(data(sequences, ["g"] * 10 + ["a"] * 10), ("a", "g")).drawings
    assert (logo.first, len(logo.heights)) == (450, 100)
    assert logo.heights[50][2] == 1


def test_ambiguity_codes_are_not_counted_in_a_logo():
    sequences = ["N" * 4] * 20 + ["AAAA"] * 20
    (logo,) = logos_of(data(sequences, ["n"] * 20 + ["a"] * 20), ("a", "n")).drawings
    np.testing.assert_array_equal(logo.heights, [[-1, 0, 0, 0]] * 4)


def test_records_without_sequences_have_no_logo(toy):
    made = toy()
    made.encoder = None
    assert logos_of(made, ("no", "yes")) is None


def test_the_height_of_a_logo_symbol_is_the_frequency_difference():
    logo = Logo("t", "AC", [[0.5, -0.25]])
    page = make_page(Report(title="t", sections=(Section(title="s", drawings=(logo,)),)))
    found = re.findall(r"translate\(56 ([\d.]+)\) scale\(1 ([\d.]+)\)", page.decode())
    (up, high), (down, low) = sorted((float(y), float(scale)) for y, scale in found)
    assert high / low == pytest.approx(2, abs=0.01)
    assert down - up == pytest.approx(low * 8.75, abs=0.1)


def test_the_logo_section_reports_if_no_position_differs_between_classes():
    rng = np.random.default_rng(5)
    sequences = ["".join(rng.choice([*"ACGT"], 60)) for _ in range(300)]
    section = logos_of(data(sequences, ["a", "b"] * 150), ("a", "b"))
    assert not section.drawings
    assert section.note.startswith("At no position do the residue frequencies")
