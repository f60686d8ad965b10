"""From an error to one or two lines and an exit code."""

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

from seqloom._signals import STOPPED
from seqloom._text import printable
from seqloom.errors import DataWarning, SeqloomError, WorkerError

BAD_INPUT = 2
# As Rich does, which prints most of our output.
UNWANTED = 1
STREAM = "-"
# The characters of an option's help that a message quotes at most.
_MAX_QUOTED = 120
# Options that take one word, and may be repeated.
_REPEATABLE = ("--label-column", "--covariate-column", "--missing")
# Options that a command does not have, but that a user may expect there.
_ELSEWHERE = {
    ("evaluate", "--out"): (
        "evaluate prints metrics and writes no file. The scores of the records: seqloom "
        "predict MODEL FILES --out scores.tsv; the metrics in a file: seqloom evaluate ... "
        "--json > metrics.json"
    )
}


def guard(app: App, words: Sequence[str], *, with_traceback: bool) -> int:
    """Run a command line and return its exit code; a bug of ours shows its traceback."""
    number = _number_among_others()
    try:
        with _silence(is_needed=number > 0), _print_warnings():
            app(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        failure, message = error, _describe_words(app, error, words)
    except (SeqloomError, OSError, MemoryError) as error:
        # The first process reports that another one has ended.
        if isinstance(error, BrokenPipeError) or (
            isinstance(error, WorkerError) and number
        ):
            # Python would complain at its end about output that is still in the buffer.
            with Path(os.devnull).open("wb") as nothing:
                os.dup2(nothing.fileno(), sys.__stdout__.fileno() if sys.__stdout__ else 1)
            return UNWANTED
        failure, message = error, _describe(error)
    except KeyboardInterrupt as stop:
        if not number:
            _print_stop(str(stop), words)
        return STOPPED
    else:
        return 0
    if with_traceback:
        traceback.print_exception(failure)
    where = f"process {number}: " if number else ""
    sys.stderr.write(f"{where}error: {printable(message, lines=True)}\n")
    return BAD_INPUT


def _number_among_others() -> int:
    """Return this process's number in torchrun; 0 for the first, and without torchrun."""
    several = os.environ.get("WORLD_SIZE", "1") != "1"
    rank = os.environ.get("RANK", "0")
    return int(rank) if several and rank.isdecimal() else 0


@contextmanager
def _silence(*, is_needed: bool) -> Generator[None]:
    """Discard the output of the block in all but the first process."""
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
    """Print a warning for users as a line; warnings for programmers stay as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DataWarning)
        show = warnings.showwarning

        def spell(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            """Print one warning."""
            if issubclass(category, (UserWarning, SeqloomError)):
                sys.stderr.write(f"warning: {printable(str(message))}\n")
            else:
                show(message, category, *where, **more)

        warnings.showwarning = spell
        yield


def _describe(error: BaseException) -> str:
    """Return an error's message; an error of Python's own without its number."""
    is_foreign = not isinstance(error, SeqloomError)
    if isinstance(error, OSError) and is_foreign and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        return printable(text)
    return "\n".join((str(error) or type(error).__name__, *getattr(error, "__notes__", ())))


def _print_stop(message: str, words: Sequence[str]) -> None:
    """Print what is left of a run that was stopped, and how to resume it."""
    sys.stderr.write(f"\n{printable(message or 'stopped', lines=True)}\n")
    if words[:1] == ["train"] and message:
        kept = [word for word in words if word not in {"--overwrite", "--resume"}]
        command = shlex.join(["seqloom", *kept, "--resume"])
        sys.stderr.write(printable(command, lines=True) + "\n")


def _describe_words(app: App, error: CycloptsError, words: Sequence[str]) -> str:
    """Describe in two lines what is wrong with the words, and where options are listed."""
    named: list[str] = []
    command = app
    for word in words:
        if word.startswith("-") or word not in command:
            break
        named, command = [*named, word], command[word]
    fault = (
        _describe_stream(error, words)
        or _describe_repeatable(error, words)
        or _describe_error(command, error, shlex.join(named))
    )
    how = ["--set", "help"] if "--set" in words else ["--help"]
    return f"{fault}\n{shlex.join(['seqloom', *named, *how])} lists the options"


def _describe_stream(error: CycloptsError, words: Sequence[str]) -> str | None:
    """Say that an option takes no standard input, if - follows it."""
    is_unknown = (
        isinstance(error, UnknownOptionError)
        and (error.token.keyword or error.token.value) == STREAM
    )
    lacks_value = isinstance(error, MissingArgumentError) and error.argument is not None
    lacking = error.argument.names if lacks_value and error.argument else ()
    for position in (position for position, word in enumerate(words) if word == STREAM):
        options = [word for word in words[:position] if word.startswith("--")]
        option = options[-1] if options else words[0]
        if is_unknown or option in lacking:
            return (
                f"{option} reads files, not standard input ({STREAM}): save it to a file "
                "first and give its path."
            )
    return None


def _describe_repeatable(error: CycloptsError, words: Sequence[str]) -> str | None:
    """Describe how an option is given several times, if words follow its value."""
    unused = (
        list(error.unused_tokens or ()) if isinstance(error, UnusedCliTokensError) else []
    )
    for position, option in enumerate(words):
        if not unused or option not in _REPEATABLE:
            continue
        rest = itertools.takewhile(lambda word: word[:2] != "--", words[position + 1 :])
        values = list(rest)
        if values[-len(unused) :] == unused:
            each = shlex.join(word for value in values for word in (option, value))
            return (
                f"{option} takes one word: repeat it for several, as in {printable(each)}."
            )
    return None


def _describe_error(command: App, error: CycloptsError, name: str) -> str:
    """Describe an error; words that are too many, as they were typed."""
    if isinstance(error, UnusedCliTokensError):
        words = printable(shlex.join(error.unused_tokens or ()))
        return f"One file too many, or an unknown word: {words}."
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value
        return _ELSEWHERE.get((name, option), str(error))
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        needs = "needs a value behind" if error.keyword else "needs"
        return f"{name} {needs} {_describe_missing(command, error.argument.name)}"
    return str(error)


def _describe_missing(command: App, name: str) -> str:
    """Describe a missing word, and quotes the example of the command's help."""
    arguments = command.assemble_argument_collection(parse_docstring=True)
    text = next((it.parameter.help for it in arguments if it.name == name), None) or ""
    first = re.split(r"[.;] ", " ".join(text.split()))[0].removesuffix(".")[:_MAX_QUOTED]
    hint = " Name files first, then the options." if name in {"FILES", "IN"} else ""
    example = re.search(r"Example: (seqloom .+)", command.help or "")
    quoted = f" Example: {example[1]}" if example else ""
    return f"{name}: {first[:1].lower()}{first[1:]}.{hint}{quoted}"
