"""Genotype files: ours beside bed_reader, pgenlib and a NumPy table look-up."""

from benchmarks.bed._story import main

__all__ = ["main"]
