"""From what went wrong to one or two lines and an exit code."""

import os
import shlex
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from cyclopts import App, CycloptsError, MissingArgumentError, UnusedCliTokensError

from seqloom._text import printable
from seqloom.cli._others import number_among_others, silencing_others
from seqloom.cli._signals import STOPPED
from seqloom.errors import SeqloomError, WorkerError

BAD_INPUT = 2
STREAM = "-"
# As Rich does, which prints most of what we print.
UNWANTED = 1
FILES = ("parameter FILES requires", "parameter IN requires")


def guard(app: App, words: Sequence[str], *, with_traceback: bool) -> int:
    """Runs a command line and gives its exit code; a fault of ours shows its trace."""
    try:
        with silencing_others():
            app(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        fault = _name_stream(error, words) or _name_fault(error)
        message = f"{fault}{_hint(error)}\n{_where_help_is(app, words)}"
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


def _name_fault(error: CycloptsError) -> str:
    """Says what is wrong with the words; those that are too many, as they were typed."""
    if isinstance(error, UnusedCliTokensError):
        words = printable(shlex.join(error.unused_tokens or ()))
        return f"One file too many, or an unknown word: {words}."
    return str(error)


def _name_stream(error: CycloptsError, words: Sequence[str]) -> str | None:
    """Says that an option takes no standard input, where - stands behind one."""
    for position in (position for position, word in enumerate(words) if word == STREAM):
        options = [word for word in words[:position] if word.startswith("--")]
        option = options[-1] if options else words[0]
        is_unknown = str(error) == f"Unknown option: {STREAM}."
        if is_unknown or f"parameter {option} " in str(error):
            return (
                f"{option} reads files, not standard input ({STREAM}): save it to a file "
                "first and give its path."
            )
    return None


def _hint(error: CycloptsError) -> str:
    """Says where files stand: after an option that takes several, they are the option's."""
    is_missing = isinstance(error, MissingArgumentError)
    return (
        " Name files first, then the options."
        if is_missing and any(words in str(error) for words in FILES)
        else ""
    )


def _where_help_is(app: App, words: Sequence[str]) -> str:
    """Names the help of the command that was meant, where it is one."""
    named: list[str] = []
    for word in words:
        if word.startswith("-") or word not in app:
            break
        named, app = [*named, word], app[word]
    return f"{shlex.join(['seqloom', *named, '--help'])} lists the options"


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
