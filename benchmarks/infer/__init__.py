"""Embeddings of proteins by ESM-2 on one thread: ours beside what people run on a CPU."""

from benchmarks.infer._story import main

__all__ = ["main"]
