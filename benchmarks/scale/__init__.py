"""Measure how time and memory grow with the input in seqloom and other libraries."""

from benchmarks.scale._suite import main

__all__ = ["main"]
