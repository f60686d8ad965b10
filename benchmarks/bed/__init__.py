"""Read PLINK files with seqloom, bed_reader, pgenlib and a NumPy lookup table."""

from benchmarks.bed._suite import main

__all__ = ["main"]
