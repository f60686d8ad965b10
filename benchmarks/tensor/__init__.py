"""Time training steps of seqloom on each backend, of torch and of jax."""

from benchmarks.tensor._story import main

__all__ = ["main"]
