"""Report errors in one or two lines, and return the exit code of the command line."""

import itertools
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from cyclopts import (
    App,
    CycloptsError,
    MissingArgumentError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from seqloom._signals import INTERRUPTED_EXIT_CODE
from seqloom._text import printable
from seqloom.errors import DataWarning, SeqloomError, WorkerError

BAD_INPUT_CODE = 2
BROKEN_PIPE_CODE = 1
STDIN = "-"
# Maximum number of characters of an option's help text in an error message.
_MAX_HELP_CHARACTERS = 120
# Options that take one value each time, but can be repeated.
_REPEATABLE_OPTIONS = ("--label-column", "--covariate-column", "--missing")
# Messages about options that a command does not have, but that users expect.
_UNSUPPORTED_OPTIONS = {
    ("evaluate", "--out"): (
        "evaluate prints metrics and writes no file. To write scores: seqloom predict "
        "MODEL FILES --out scores.tsv. To write metrics: seqloom evaluate ... --json > "
        "metrics.json"
    )
}


def run_and_report(app: App, words: Sequence[str], *, with_traceback: bool) -> int:
    """Run a command and return its exit code; print a traceback only for a bug."""
    number = _torchrun_rank()
    try:
        with _discard_output(is_needed=number > 0), _print_warnings():
            app(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        failure, message = error, _describe_usage_error(app, error, words)
    except (SeqloomError, OSError, MemoryError) as error:
        # Only the process of rank 0 reports that another process has failed.
        if isinstance(error, BrokenPipeError) or (
            isinstance(error, WorkerError) and number
        ):
            # Redirect standard output; otherwise Python would report unwritten output
            # at exit.
            with Path(os.devnull).open("wb") as nothing:
                os.dup2(nothing.fileno(), sys.__stdout__.fileno() if sys.__stdout__ else 1)
            return BROKEN_PIPE_CODE
        failure, message = error, _error_text(error)
    except KeyboardInterrupt as stop:
        if not number:
            _print_interruption(str(stop), words)
        return INTERRUPTED_EXIT_CODE
    else:
        return 0
    if with_traceback:
        traceback.print_exception(failure)
    where = f"process {number}: " if number else ""
    sys.stderr.write(f"{where}error: {printable(message, lines=True)}\n")
    return BAD_INPUT_CODE


def _torchrun_rank() -> int:
    """Return the rank of this process in torchrun, or 0 without torchrun."""
    several = os.environ.get("WORLD_SIZE", "1") != "1"
    rank = os.environ.get("RANK", "0")
    return int(rank) if several and rank.isdecimal() else 0


@contextmanager
def _discard_output(*, is_needed: bool) -> Generator[None]:
    """Discard the output of the block, except in the process of rank 0."""
    if not is_needed:
        yield
        return
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nothing,
        redirect_stdout(nothing),
        redirect_stderr(nothing),
    ):
        yield


@contextmanager
def _print_warnings() -> Generator[None]:
    """Print each warning for users as one line; do not change other warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DataWarning)
        show = warnings.showwarning

        def emit(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            """Print one warning."""
            if issubclass(category, (UserWarning, SeqloomError)):
                sys.stderr.write(f"warning: {printable(str(message))}\n")
            else:
                show(message, category, *where, **more)

        warnings.showwarning = emit
        yield


def _error_text(error: BaseException) -> str:
    """Return the message of an error, without the error number of an OSError."""
    is_foreign = not isinstance(error, SeqloomError)
    if isinstance(error, OSError) and is_foreign and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        return printable(text)
    return "\n".join((str(error) or type(error).__name__, *getattr(error, "__notes__", ())))


def _print_interruption(message: str, words: Sequence[str]) -> None:
    """Print a message about a stopped run, and the command that resumes the run."""
    sys.stderr.write(f"\n{printable(message or 'stopped', lines=True)}\n")
    if words[:1] == ["train"] and message:
        kept = [word for word in words if word not in {"--overwrite", "--resume"}]
        command = shlex.join(["seqloom", *kept, "--resume"])
        sys.stderr.write(printable(command, lines=True) + "\n")


def _describe_usage_error(app: App, error: CycloptsError, words: Sequence[str]) -> str:
    """Return two lines: the error in the command line, and the command for help."""
    named: list[str] = []
    command = app
    for word in words:
        if word.startswith("-") or word not in command:
            break
        named, command = [*named, word], command[word]
    fault = (
        _describe_standard_input(error, words)
        or _describe_repeated_option(error, words)
        or _describe_error(command, error, shlex.join(named))
    )
    how = ["--set", "help"] if "--set" in words else ["--help"]
    return f"{fault}\n{shlex.join(['seqloom', *named, *how])} lists the options"


def _describe_standard_input(error: CycloptsError, words: Sequence[str]) -> str | None:
    """Return an error message if an option got - but cannot read standard input."""
    is_unknown = (
        isinstance(error, UnknownOptionError)
        and (error.token.keyword or error.token.value) == STDIN
    )
    lacks_value = isinstance(error, MissingArgumentError) and error.argument is not None
    lacking = error.argument.names if lacks_value and error.argument else ()
    for position in (position for position, word in enumerate(words) if word == STDIN):
        options = [word for word in words[:position] if word.startswith("--")]
        option = options[-1] if options else words[0]
        if is_unknown or option in lacking:
            return (
                f"{option} reads files, not standard input ({STDIN}): save the input to a "
                "file first and give its path."
            )
    return None


def _describe_repeated_option(error: CycloptsError, words: Sequence[str]) -> str | None:
    """Return an error message if an option that must be repeated has several values."""
    unused = (
        list(error.unused_tokens or ()) if isinstance(error, UnusedCliTokensError) else []
    )
    for position, option in enumerate(words):
        if not unused or option not in _REPEATABLE_OPTIONS:
            continue
        rest = itertools.takewhile(lambda word: word[:2] != "--", words[position + 1 :])
        values = list(rest)
        if values[-len(unused) :] == unused:
            line = shlex.join(word for value in values for word in (option, value))
            line = printable(line)
            return f"{option} takes one value: repeat the option, as in {line}."
    return None


def _describe_error(command: App, error: CycloptsError, name: str) -> str:
    """Convert an error of cyclopts to a message."""
    if isinstance(error, UnusedCliTokensError):
        words = printable(shlex.join(error.unused_tokens or ()))
        return f"Unexpected file or word: {words}."
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value
        return _UNSUPPORTED_OPTIONS.get((name, option), str(error))
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        needs = "needs a value after" if error.keyword else "needs"
        return f"{name} {needs} {_describe_missing_argument(command, error.argument.name)}"
    return str(error)


def _describe_missing_argument(command: App, name: str) -> str:
    """Describe a missing argument, with the example of the command's help."""
    arguments = command.assemble_argument_collection(parse_docstring=True)
    text = next((it.parameter.help for it in arguments if it.name == name), None) or ""
    first = re.split(r"[.;] ", " ".join(text.split()))[0].removesuffix(".")[
        :_MAX_HELP_CHARACTERS
    ]
    hint = " Give files first, then options." if name in {"FILES", "IN"} else ""
    example = re.search(r"Example: (seqloom .+)", command.help or "")
    quoted = f" Example: {example[1]}" if example else ""
    return f"{name}: {first[:1].lower()}{first[1:]}.{hint}{quoted}"
