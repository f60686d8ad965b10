"""What each target asks of a parser: a value or an error of ours, whatever the bytes."""

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
    import seqloom.train  # noqa: F401  # what is not imported here is not seen
from seqloom.errors import InternalError, SeqloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def run(
    try_one: Callable[[bytes], object],
    seeds: Iterable[bytes],
    mutate: Callable[[bytes, int, int], bytes] | None = None,
) -> None:
    """Fuzz a parser with libFuzzer's arguments, the first of which is a corpus."""
    corpus = Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    warnings.simplefilter("ignore")
    options = {} if mutate is None else {"custom_mutator": mutate}
    # libFuzzer starts itself again, by a shell, when it merges inputs.
    words = [f"{sys.executable} {sys.argv[0]}", *sys.argv[1:]]
    atheris.Setup(words, lambda data: _judge(try_one, data), **options)
    atheris.Fuzz()


def scratch(name: str) -> Path:
    """Return the path of a file or folder of this process, which each input writes anew."""
    folder = Path(tempfile.gettempdir()) / f"seqloom-fuzz-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    return folder / name


def parse(text: bytes) -> object:
    """Read JSON as far as it is some; None for anything else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _judge(try_one: Callable[[bytes], object], data: bytes) -> None:
    """Take an error of ours for an answer, unless it says that the fault is ours."""
    try:
        try_one(data)
    except InternalError:
        raise
    except SeqloomError as error:
        str(error)
