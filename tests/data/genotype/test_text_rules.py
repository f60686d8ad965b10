"""Parsing of phenotypes, memory sizes and selections of variants."""

from __future__ import annotations

import numpy as np

from seqloom.data.genotype._files import parse_memory
from seqloom.data.genotype._people import People
from seqloom.data.genotype._phenotype import MissingCodes, decode_states
from seqloom.data.genotype._statistics import Variants, mean_and_scale
from seqloom.data.genotype._variants import choose_rows, match_variants


def test_missing_value_codes_match_in_any_case_and_number_format() -> None:
    missing = MissingCodes.of(("NA", "-9"))
    assert missing.has("na")
    assert missing.has("-9.000")
    assert not missing.has("9")


def test_phenotype_codes_1_and_2_mean_control_and_case() -> None:
    assert decode_states(["1", "2"], "auto", what="Y") == {"1": "control", "2": "case"}


def test_a_phenotype_column_with_a_fraction_is_a_regression_label() -> None:
    assert decode_states(["0.5", "2"], "auto", what="Y") is None


def test_a_variant_without_variance_is_treated_as_constant() -> None:
    counts = np.array([[1, 2, 1], [0, 0, 4]])  # two variants with 4 genotypes each
    mean, _, is_constant = mean_and_scale(counts, 4, "unit", count_a1=False)
    assert mean.round(3).tolist() == [1.333, 2.0]
    assert is_constant.tolist() == [False, True]


def test_variants_are_selected_by_name_or_negative_index() -> None:
    ids = np.array(["a", "b", "c"])
    by_name, by_position = choose_rows(ids, ["c", "a"]), choose_rows(ids, [-1])
    assert by_name is not None
    assert by_position is not None
    assert (by_name.tolist(), by_position.tolist()) == ([2, 0], [2])


def test_variant_matching_marks_flipped_alleles() -> None:
    wanted = Variants(*np.array([["x", "y"], ["A", "C"], ["G", "T"]]))
    found = Variants(*np.array([["y", "x"], ["T", "A"], ["C", "G"]]))
    matched = match_variants(wanted, found, name="new.bed")
    assert matched.positions.tolist() == [1, 0]
    assert matched.is_flipped.tolist() == [False, True]


def test_memory_sizes_are_parsed_in_decimal_and_binary_units() -> None:
    assert (parse_memory("1.5 GB"), parse_memory("2KiB"), parse_memory(7)) == (
        1500000000,
        2048,
        7,
    )


def test_individuals_with_equal_iids_are_named_by_fid_and_iid() -> None:
    people = People("a.fam", np.array(["f", "g"]), np.array(["1", "1"]))
    assert people.names == ["f:1", "g:1"]
    assert people.find([("g", "1")]) == [1]
