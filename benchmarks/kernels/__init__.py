"""Compare all kernels except matrix products with torch, at the networks' shapes."""

from benchmarks.kernels._story import main

__all__ = ["main"]
