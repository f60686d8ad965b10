"""Embeddings of proteins by ESM-2 on one GPU: ours beside Hugging Face's."""

from benchmarks.gpu._story import main

__all__ = ["main"]
