"""Report import errors, and Ctrl-C during imports, in one line on the command line."""

import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from seqloom._signals import INTERRUPTED_EXIT_CODE, delay_signals
from seqloom.errors import ArgumentError

_BAD_INPUT_EXIT_CODE = 2


@contextmanager
def report_import_errors() -> Generator[None]:
    """Print the error in one line and exit; outside the command line, raise the error."""
    try:
        # Ctrl-C during the import of a library may cause misleading errors.
        with delay_signals() if _is_command_line() else nullcontext():
            yield
    except ArgumentError as error:
        if not _is_command_line():
            raise
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(_BAD_INPUT_EXIT_CODE) from None
    except KeyboardInterrupt:
        if not _is_command_line():
            raise
        sys.stderr.write("\nstopped\n")
        raise SystemExit(INTERRUPTED_EXIT_CODE) from None


def _is_command_line() -> bool:
    """Return whether this process runs ``seqloom`` or ``python -m seqloom``."""
    name, words = sys.argv[0] if sys.argv else "", sys.orig_argv
    # With `python -m`, argv[0] is "-m" until Python has found the module.
    if name == "-m":
        return "-m" in words and words[words.index("-m") + 1 :][:1] == ["seqloom"]
    return Path(name).name == "seqloom"
