"""Whole training steps: ours on each backend, beside torch eager, compiled, and jax.jit."""

from benchmarks.tensor._story import main

__all__ = ["main"]
