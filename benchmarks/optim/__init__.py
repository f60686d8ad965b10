"""Measure one step of AdamW and of Muon in seqloom and in torch."""

from benchmarks.optim._suite import main

__all__ = ["main"]
