"""Accuracy of the default training on public and simulated tasks, with other models."""

from benchmarks.learning._suite import main

__all__ = ["main"]
