"""Write VCF text with random genotypes of many samples."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np

SAMPLE_COUNT = 2504
CONTIG_LENGTH = 50_818_468
BLOCK_RECORDS = 1024
HEADER = f"""##fileformat=VCFv4.2
##FILTER=<ID=PASS,Description="All filters passed">
##contig=<ID=22,length={CONTIG_LENGTH}>
##INFO=<ID=AC,Number=A,Type=Integer,Description="Number of alternative alleles">
##INFO=<ID=AN,Number=1,Type=Integer,Description="Number of alleles">
##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">
##INFO=<ID=VT,Number=.,Type=String,Description="Kind of variant">
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
"""
COLUMNS = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]


def vcf_blocks(records: int) -> Iterator[bytes]:
    """Yield the header and blocks of records."""
    names = [f"S{number:05}" for number in range(SAMPLE_COUNT)]
    yield (HEADER + "\t".join([*COLUMNS, *names]) + "\n").encode()
    random = np.random.default_rng(0)
    for start in range(0, records, BLOCK_RECORDS):
        stop = min(start + BLOCK_RECORDS, records)
        yield b"".join(_draw_record(number, random) for number in range(start, stop))


def write_bgzip(path: Path, records: int) -> int:
    """Write a bgzip file with the program bgzip; return the number of bytes of text."""
    size = 0
    with path.open("wb") as out:
        with subprocess.Popen(
            ["bgzip", "--threads", "2"],  # noqa: S607  # the program on the search path
            stdin=subprocess.PIPE,
            stdout=out,
        ) as program:
            assert program.stdin is not None
            for block in vcf_blocks(records):
                size += program.stdin.write(block)
        assert program.returncode == 0
    return size


def _draw_record(number: int, random: np.random.Generator) -> bytes:
    """Return the line of one variant; few genotypes are missing or without phase."""
    alleles = np.frombuffer(b"0|0\t" * SAMPLE_COUNT, "u1").copy()
    frequency = 10 ** random.uniform(-4, -0.3)
    count = random.binomial(2 * SAMPLE_COUNT, frequency)
    carriers = random.integers(2 * SAMPLE_COUNT, size=count)
    alleles[2 * carriers] = ord("1")
    sample = int(random.integers(SAMPLE_COUNT))
    alleles[4 * sample : 4 * sample + 3] = np.frombuffer(
        b"./." if sample % 2 else b"0/1", "u1"
    )
    alleles[-1] = ord("\n")
    ref, alt = random.choice(["A C", "G T", "C T", "CAG C", "T TA", "A G,T"]).split()
    info = f"AC={count};AN={2 * SAMPLE_COUNT};DP={random.integers(10**5)};VT=SNP"
    fixed = (
        f"22\t{16_050_000 + 40 * number}\trs{number}\t{ref}\t{alt}\t100\tPASS\t{info}\tGT\t"
    )
    return fixed.encode() + alleles.tobytes()
