"""Measure how time and memory grow over three decades, in seqloom and rivals."""

from benchmarks.scale._story import main

__all__ = ["main"]
