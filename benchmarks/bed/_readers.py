"""Functions that read .bed files with each library."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.bed._files import BedFile
from seqloom.io import open_bed

Side: TypeAlias = Callable[[], Any]

# Variants per block of the NumPy lookup; larger blocks do not fit into the caches.
VARIANTS_PER_BLOCK = 256


def open_with_seqloom(file: BedFile, threads: int, **options: Any) -> Side:
    """Return a function that reads an open file with seqloom."""
    bed = open_bed(file.path, num_threads=threads)
    assert bed.shape == file.shape
    return lambda: bed.read(**options)


def open_with_bed_reader(file: BedFile, threads: int, **options: Any) -> Side:
    """Return a function that reads with bed_reader; the file's shape is already known."""
    counts = dict(zip(("iid_count", "sid_count"), file.shape, strict=True))
    bed = import_module("bed_reader").open_bed(file.path, num_threads=threads, **counts)
    return lambda: bed.read(**options)


def open_with_pgenlib(file: BedFile, out: NDArray[Any]) -> Side:
    """Return a function that reads (variants, individuals) with pgenlib."""
    individuals, variants = file.shape
    library = import_module("pgenlib")
    name = str(file.path).encode()
    reader = library.PgenReader(name, raw_sample_ct=individuals, variant_ct=variants)
    read = reader.read_range if out.dtype == np.int8 else reader.read_dosages_range

    def read_genotypes() -> NDArray[Any]:
        read(0, variants, out)
        return out

    return read_genotypes


def open_with_numpy(file: BedFile, out: NDArray[Any]) -> Side:
    """Decode each byte by a lookup table into `out`, (variants, individuals)."""
    codes = np.arange(256)[:, None] >> 2 * np.arange(4) & 3
    missing = -127 if out.dtype == np.int8 else np.nan
    numbers = np.array([2, missing, 1, 0], out.dtype)[codes]
    individuals, variants = file.shape
    stride = -(-individuals // 4)

    def read_genotypes() -> NDArray[Any]:
        with file.path.open("rb") as bed:
            bed.seek(3)
            for first in range(0, variants, VARIANTS_PER_BLOCK):
                lines = min(VARIANTS_PER_BLOCK, variants - first)
                read = np.fromfile(bed, np.uint8, lines * stride).reshape(lines, stride)
                decoded = numbers[read].reshape(lines, 4 * stride)
                out[first : first + lines] = decoded[:, :individuals]
        return out

    return read_genotypes
