"""Compare the speed of all kernels except matrix products with that of PyTorch."""

from benchmarks.kernels._suite import main

__all__ = ["main"]
