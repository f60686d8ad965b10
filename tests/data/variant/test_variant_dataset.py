"""Items of a `VariantDataset` are the sequences that edits of the contig give."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from seqloom.data import DataLoader, Dataset, IntervalDataset, Labels, VariantDataset, split
from seqloom.encode import OneHot
from seqloom.errors import ArgumentError, FormatError, LabelError
from variant_records import random_variants, to_batch, write_fasta

CHROM = "AACCGGTTACGATTACAGGA"
TABLE: dict[str, Any] = {
    "chrom": ["1", "1", "2"],
    "pos": [9, 11, 10],
    "ref": ["A", "GAT", "C"],
    "alt": ["G", "G", "T,<DEL>"],
}


@pytest.fixture
def genome(tmp_path: Path) -> str:
    return write_fasta(tmp_path / "g.fa", {"chr1": CHROM, "chr2": CHROM.lower()})


def read(genome: str, variants: Any = None, **options: Any) -> Dataset:
    options = {"width": 8} | options
    return VariantDataset(TABLE if variants is None else variants, genome, **options)


def sequences(data: Dataset) -> list[str]:
    return [item["sequence"].decode() for item in data]


def test_an_item_has_the_window_and_the_variant(genome: str) -> None:
    data = read(genome)
    assert sequences(data) == [
        "GGTTACGA",
        "GGTTGCGA",
        "TTACGATT",
        "TTACGTAC",
        "GTTACGAT",
        "GTTATGAT",
    ]
    item = data[3]
    del item["sequence"]
    assert item == {
        "id": "chr1:11:GAT:G:alt",
        "ordinal": 3,
        "chrom": "chr1",
        "start": 10,
        "ref": "GAT",
        "alt": "G",
        "allele": "alternative",
        "strand": "+",
        "record": 1,
    }


def test_one_allele_can_be_selected(genome: str) -> None:
    both = sequences(read(genome))
    assert sequences(read(genome, allele="reference")) == both[::2]
    assert sequences(read(genome, allele="alternative")) == both[1::2]


def test_the_minus_strand_is_the_reverse_complement_of_the_edited_sequence(
    genome: str,
) -> None:
    seq = pytest.importorskip("Bio.Seq")
    forward = sequences(read(genome))
    reverse = [str(seq.Seq(bases).reverse_complement()) for bases in forward]
    assert sequences(read(genome, strand="-")) == reverse
    both = read(genome, strand="both")
    assert sequences(both)[::2] == forward
    assert sequences(both)[1::2] == reverse
    assert both.ids[:2] == ["chr1:9:A:G:ref", "chr1:9:A:G:ref(-)"]


@pytest.mark.parametrize("shift", [-3, 0, 2])
def test_a_shift_moves_windows_to_the_right(genome: str, shift: int) -> None:
    starts = [8 + shift - 4, 10 + shift - 4, 9 + shift - 4]
    expected = [CHROM[start : start + 8] for start in starts]
    assert sequences(read(genome, allele="reference", shift=shift)) == expected


@pytest.mark.parametrize("width", [7, 8])
def test_the_centre_is_that_of_an_interval_of_one_base(genome: str, width: int) -> None:
    table = {"chrom": ["chr1"], "start": [8], "stop": [9]}
    interval = IntervalDataset(genome, table, width=width)[0]["sequence"]
    assert read(genome, allele="reference", width=width)[0]["sequence"] == interval


def test_all_forms_of_input_give_the_same_items(genome: str) -> None:
    rows = zip(TABLE["chrom"], TABLE["pos"], TABLE["ref"], TABLE["alt"], strict=True)
    batch = to_batch(list(rows))
    zero_based = {name: values for name, values in TABLE.items() if name != "pos"}
    zero_based["start"] = [position - 1 for position in TABLE["pos"]]
    vcf_names = {"chrom": "#CHROM", "pos": "POS", "ref": "REF", "alt": "ALT"}
    tables = [pd.DataFrame(TABLE), pd.DataFrame(TABLE).rename(columns=vcf_names)]
    for variants in (batch, zero_based, *tables):
        assert read(genome, variants).ids == read(genome).ids
        assert sequences(read(genome, variants)) == sequences(read(genome))


def test_skipped_alleles_are_counted_with_their_reason(genome: str) -> None:
    report = read(genome).report
    assert report["skipped"] == {"symbolic": 1}
    assert report["skipped_examples"] == ["row 2, 2:10 C><DEL>: symbolic"]
    assert report["contig_names"] == (
        "the variants name contigs 1, 2, the genome chr1, chr2: chr was added for 2 contigs"
    )


EXCHANGED: dict[str, Any] = TABLE | {"ref": ["G", "GAT", "T"], "alt": ["A", "G", "C"]}


def test_a_difference_from_the_genome_is_an_error_by_default(genome: str) -> None:
    with pytest.raises(FormatError, match="in 2 of 3 records; the genome has ALT in 2"):
        read(genome, EXCHANGED)


def test_records_that_differ_from_the_genome_can_be_skipped(genome: str) -> None:
    data = read(genome, EXCHANGED, on_mismatch="skip")
    assert data.ids == ["chr1:11:GAT:G:ref", "chr1:11:GAT:G:alt"]
    assert data.report["skipped"] == {"reference_mismatch": 2}
    assert data.report["skipped_examples"][0] == "row 0, 1:9 G>A: reference_mismatch"


def test_exchanged_alleles_can_be_swapped(genome: str) -> None:
    data = read(genome, EXCHANGED, on_mismatch="swap")
    assert sequences(data) == sequences(read(genome))
    assert data.report["swapped"] == 2


def test_a_window_that_leaves_its_contig_follows_the_edge_rule(genome: str) -> None:
    table = TABLE | {"pos": [9, 11, 2], "ref": ["A", "GAT", "A"]}
    with pytest.raises(
        FormatError,
        match="row 2, chr2:2: the window of 8 bases is not within the 20 bases of chr2, in "
        '1 of 3 variants; edge="pad"',
    ):
        read(genome, table)
    assert sequences(read(genome, table, edge="pad"))[4:] == ["NNNAACCG", "NNNATCCG"]
    data = read(genome, table, edge="drop")
    assert len(data) == 4
    assert data.report["skipped"] == {"symbolic": 1, "edge": 1}


def test_a_label_of_a_record_is_that_of_its_items(genome: str) -> None:
    data = read(
        genome,
        TABLE | {"effect": [0.5, -1.0, 2.0]},
        labels=Labels("effect", task="regress"),
    )
    assert data.task == "regress"
    assert np.ravel(data.to_numpy()["label"]).tolist() == [0.5, 0.5, -1.0, -1.0, 2.0, 2.0]
    data = read(genome, labels=["a", "b", "a"], allele="alternative")
    assert [data.classes[item["label"]] for item in data] == ["a", "b", "a"]


def test_labels_that_do_not_match_the_records_are_an_error(genome: str) -> None:
    with pytest.raises(ArgumentError, match="one for each of 3 records, got 2"):
        read(genome, labels=[1, 2])
    with pytest.raises(ArgumentError, match="the table has chrom, pos, ref, alt"):
        read(genome, labels="effect")
    with pytest.raises(LabelError):
        read(genome, labels=["a", None, "b"])


def test_a_dataset_splits_by_chromosome(genome: str) -> None:
    data = read(genome)
    parts = split(data, (0.5, 0.5), groups="chrom", seed=1)
    groups = [set(part.group("chrom")) for part in parts]
    assert sorted(map(sorted, groups)) == [["chr1"], ["chr2"]]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_equal_items_for_any_number_of_workers(
    genome: str, num_workers: int
) -> None:
    data = read(genome, encoder=OneHot("dna"))
    loader = DataLoader(data, batch_size=4, num_workers=num_workers)
    batches = [batch["inputs"] for batch in loader]
    expected = [OneHot("dna")(bases) for bases in sequences(read(genome))]
    assert np.array_equal(np.concatenate(batches), np.stack(expected))


def test_a_dataset_can_be_pickled(genome: str) -> None:
    data = read(genome)
    assert sequences(pickle.loads(pickle.dumps(data))) == sequences(data)  # noqa: S301


def test_the_fingerprint_depends_on_alleles_and_windows(genome: str) -> None:
    prints = {
        read(genome, **options).fingerprint()
        for options in ({}, {"shift": 1}, {"strand": "-"}, {"allele": "reference"})
    }
    other = read(genome, TABLE | {"alt": ["C", "G", "T"]}).fingerprint()
    assert len(prints | {other}) == 5
    assert read(genome).fingerprint() in prints


def test_windows_of_any_order_equal_edits_of_the_contig(tmp_path: Path) -> None:
    contigs, records = random_variants(200, 3)
    data = VariantDataset(
        to_batch(records), write_fasta(tmp_path / "g.fa", contigs), width=1600, edge="pad"
    )
    order = np.random.default_rng(0).permutation(len(data))
    for item in map(data.__getitem__, order.tolist()):
        contig, position, ref, alt = records[item["record"]]
        bases = contigs[contig].upper()
        edited = bases[: position - 1] + alt + bases[position - 1 + len(ref) :]
        expected = edited if item["allele"] == "alternative" else bases
        assert item["sequence"].decode().strip("N") == expected.strip("N")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"chrom": ["1"], "ref": ["A"], "alt": ["C"]}, "either pos .* or start"),
        (TABLE | {"start": [1, 2, 3]}, "either pos .* or start"),
        ({"chrom": ["1"], "pos": [1], "ref": ["A"]}, "expected chrom, ref, alt"),
        (TABLE | {"pos": [1, 2.5, 3]}, "row 1: pos must be an integer, found 2.5"),
        (TABLE | {"pos": [1, 2, None]}, "row 2: pos must be an integer, found None"),
        ({name: [] for name in TABLE}, "the table of variants: expected variants, found"),
        ([1, 2], "variants must be a VCF or BCF file"),
    ],
)
def test_an_invalid_table_is_an_error(genome: str, table: Any, message: str) -> None:
    with pytest.raises((ArgumentError, FormatError), match=message):
        read(genome, table)


@pytest.mark.parametrize(
    "option",
    [
        {"width": 0},
        {"shift": 0.5},
        {"allele": "alt"},
        {"strand": "."},
        {"edge": "keep"},
        {"on_mismatch": "warn"},
        {"encoder": OneHot("protein")},
    ],
)
def test_an_invalid_option_is_an_error(genome: str, option: dict[str, Any]) -> None:
    with pytest.raises((ArgumentError, TypeError), match=next(iter(option))):
        read(genome, **option)
