"""The command line: a few lines over the packages below."""

from seqloom.cli._app import app, main

__all__ = ["app", "main"]
