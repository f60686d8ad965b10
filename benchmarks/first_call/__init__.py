"""Measure the first call of a compiled step, in a new process and in the next one."""

from benchmarks.first_call._story import main

__all__ = ["main"]
