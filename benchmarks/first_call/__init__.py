"""Measure the first call of a compiled step with empty and with filled caches."""

from benchmarks.first_call._suite import main

__all__ = ["main"]
