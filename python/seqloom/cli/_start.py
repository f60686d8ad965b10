"""The program's first moment: from here on Ctrl-C is answered in a line."""

import sys
from collections.abc import Sequence

from seqloom._signals import STOPPED, fatal_signals_interrupting


def main(tokens: Sequence[str] | None = None) -> None:
    """Run one command and leave the interpreter.

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
    with fatal_signals_interrupting() as signals:
        try:
            # Imported here, because Ctrl-C may come while Python still loads the commands.
            from seqloom.cli._app import run

            code = run(sys.argv[1:] if tokens is None else tokens)
        except KeyboardInterrupt:
            sys.stderr.write("\nstopped\n")
            code = STOPPED
    if signals and code == STOPPED:
        code = 128 + signals[0]  # as a shell does for a program that a signal ended
    raise SystemExit(code)
