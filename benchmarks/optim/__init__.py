"""Measure one step of AdamW and of Muon: seqloom, torch and floors."""

from benchmarks.optim._story import main

__all__ = ["main"]
