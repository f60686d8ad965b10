"""Compare matrix products of the networks with OpenBLAS, MKL and Rust crates."""

from benchmarks.products._suite import main

__all__ = ["main"]
