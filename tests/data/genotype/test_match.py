"""The variants of a model are found in another file by id and alleles."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from seqloom.data.genotype._statistics import Variants
from seqloom.data.genotype._variants import match_variants
from seqloom.errors import FormatError


def variants(*rows):
    """Create variants from rows of id, counted allele and other allele."""
    return Variants(*np.array(rows).T)


VARIANTS_OF_MODEL = variants(("x", "A", "G"), ("y", "C", "T"), ("z", "T", "TA"))


@given(st.permutations(range(8)), st.lists(st.booleans(), min_size=8, max_size=8))
def test_variants_are_matched_in_any_order_with_any_allele_flip(order, exchanged):
    rows = [(f"v{i}", "A" * (i + 1), "C") for i in range(8)]
    there = [(a, c, b) if exchanged[i] else (a, b, c) for i, (a, b, c) in enumerate(rows)]
    found = match_variants(
        variants(*rows), variants(*(there[i] for i in order)), name="x.bed"
    )
    assert [order[at] for at in found.positions] == list(range(8))
    assert found.is_flipped.tolist() == exchanged


def test_duplicate_variant_ids_are_distinguished_by_alleles():
    others = [("x", "A", "C"), ("y", "C", "T"), ("z", "TA", "T"), ("x", "G", "A")]
    found = match_variants(VARIANTS_OF_MODEL, variants(*others), name="x.bed")
    assert found.positions.tolist() == [3, 1, 2]
    assert found.is_flipped.tolist() == [True, False, True]


def test_duplicate_variants_with_equal_alleles_are_an_error():
    twice = [("x", "A", "G"), ("x", "G", "A"), ("y", "C", "T"), ("z", "T", "TA")]
    with pytest.raises(FormatError, match="2 variants x have the same alleles"):
        match_variants(VARIANTS_OF_MODEL, variants(*twice), name="x.bed")


def test_identical_variant_lists_match_despite_duplicate_ids():
    twice = variants(("x", "A", "G"), ("x", "A", "G"))
    assert match_variants(twice, twice, name="x.bed").positions.tolist() == [0, 1]


def test_the_error_for_missing_variants_counts_and_names_them():
    with pytest.raises(FormatError, match=r"3 variants, .* 2 of them .* \(x, z\)"):
        match_variants(VARIANTS_OF_MODEL, variants(("y", "C", "T")), name="x.bed")


def test_the_error_for_different_alleles_names_them():
    others = [("x", "A", "G"), ("y", "C", "G"), ("z", "T", "TA")]
    with pytest.raises(FormatError, match="alleles of y are C and G, expected C and T"):
        match_variants(VARIANTS_OF_MODEL, variants(*others), name="x.bed")


@pytest.mark.parametrize("mark", ["0", "."])
@pytest.mark.parametrize(
    ("alleles", "is_flipped"),
    [("?A", True), ("?G", False), ("A?", False), ("G?", True)],
)
def test_a_variant_with_one_missing_allele_matches_by_the_known_allele(
    alleles, is_flipped, mark
):
    first, second = alleles.replace("?", mark)
    found = match_variants(
        variants(("w", "C", "T"), ("x", "A", "G")),
        variants(("x", first, second), ("w", "C", "T")),
        name="x.bed",
    )
    assert found.positions.tolist() == [1, 0]
    assert found.is_flipped.tolist() == [False, is_flipped]
    assert found.missing_alleles == 1


def test_a_missing_allele_in_the_model_matches_any_allele():
    found = match_variants(
        variants(("x", "0", "G")), variants(("x", "G", "A")), name="x.bed"
    )
    assert (found.is_flipped.tolist(), found.missing_alleles) == ([True], 1)


@pytest.mark.parametrize("alleles", [("0", "C"), ("0", "0"), ("C", "0")])
def test_variants_with_a_missing_and_a_different_allele_do_not_match(alleles):
    others = [("x", *alleles), ("y", "C", "T"), ("z", "T", "TA")]
    with pytest.raises(FormatError, match=r"the alleles of x are .* expected A and G"):
        match_variants(VARIANTS_OF_MODEL, variants(*others), name="x.bed")


def test_variant_matching_prefers_a_match_of_two_alleles():
    others = [("x", "0", "G"), ("x", "G", "A"), ("y", "C", "T"), ("z", "T", "TA")]
    found = match_variants(VARIANTS_OF_MODEL, variants(*others), name="x.bed")
    assert (found.positions.tolist(), found.missing_alleles) == ([1, 2, 3], 0)
