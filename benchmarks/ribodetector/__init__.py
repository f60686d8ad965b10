"""A published tool that finds ribosomal reads, as an exported model beside its command."""

from benchmarks.ribodetector._story import main

__all__ = ["main"]
