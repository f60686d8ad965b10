"""One training step of the demo's network: NumPy with our kernels beside torch eager."""

from benchmarks.train_cnn._story import main

__all__ = ["main"]
