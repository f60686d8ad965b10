"""Products of matrices as the networks have them, beside OpenBLAS, MKL and crates."""

from benchmarks.products._story import main

__all__ = ["main"]
