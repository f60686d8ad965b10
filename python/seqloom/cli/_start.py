"""Entry point of the program, which prints a single line after Ctrl-C."""

import sys
from collections.abc import Sequence

from seqloom._signals import INTERRUPTED_EXIT_CODE, interrupt_on_fatal_signals


def main(tokens: Sequence[str] | None = None) -> None:
    """Run one command and exit the interpreter.

    Args:
        tokens: Arguments of the command line; by default `sys.argv[1:]`.

    Raises:
        SystemExit: Always raised, with the exit code 0 (success), 2 (invalid input), 130
            (stopped by Ctrl-C) or 128 + n (stopped by signal n).

    Examples:
        >>> main(["inspect", "none.fa"])
        Traceback (most recent call last):
        ...
        SystemExit: 2
    """
    with interrupt_on_fatal_signals() as signals:
        try:
            # Import inside `try`, because Ctrl-C may be pressed while Python loads the
            # commands.
            from seqloom.cli._app import run

            code = run(sys.argv[1:] if tokens is None else tokens)
        except KeyboardInterrupt:
            sys.stderr.write("\nstopped\n")
            code = INTERRUPTED_EXIT_CODE
    if signals and code == INTERRUPTED_EXIT_CODE:
        code = 128 + signals[0]  # exit code of a program that was stopped by a signal
    raise SystemExit(code)
