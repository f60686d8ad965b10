"""What is wrong with the words of a command line, and what to write instead."""

import itertools
import re
import shlex
from collections.abc import Sequence

from cyclopts import (
    App,
    CycloptsError,
    MissingArgumentError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from seqloom._text import printable

STREAM = "-"
# A message stays readable with so much of an option's help.
_LONGEST = 120
# Options that take one word, and may be repeated.
_REPEATABLE = ("--label-column", "--covariate-column", "--missing")
# Options that a command does not have, but that somebody may look for there.
_ELSEWHERE = {
    ("evaluate", "--out"): (
        "evaluate prints metrics and writes no file. The scores of the records: seqloom "
        "predict MODEL FILES --out scores.tsv; the metrics in a file: seqloom evaluate ... "
        "--json > metrics.json"
    )
}


def name_fault(app: App, error: CycloptsError, words: Sequence[str]) -> str:
    """Says in two lines what is wrong with the words, and where the options are listed."""
    named = _name_command(app, words)
    fault = (
        _name_stream(error, words)
        or _name_repeatable(error, words)
        or _name_error(app, error, named)
    )
    return f"{fault}\n{shlex.join(['seqloom', *named, '--help'])} lists the options"


def _name_command(app: App, words: Sequence[str]) -> list[str]:
    """Gives the names of the command that was meant, where it is one."""
    named: list[str] = []
    for word in words:
        if word.startswith("-") or word not in app:
            break
        named, app = [*named, word], app[word]
    return named


def _name_stream(error: CycloptsError, words: Sequence[str]) -> str | None:
    """Says that an option takes no standard input, where - stands behind one."""
    for position in (position for position, word in enumerate(words) if word == STREAM):
        options = [word for word in words[:position] if word.startswith("--")]
        option = options[-1] if options else words[0]
        if _is_unknown(error, STREAM) or _lacks_value(error, option):
            return (
                f"{option} reads files, not standard input ({STREAM}): save it to a file "
                "first and give its path."
            )
    return None


def _is_unknown(error: CycloptsError, word: str) -> bool:
    """Returns whether a word was taken for an option that does not exist."""
    return (
        isinstance(error, UnknownOptionError)
        and (error.token.keyword or error.token.value) == word
    )


def _lacks_value(error: CycloptsError, option: str) -> bool:
    """Returns whether no value was found after an option."""
    if not isinstance(error, MissingArgumentError) or error.argument is None:
        return False
    return option in error.argument.names


def _name_repeatable(error: CycloptsError, words: Sequence[str]) -> str | None:
    """Describes how an option is given several times, where words follow its value."""
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


def _name_error(app: App, error: CycloptsError, named: Sequence[str]) -> str:
    """Says what is wrong; words that are too many, as they were typed."""
    if isinstance(error, UnusedCliTokensError):
        words = printable(shlex.join(error.unused_tokens or ()))
        return f"One file too many, or an unknown word: {words}."
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value
        return _ELSEWHERE.get((shlex.join(named), option), str(error))
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        needs = "needs a value behind" if error.keyword else "needs"
        lacking = _name_missing(app, error.argument.name, named)
        return f"{shlex.join(named)} {needs} {lacking}"
    return str(error)


def _name_missing(app: App, name: str, named: Sequence[str]) -> str:
    """Says what a missing word is, and how a whole command line looks."""
    for command in named:
        app = app[command]
    found = app.assemble_argument_collection(parse_docstring=True)
    text = next((it.parameter.help for it in found if it.name == name), None)
    hint = " Name files first, then the options." if name in {"FILES", "IN"} else ""
    return f"{name}: {_shorten(text or '')}.{hint}{_example(app)}"


def _shorten(text: str) -> str:
    """Gives the first part of a help text, as it goes on behind a colon."""
    text = " ".join(text.split())
    whole = re.split(r"[.;] ", text)[0].removesuffix(".")[:_LONGEST]
    return whole[:1].lower() + whole[1:]


def _example(app: App) -> str:
    """Quotes the example of a command's help."""
    match = re.search(r"Example: (seqloom .+)", app.help or "")
    return f" Example: {match[1]}" if match else ""
