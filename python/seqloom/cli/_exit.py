"""From what went wrong to one or two lines and an exit code."""

import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cyclopts import App, CycloptsError

from seqloom._signals import STOPPED
from seqloom._text import printable
from seqloom.cli._fault import name_fault
from seqloom.cli._others import number_among_others, silencing_others
from seqloom.errors import DataWarning, SeqloomError, WorkerError

BAD_INPUT = 2
# As Rich does, which prints most of what we print.
UNWANTED = 1


def guard(app: App, words: Sequence[str], *, with_traceback: bool) -> int:
    """Runs a command line and gives its exit code; a fault of ours shows its trace."""
    try:
        with silencing_others(), spelling_warnings():
            app(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        message = name_fault(app, error, words)
        return _refuse(message, with_traceback=with_traceback)
    except (SeqloomError, OSError, MemoryError) as error:
        is_unwanted = isinstance(error, BrokenPipeError)
        # That another process has ended, the first one says.
        is_unwanted |= isinstance(error, WorkerError) and number_among_others() > 0
        said = _spell(error)
        return _leave() if is_unwanted else _refuse(said, with_traceback=with_traceback)
    except KeyboardInterrupt as stop:
        return _stop(str(stop), words)
    return 0


@contextmanager
def spelling_warnings() -> Generator[None]:
    """Print a warning to the user as a line; warnings to programmers stay as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DataWarning)
        show = warnings.showwarning

        def spell(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            """Prints one warning."""
            if not issubclass(category, (UserWarning, SeqloomError)):
                return show(message, category, *where, **more)
            sys.stderr.write(f"warning: {printable(str(message))}\n")
            return None

        warnings.showwarning = spell
        yield


def _leave() -> int:
    """Ends without a word: whoever read what was printed wants no more."""
    # What is still in the buffer would be complained about at the very end.
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    return UNWANTED


def _refuse(message: str, *, with_traceback: bool) -> int:
    """Prints what is wrong."""
    if with_traceback:
        traceback.print_exc()
    number = number_among_others()
    where = f"process {number}: " if number else ""
    sys.stderr.write(f"{where}error: {printable(message, lines=True)}\n")
    return BAD_INPUT


def _spell(error: BaseException) -> str:
    """Spells an error of Python's own without its number."""
    if (
        isinstance(error, OSError)
        and error.strerror
        and not isinstance(error, SeqloomError)
    ):
        return printable(
            f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        )
    return "\n".join((str(error) or type(error).__name__, *getattr(error, "__notes__", ())))


def _stop(message: str, words: Sequence[str]) -> int:
    """Says what is left of a run that was stopped, and how it goes on."""
    if number_among_others():
        return STOPPED
    sys.stderr.write(f"\n{printable(message or 'stopped', lines=True)}\n")
    if words[:1] == ["train"] and message:
        kept = [word for word in words if word not in {"--overwrite", "--resume"}]
        command = shlex.join(["seqloom", *kept, "--resume"])
        sys.stderr.write(printable(command, lines=True) + "\n")
    return STOPPED
