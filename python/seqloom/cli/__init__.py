"""The command line of seqloom, which calls the public Python functions."""

from seqloom.cli._start import main

__all__ = ["main"]
