"""The same task by another tool and by seqloom: the code of docs/beside, measured."""

from benchmarks.beside._story import main

__all__ = ["main"]
