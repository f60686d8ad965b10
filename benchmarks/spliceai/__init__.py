"""SpliceAI's first network beside the same network in torch."""

from benchmarks.spliceai._story import main

__all__ = ["main"]
