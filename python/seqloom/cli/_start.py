"""The program's first moment: from here on Ctrl-C is answered in a line."""

import sys
from collections.abc import Sequence

from seqloom.cli._signals import STOPPED, exit_code, heeding


def main(tokens: Sequence[str] | None = None) -> None:
    """Runs one command and leaves the interpreter.

    Args:
        tokens: The words of the command line; None: those that the program was called with.

    Raises:
        SystemExit: Always: 0 done, 2 bad input, 130 stopped by Ctrl-C, 128 and the signal's
            number stopped by a signal.

    Examples:
        >>> main(["inspect", "none.fa"])
        Traceback (most recent call last):
        ...
        SystemExit: 2
    """
    with heeding() as signals:
        code = _run(sys.argv[1:] if tokens is None else tokens)
    is_ended = bool(signals) and code == STOPPED
    raise SystemExit(exit_code(signals[0]) if is_ended else code)


def _run(tokens: Sequence[str]) -> int:
    """Runs one command and gives its exit code."""
    try:
        # Imported here, because Ctrl-C may come while Python still loads the commands.
        from seqloom.cli._app import run

        return run(tokens)
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped\n")
        return STOPPED
