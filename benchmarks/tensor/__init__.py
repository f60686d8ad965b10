"""Time training steps in seqloom on each backend, in PyTorch and in JAX."""

from benchmarks.tensor._suite import main

__all__ = ["main"]
