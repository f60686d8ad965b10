"""Time a training step of the demo's network on the NumPy backend and in PyTorch."""

from benchmarks.train_cnn._suite import main

__all__ = ["main"]
