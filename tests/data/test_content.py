"""Residue counts and hashes of datasets, and recognition of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom._ragged import Ragged
from seqloom.data._describe import composition, describe_residue_counts
from seqloom.data._paths import digest_records
from seqloom.data._sources import is_sequence_table
from seqloom.data.interval._spans import Spans
from seqloom.data.label._labels import DEFAULTS
from seqloom.data.label._source import LabelSource, drop_missing
from seqloom.encode import OneHot

if TYPE_CHECKING:
    from pathlib import Path


def test_the_composition_counts_ambiguous_and_lower_case_residues() -> None:
    counts = composition([Ragged.from_list(["ACnNR", "gt"])], OneHot("dna"))
    assert counts == {"letters": 7, "N": 2, "ambiguous": 1, "soft_masked": 3}


def test_the_composition_summary_shows_counts_and_percentages() -> None:
    counts = {"letters": 1000, "N": 20, "ambiguous": 0, "soft_masked": 5}
    line = "of 1,000 residues: N 20 (2.00 %), soft-masked 5 (0.50 %)"
    assert describe_residue_counts(counts) == line


def test_the_composition_summary_is_empty_for_plain_residues() -> None:
    counts = {"letters": 8, "N": 0, "ambiguous": 0, "soft_masked": 0}
    assert describe_residue_counts(counts) == ""


def test_the_hash_of_sequences_does_not_depend_on_batch_sizes() -> None:
    rows = [Ragged.from_list(["AC"]), Ragged.from_list(["G"])]
    both = Ragged.from_list(["AC", "G"])
    parts = [(row, row, None) for row in rows]
    assert digest_records([(both, both, None)]) == digest_records(parts)


def test_a_table_of_sequences_is_recognised_by_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sequence,label\nACGT,1\n")
    assert is_sequence_table(path, "sequence")


def test_an_interval_is_clipped_to_the_ends_of_its_chromosome() -> None:
    one = np.array([0])
    clipped = Spans(one, one - 2, one + 3).clip(np.array([2]))
    assert (clipped.starts.tolist(), clipped.stops.tolist()) == ([0], [2])


def test_drop_missing_separates_missing_labels_from_valid_labels() -> None:
    source = LabelSource("a dict", ("label",), {"x": ("NA",), "y": ("yes",)})
    left = drop_missing(source, DEFAULTS)
    assert list(left.cells) == ["y"]
    assert left.missing == {"x": ("NA",)}
