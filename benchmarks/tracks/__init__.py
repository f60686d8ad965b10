"""Benchmarks of signal tracks and of sets of intervals."""

from benchmarks.tracks._suite import main

__all__ = ["main"]
