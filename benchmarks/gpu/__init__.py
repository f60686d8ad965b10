"""GPU benchmark of eight minutes: tests, inference, training, a resumed command."""

from benchmarks.gpu._run import main

__all__ = ["main"]
