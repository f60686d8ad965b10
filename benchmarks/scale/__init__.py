"""How time and memory grow: ours and the rivals, over three decades of each size."""

from benchmarks.scale._story import main

__all__ = ["main"]
