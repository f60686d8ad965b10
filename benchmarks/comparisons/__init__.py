"""Time the code of docs/comparisons: the same task in another tool and in seqloom."""

from benchmarks.comparisons._story import main

__all__ = ["main"]
