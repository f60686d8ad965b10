"""A step of AdamW and of Muon beside torch's, and beside what memory and products allow."""

from benchmarks.optim._story import main

__all__ = ["main"]
