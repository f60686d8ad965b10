"""Read PLINK files with seqloom, bed_reader, pgenlib and a NumPy lookup table."""

from benchmarks.bed._story import main

__all__ = ["main"]
