"""Alleles have the status that a comparison by hand gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from seqloom.data.interval._spans import Genome
from seqloom.data.variant._alleles import (
    STATUS,
    resolve_alleles,
    variant_windows,
    windows_within_contigs,
)
from seqloom.data.variant._check import CheckReport
from seqloom.errors import FormatError
from variant_records import Record, to_batch, write_fasta

CONTIGS = {"chr1": "AACCGGTTAC", "chr2": "acgtRACN", "chrM": "GATTACA"}


@pytest.fixture
def genome(tmp_path: Path) -> Genome:
    return Genome(write_fasta(tmp_path / "g.fa", CONTIGS))


def resolve(
    genome: Genome, *records: Record, **options: Any
) -> list[tuple[str, int, str, str]]:
    """Return status, position, reference and alternative of each row."""
    table = resolve_alleles(to_batch(list(records)), genome, **options)
    return [
        (STATUS[status], start + 1, ref.decode(), alt.decode())
        for status, start, ref, alt in zip(
            table.status.tolist(),
            table.starts.tolist(),
            table.refs.to_list(),
            table.alts.to_list(),
            strict=True,
        )
    ]


@pytest.mark.parametrize(
    ("alt", "status"),
    [
        (".", "missing"),
        ("*", "spanning_deletion"),
        ("<DEL>", "symbolic"),
        ("<CN0>", "symbolic"),
        ("<NON_REF>", "reference_block"),
        ("<*>", "reference_block"),
        ("G]chr2:5]", "breakend"),
        ("[chr2:5[G", "breakend"),
        (".A", "breakend"),
        ("AR", "invalid_allele"),
        ("", "invalid_allele"),
    ],
)
def test_an_alternative_without_a_sequence_keeps_its_text_and_gets_a_reason(
    genome: Genome, alt: str, status: str
) -> None:
    assert resolve(genome, ("chr1", 3, "C", alt)) == [(status, 3, "C", alt)]


def test_each_allele_of_a_record_is_a_row(genome: Genome) -> None:
    assert resolve(genome, ("chr1", 3, "CC", "C,CT,<DEL>")) == [
        ("ok", 2, "AC", "A"),
        ("ok", 4, "C", "T"),
        ("symbolic", 3, "CC", "<DEL>"),
    ]


@pytest.mark.parametrize("position", [0, -3, 10, 11, 2**40])
def test_a_record_beyond_its_contig_is_outside(genome: Genome, position: int) -> None:
    row = resolve(genome, ("chr1", position, "CG", "C"))
    assert row == [("outside_contig", position, "CG", "C")]


def test_a_deletion_of_the_first_base_keeps_the_next_base(genome: Genome) -> None:
    assert resolve(genome, ("chrM", 1, "GA", "A")) == [("ok", 1, "GA", "A")]


def test_an_alternative_equal_to_ref_is_not_changed(genome: Genome) -> None:
    assert resolve(genome, ("chr1", 3, "CC", "cc")) == [("ok", 3, "CC", "CC")]


def test_lower_case_in_the_genome_equals_upper_case(genome: Genome) -> None:
    assert resolve(genome, ("chr2", 2, "CG", "C")) == [("ok", 2, "CG", "C")]


def test_an_ambiguity_code_equals_its_bases_and_n_equals_none(genome: Genome) -> None:
    rows = resolve(genome, ("chr2", 5, "A", "T"), ("chr2", 5, "C", "T"))
    rows += resolve(genome, ("chr2", 8, "A", "T"), ("chr2", 8, "N", "T"))
    statuses = [status for status, *_ in rows]
    assert statuses == ["ok", "reference_mismatch", "reference_mismatch", "ok"]


def test_swap_uses_the_alternative_of_the_genome_as_reference(genome: Genome) -> None:
    record = ("chr1", 3, "A", "C,G")
    assert resolve(genome, record, on_mismatch="swap") == [
        ("swapped", 3, "C", "A"),
        ("reference_mismatch", 3, "A", "G"),
    ]
    assert [row[0] for row in resolve(genome, record)] == ["reference_mismatch"] * 2


@pytest.mark.parametrize("ref", ["G", "GG"])
def test_a_palindromic_record_is_not_swapped(genome: Genome, ref: str) -> None:
    alt = "C" * len(ref)
    rows = resolve(genome, ("chr1", 3, ref, alt), on_mismatch="swap")
    assert rows == [("ambiguous_swap", 3, ref, alt)]


def check(genome: Genome, *records: Record, lengths: Any = None) -> CheckReport:
    report = CheckReport(genome, lengths)
    resolve_alleles(to_batch(list(records)), genome, report=report)
    return report


def test_the_error_names_counts_records_and_options(genome: Genome) -> None:
    report = check(genome, ("1", 3, "A", "C"), ("1", 1, "A", "C"), ("1", 9, "G", "C"))
    with pytest.raises(FormatError) as caught:
        report.raise_for_mismatch()
    assert str(caught.value) == (
        f"the variants: REF differs from {genome.path} in 2 of 3 records; the "
        "genome has ALT in 1, the genome has REF one base to the left in 1; line 5, "
        "1:3: REF is A, the genome has C; line 7, 1:9: REF is G, the genome has A; pass "
        'on_mismatch="skip" (--on-mismatch skip) to skip these records, or '
        'on_mismatch="swap" (--on-mismatch swap) to use ALT as the reference where the '
        "genome has ALT"
    )


def test_positions_that_count_from_0_are_recognised(genome: Genome) -> None:
    bases = CONTIGS["chr1"]
    records = [("chr1", i, bases[i], "N") for i in range(1, 10)]
    with pytest.raises(FormatError, match="POS probably counts from 0"):
        check(genome, *records).raise_for_mismatch()


def test_exchanged_alleles_are_recognised(genome: Genome) -> None:
    records = [("chr1", i + 1, "N", base) for i, base in enumerate(CONTIGS["chr1"])]
    with pytest.raises(FormatError, match="REF and ALT are probably exchanged"):
        check(genome, *records).raise_for_mismatch()


def test_alleles_of_the_other_strand_are_recognised(genome: Genome) -> None:
    bases = CONTIGS["chr1"].translate(str.maketrans("ACGT", "TGCA"))
    records = [("chr1", i + 1, base, "N") for i, base in enumerate(bases)]
    with pytest.raises(FormatError, match="probably those of the other strand"):
        check(genome, *records).raise_for_mismatch()


def test_another_build_is_recognised_by_the_lengths_of_contigs(genome: Genome) -> None:
    report = check(genome, ("1", 3, "A", "G"), lengths={"1": 12, "chr2": 8, "x": None})
    with pytest.raises(
        FormatError,
        match="1 has 12 bases in the header and 10 in the genome: the genome is probably "
        "another build",
    ):
        report.raise_for_mismatch()


def test_names_of_contigs_are_matched_and_reported(genome: Genome) -> None:
    records = [("1", 1, "A", "C"), ("MT", 1, "G", "C"), ("2", 1, "A", "C")]
    report = check(genome, *records, ("NC_000003.12", 1, "A", "C"))
    report.raise_for_mismatch()
    assert report.to_dict()["contig_names"] == (
        "the variants name contigs 1, MT, 2, the genome chr1, chrM, chr2: chr was added "
        "for 2 contigs, chrM was used for MT"
    )
    assert report.missing_contigs == {"NC_000003.12": 1}


def test_an_exact_name_has_precedence(tmp_path: Path) -> None:
    genome = Genome(write_fasta(tmp_path / "g.fa", {"chr1": "AAAA", "1": "CCCC"}))
    rows = resolve(genome, ("1", 1, "C", "T"), ("chr1", 1, "A", "T"))
    assert [row[0] for row in rows] == ["ok", "ok"]


def test_two_names_for_one_contig_are_an_error(genome: Genome) -> None:
    with pytest.raises(FormatError, match="contigs '1' and 'chr1' are both 'chr1'"):
        resolve(genome, ("1", 1, "A", "C"), ("chr1", 1, "A", "C"))


def test_a_genome_without_any_of_the_contigs_is_an_error(genome: Genome) -> None:
    with pytest.raises(FormatError, match="has none of the contigs 7; the genome has chr1"):
        check(genome, ("7", 1, "A", "C")).raise_for_mismatch()


def windows(genome: Genome, record: Record, **options: Any) -> str:
    table = resolve_alleles(to_batch([record]), genome)
    return variant_windows(genome, table, **options)[0].tobytes().decode()


def test_limits_mask_the_genome_and_inserted_bases(genome: Genome) -> None:
    record = ("chr1", 6, "G", "GAT")  # The last base within the limits is number 6.
    limits = np.array([3]), np.array([6])
    options = {"left": 4, "width": 9, "limits": limits}
    assert windows(genome, record, **options, allele="reference") == "NNCGGNNNN"
    assert windows(genome, record, **options) == "NNCGGATNN"


def test_an_alternative_window_may_have_more_columns(genome: Genome) -> None:
    record = ("chr1", 6, "G", "GAT")
    options = {"left": 2, "width": 4, "columns": 6}
    assert windows(genome, record, left=2, width=4, allele="reference") == "CGGT"
    assert windows(genome, record, **options) == "CGGATT"
    assert windows(genome, record, **options, anchor="right") == "CGGATT"


def test_a_window_that_ends_within_a_deletion_ends_where_it_begins(genome: Genome) -> None:
    record = ("chr1", 4, "CGGTT", "C")
    assert windows(genome, record, left=2, width=4, anchor="right") == "NAACC"[-4:]


def test_a_window_may_begin_within_the_inserted_bases(genome: Genome) -> None:
    record = ("chr1", 4, "C", "CTTTAA")
    assert windows(genome, record, left=-3, width=5) == "TAAGG"


def test_a_deletion_needs_bases_after_the_reference_window(genome: Genome) -> None:
    records: list[Record] = [("chr1", 7, "T", "A"), ("chr1", 6, "GT", "G")]
    table = resolve_alleles(to_batch(records), genome)
    options: Any = {"left": 4, "width": 8}
    assert windows_within_contigs(genome, table, **options).tolist() == [True, True]
    options = {"left": 4, "width": 9}
    assert windows_within_contigs(genome, table, **options).tolist() == [False, False]
    options = {"left": 3, "width": 8}
    assert windows_within_contigs(genome, table, **options).tolist() == [False, False]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_every_spelling_of_a_variant_has_one_normal_form(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    letters = st.text("AC", min_size=1, max_size=6)
    bases = "".join(
        unit * count
        for unit, count in data.draw(st.lists(st.tuples(letters, st.integers(1, 9))))
    )
    bases = f"G{bases}G"
    folder = tmp_path_factory.mktemp("spelling")
    genome = Genome(write_fasta(folder / "g.fa", {"c": bases}))
    start = data.draw(st.integers(1, len(bases) - 1))
    stop = data.draw(st.integers(start, min(start + 6, len(bases) - 1)))
    alt = data.draw(st.text("AC", max_size=6))
    mutated = bases[:start] + alt + bases[stop:]
    spellings: list[Record] = [("c", 1, bases, mutated)]
    for _ in range(4):  # more bases on both sides
        left = data.draw(st.integers(0, start - 1))
        right = data.draw(st.integers(stop, len(bases)))
        pair = bases[left:right], bases[left:start] + alt + bases[stop:right]
        other = data.draw(st.sampled_from(["", ",GGG", ",<DEL>"]))
        spellings.append(("c", left + 1, pair[0], pair[1] + other))
    spellings += _shifted(bases, mutated)
    table = resolve_alleles(to_batch(spellings), genome)
    table = table.take(np.flatnonzero(table.alt_numbers == 1))
    if bases == mutated:
        return
    assert len(np.unique(table.starts)) == 1
    assert len(set(table.refs.to_list())) == len(set(table.alts.to_list())) == 1
    sequences = variant_windows(genome, table, left=9, width=40)
    assert len(np.unique(sequences, axis=0)) == 1


def _shifted(bases: str, mutated: str) -> list[Record]:
    """Return all insertions or deletions that give the same sequence."""
    size = len(mutated) - len(bases)
    if not size:
        return []
    found: list[Record] = []
    for place in range(1, min(len(bases), len(mutated)) + 1):
        ref = bases[place - 1 : place + max(-size, 0)]
        alt = mutated[place - 1 : place + max(size, 0)]
        if bases[: place - 1] + alt + bases[place - 1 + len(ref) :] == mutated:
            found.append(("c", place, ref, alt))
    return found
