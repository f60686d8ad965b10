"""Imports that fail by the environment: one sentence for users of the command line."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from seqloom.errors import ArgumentError

_BAD_INPUT = 2


@contextmanager
def report_to_command() -> Generator[None]:
    """Ends the ``seqloom`` command by one sentence; other programs get the error."""
    try:
        yield
    except ArgumentError as error:
        if not _is_command():
            raise
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(_BAD_INPUT) from None


def _is_command() -> bool:
    """Says whether this process runs ``seqloom`` or ``python -m seqloom``."""
    name, words = sys.argv[0] if sys.argv else "", sys.orig_argv
    # While Python still looks for the module to run, -m stands for its path.
    if name == "-m":
        return "-m" in words and words[words.index("-m") + 1 :][:1] == ["seqloom"]
    return Path(name).name == "seqloom"
