"""Batches of variants for tests, and random variants with the results of bcftools."""

import random
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from seqloom._ragged import Ragged

needs_bcftools = pytest.mark.skipif(
    not (shutil.which("bcftools") and shutil.which("samtools")),
    reason="bcftools and samtools are not installed",
)
Record = tuple[str, int, str, str]  # contig, POS, REF, ALT


def to_batch(records: list[Record]) -> Any:
    """Return the columns of a batch; the first record is on line 5."""
    names = list(dict.fromkeys(contig for contig, *_ in records))
    codes = [names.index(contig) for contig, *_ in records]
    return SimpleNamespace(
        chrom_codes=np.array(codes, np.int32),
        chrom_names=names,
        starts=np.array([position - 1 for _, position, *_ in records], np.int64),
        refs=Ragged.from_list([ref for *_, ref, _ in records]),
        alts=Ragged.from_list([alt for *_, alt in records]),
        lines=np.arange(len(records)) + 5,
    )


def write_fasta(path: Path, contigs: dict[str, str]) -> str:
    """Write contigs with lines of 17 bases."""
    lines = [
        "\n".join([f">{name}", *(bases[i : i + 17] for i in range(0, len(bases), 17))])
        for name, bases in contigs.items()
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def random_variants(
    count: int, seed: int, *, most: int = 1
) -> tuple[dict[str, str], list[Record]]:
    """Return one small contig for each record, with at most ``most`` ALT alleles."""
    rng = random.Random(seed)  # noqa: S311 - a test
    contigs: dict[str, str] = {}
    records: list[Record] = []
    for number in range(count):
        letters = rng.choice(["ACGT", "AC", "AAAC", "ACGTN", "ACGTacgt"])
        bases = "".join(rng.choices(letters, k=rng.randint(1, 70)))
        if rng.random() < 0.5:  # a repeat, in which indels can be shifted
            unit = "".join(rng.choices("ACGT", k=rng.randint(1, 4)))
            middle = rng.randint(0, len(bases))
            bases = bases[:middle] + unit * rng.randint(2, 60) + bases[middle:]
        start = rng.choice([0, len(bases) - 1, *(rng.randrange(len(bases)),) * 4])
        longest = rng.choice([1, 1, 3, len(bases) - start])
        ref = bases[start : start + rng.randint(1, max(longest, 1))].upper()
        wanted = rng.randint(1, most)
        alts: list[str] = []
        while len(alts) < wanted:
            alt = _random_alternative(rng, ref)
            if alt != ref and alt not in alts:
                alts.append(alt)
        contigs[f"c{number}"] = bases
        records.append((f"c{number}", start + 1, ref, ",".join(alts)))
    return contigs, records


def _random_alternative(rng: random.Random, ref: str) -> str:
    """Return a substitution, insertion, deletion, or another allele in place of REF."""
    first, last = sorted([rng.randint(0, len(ref)), rng.randint(0, len(ref))])
    bases = "".join(rng.choices("ACGT", k=rng.randint(1, 8)))
    alternatives = {
        "substitution": "".join(rng.choice([base, *"ACGT"]) for base in ref),
        "deletion": ref[:first] + ref[last:],
        "insertion": ref[:first] + bases + ref[first:],
        "repeat": ref + ref[first:] * rng.randint(1, 3),
        "other": bases,
    }
    return alternatives[rng.choice(list(alternatives))] or bases


def run_bcftools(folder: Path, genome: str, records: list[Record], *options: str) -> str:
    """Write the records as an indexed VCF file, and return the output of a command."""
    lengths = [line.split("\t")[:2] for line in _faidx(genome)]
    header = [f"##contig=<ID={name},length={size}>" for name, size in lengths]
    columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    rows = ["\t".join([c, str(p), ".", r, a, ".", ".", "."]) for c, p, r, a in records]
    vcf = folder / "records.vcf"
    lines = ["##fileformat=VCFv4.2", *header, columns, *rows]
    vcf.write_text("\n".join(lines) + "\n")
    _run("bcftools", "view", "-Oz", "-o", f"{vcf}.gz", str(vcf))
    _run("bcftools", "index", "-f", f"{vcf}.gz")
    return _run("bcftools", *options, "-f", genome, f"{vcf}.gz")


def _faidx(genome: str) -> list[str]:
    _run("samtools", "faidx", genome)
    return Path(f"{genome}.fai").read_text().splitlines()


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_vcf(text: str) -> list[Record]:
    """Return the records of a VCF file, with alleles in upper case."""
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return [(row[0], int(row[1]), row[3].upper(), row[4].upper()) for row in rows]


def read_fasta(text: str) -> dict[str, str]:
    """Return the sequence of each contig in upper case."""
    parts = [part.partition("\n") for part in text.split(">")[1:]]
    return {name: bases.replace("\n", "").upper() for name, _, bases in parts}
