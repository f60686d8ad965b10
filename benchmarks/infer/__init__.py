"""Compute ESM-2 embeddings on one thread with seqloom and other CPU engines."""

from benchmarks.infer._suite import main

__all__ = ["main"]
