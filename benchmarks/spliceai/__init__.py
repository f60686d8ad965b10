"""Compare the first SpliceAI network in seqloom and in torch."""

from benchmarks.spliceai._suite import main

__all__ = ["main"]
