"""Normal forms and alternative sequences equal those of bcftools."""

from pathlib import Path

import numpy as np
import pytest

from seqloom.data.interval._spans import Genome
from seqloom.data.variant._alleles import AlleleTable, resolve_alleles, variant_windows
from variant_records import (
    Record,
    needs_bcftools,
    random_variants,
    read_fasta,
    read_vcf,
    run_bcftools,
    to_batch,
    write_fasta,
)

pytestmark = needs_bcftools
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 11))]
COUNT = 1000


def to_records(table: AlleleTable, genome: Genome) -> list[Record]:
    """Return the rows of a table in the order of contig, position and alleles."""
    alleles = zip(table.refs.to_list(), table.alts.to_list(), strict=True)
    return sorted(
        (genome.names[contig], start + 1, ref.decode(), alt.decode())
        for contig, start, (ref, alt) in zip(
            table.contigs.tolist(), table.starts.tolist(), alleles, strict=True
        )
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_normal_forms_equal_bcftools_norm(tmp_path: Path, seed: int) -> None:
    contigs, records = random_variants(COUNT, seed, most=3)
    genome = Genome(write_fasta(tmp_path / "g.fa", contigs))
    table = resolve_alleles(to_batch(records), genome)
    text = run_bcftools(tmp_path, genome.path, records, "norm", "-m", "-any")
    assert to_records(table, genome) == sorted(read_vcf(text))


@pytest.mark.parametrize("seed", SEEDS)
def test_split_substitutions_equal_bcftools_atomize(tmp_path: Path, seed: int) -> None:
    contigs, records = random_variants(COUNT, seed)
    records = [record for record in records if len(record[2]) == len(record[3])]
    genome = Genome(write_fasta(tmp_path / "g.fa", contigs))
    table = resolve_alleles(to_batch(records), genome, split_mnps=True)
    text = run_bcftools(tmp_path, genome.path, records, "norm", "--atomize")
    assert to_records(table, genome) == sorted(read_vcf(text))


@pytest.mark.parametrize("seed", SEEDS)
def test_alternative_sequences_equal_bcftools_consensus(tmp_path: Path, seed: int) -> None:
    contigs, records = random_variants(COUNT, seed)
    genome = Genome(write_fasta(tmp_path / "g.fa", contigs))
    table = resolve_alleles(to_batch(records), genome)
    expected = read_fasta(run_bcftools(tmp_path, genome.path, records, "consensus"))
    left, width = 320, 2000
    for allele in ("alternative", "reference"):
        rows = variant_windows(genome, table, left=left, width=width, allele=allele)
        for row, (contig, *_) in enumerate(records):
            bases = expected[contig] if allele == "alternative" else contigs[contig].upper()
            padded = "N" * (left - int(table.starts[row])) + bases
            assert rows[row].tobytes().decode() == padded.ljust(width, "N"), records[row]


@pytest.mark.parametrize("seed", SEEDS)
def test_windows_with_one_right_end_end_where_bcftools_consensus_does(
    tmp_path: Path, seed: int
) -> None:
    contigs, records = random_variants(COUNT, seed)
    genome = Genome(write_fasta(tmp_path / "g.fa", contigs))
    table = resolve_alleles(to_batch(records), genome)
    expected = read_fasta(run_bcftools(tmp_path, genome.path, records, "consensus"))
    left, width = 20, 2000
    rows = variant_windows(genome, table, left=left, width=width, anchor="right")
    ends = table.starts - left + width  # These ends are to the right of all contigs.
    lengths = np.array([len(bases) for bases in contigs.values()])
    assert (ends >= lengths).all()
    for row, bases in enumerate(expected.values()):
        padded = bases + "N" * int(ends[row] - lengths[row])
        assert rows[row].tobytes().decode() == padded.rjust(width, "N")[-width:]
