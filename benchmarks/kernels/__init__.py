"""Every kernel but the products of matrices, beside torch's at the networks' shapes."""

from benchmarks.kernels._story import main

__all__ = ["main"]
