"""A GPU in eight minutes: its tests, inference, training, and a job that is killed."""

from benchmarks.gpu._run import main

__all__ = ["main"]
