"""Compare RiboDetector, a published tool, with its exported model."""

from benchmarks.ribodetector._suite import main

__all__ = ["main"]
