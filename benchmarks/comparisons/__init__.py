"""Time the code of docs/comparisons: the same task in another tool and in seqloom."""

from benchmarks.comparisons._suite import main

__all__ = ["main"]
