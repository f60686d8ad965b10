"""Read a VCF file with one package.

``python _readers.py PACKAGE PATH THREADS WHAT`` runs in the environment of the package
and imports nothing else of this project. WHAT is ``sites`` or ``genotypes`` to print the
seconds, the records and the peak memory in bytes; ``text`` prints the columns.
"""

import json
import resource
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

OPENER_OF_PACKAGE = {
    "seqloom": ("seqloom.io", "open_variants"),
    "cyvcf2": ("cyvcf2", "VCF"),
}


def read_with_seqloom(path: str, threads: int, *, genotypes: bool) -> Iterator[int]:
    """Yield the number of records of each batch."""
    import seqloom as sl

    samples = True if genotypes else None
    with sl.io.open_variants(path, samples=samples, threads=threads) as reader:
        for batch in reader.batches():
            if batch.genotypes is not None:
                assert batch.genotypes.shape[0] == len(batch.starts)
            yield len(batch.starts)


def read_with_cyvcf2(path: str, threads: int, *, genotypes: bool) -> Iterator[int]:
    """Yield 1 for each record."""
    cyvcf2 = import_module("cyvcf2")

    samples = None if genotypes else []
    options = {"threads": threads} if threads > 1 else {}
    for record in cyvcf2.VCF(path, samples=samples, lazy=True, **options):
        if genotypes:
            record.genotype.array()
        else:
            record.POS  # noqa: B018  # reads the column
        yield 1


def text_of_seqloom(path: str) -> Iterator[str]:
    """Yield columns and genotypes of each record, as bcftools prints them."""
    import seqloom as sl

    with sl.io.open_variants(path, samples=True) as reader:
        for batch in reader.batches():
            texts = batch.refs.to_list(), batch.alts.to_list()
            columns = batch.chroms, batch.starts.tolist(), *texts
            assert batch.genotypes is not None
            assert batch.phased is not None
            genotypes = zip(batch.genotypes, batch.phased, strict=True)
            for chrom, start, ref, alt in zip(*columns, strict=True):
                calls, phased = next(genotypes)
                fixed = chrom, start + 1, ref.decode(), alt.decode()
                yield "\t".join([*map(str, fixed), *_calls_as_text(calls, phased)])


def text_of_cyvcf2(path: str) -> Iterator[str]:
    """Yield columns and genotypes of each record, as bcftools prints them."""
    cyvcf2 = import_module("cyvcf2")

    for record in cyvcf2.VCF(path):
        calls = record.genotype.array()
        fixed = record.CHROM, record.POS, record.REF, ",".join(record.ALT)
        texts = _calls_as_text(calls[:, :2], calls[:, 2] > 0)
        yield "\t".join([*map(str, fixed), *texts])


def _calls_as_text(calls: Any, phased: Any) -> Iterator[str]:
    """Return the genotypes of one record as text."""
    marks = phased.reshape(len(calls), -1)[:, -1]
    for (one, two), mark in zip(calls.tolist(), marks.tolist(), strict=True):
        left, right = ("." if allele < 0 else allele for allele in (one, two))
        yield f"{left}{'|' if mark else '/'}{right}"


if __name__ == "__main__":
    package, path, threads, wanted = sys.argv[1:]
    if wanted == "text":
        sys.stdout.writelines(f"{line}\n" for line in globals()[f"text_of_{package}"](path))
    else:
        module, name = OPENER_OF_PACKAGE[package]
        getattr(import_module(module), name)  # the time of imports is not measured
        read = globals()[f"read_with_{package}"]
        start = time.perf_counter()
        records = sum(read(path, int(threads), genotypes=wanted == "genotypes"))
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"seconds": seconds, "records": records, "bytes": peak}))
