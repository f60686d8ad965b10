"""Run a fuzzing target: a parser that must return a value or raise a SeqloomError."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import atheris

with atheris.instrument_imports(include=["seqloom"]):
    import seqloom.train  # noqa: F401  # only modules imported here are instrumented
from seqloom.errors import InternalError, SeqloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def run(
    try_one: Callable[[bytes], object],
    seeds: Iterable[bytes],
    mutate: Callable[[bytes, int, int], bytes] | None = None,
) -> None:
    """Fuzz a parser with the arguments of libFuzzer; the first argument is the corpus."""
    corpus = Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    warnings.simplefilter("ignore")
    options = {} if mutate is None else {"custom_mutator": mutate}
    # To merge inputs, libFuzzer restarts this command in a shell.
    arguments = [f"{sys.executable} {sys.argv[0]}", *sys.argv[1:]]
    atheris.Setup(arguments, lambda data: _check(try_one, data), **options)
    atheris.Fuzz()


def scratch(name: str) -> Path:
    """Return the path of a temporary file or folder; each input overwrites it."""
    folder = Path(tempfile.gettempdir()) / f"seqloom-fuzz-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    return folder / name


def parse(text: bytes) -> object:
    """Parse JSON; return None if the text is not valid JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _check(try_one: Callable[[bytes], object], data: bytes) -> None:
    """Run the parser; an InternalError, or an exception of another library, is a bug."""
    try:
        try_one(data)
    except InternalError:
        raise
    except SeqloomError as error:
        str(error)
