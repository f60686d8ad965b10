"""Measures a GPU in eight minutes: tests, inference, training, and a killed command."""

from benchmarks.gpu._run import main

__all__ = ["main"]
