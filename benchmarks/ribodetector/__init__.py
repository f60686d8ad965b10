"""Compare RiboDetector, a published tool, with its exported model."""

from benchmarks.ribodetector._story import main

__all__ = ["main"]
