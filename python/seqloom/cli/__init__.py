"""The command line: a few lines over the packages below."""

from seqloom.cli._start import main

__all__ = ["main"]
