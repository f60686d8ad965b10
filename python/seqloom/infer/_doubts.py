"""Warnings of records whose scores may mean nothing, or cannot be told apart."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from seqloom.data._items import letters_of
from seqloom.errors import ArgumentError, DataWarning
from seqloom.infer._loop import check_lengths
from seqloom.io._tally import find_alphabet
from seqloom.models import Examples, Trained

_LOOKED_AT = 1000  # records that tell what sequences are made of


def warn_of_records(trained: Trained, examples: Examples, *, stacklevel: int) -> None:
    """Warns of records unlike those that a model was trained on."""
    if doubt := _describe_alphabet(trained, examples):
        warnings.warn(doubt, DataWarning, stacklevel=stacklevel + 1)
    # Lengths that the model cannot read at all are an error, and no warning before it.
    check_lengths(trained.model, examples)
    known = trained.trained_on
    if known is not None and (doubt := known.describe_strange_lengths(examples)):
        warnings.warn(doubt, DataWarning, stacklevel=stacklevel + 1)


def warn_of_twice(ids: Sequence[str], noun: str, *, stacklevel: int) -> None:
    """Warns of an id that several records have, by which no table can be joined."""
    counts: dict[str, int] = {}
    for name in ids:
        counts[name] = counts.get(name, 0) + 1
    twice = [name for name, count in counts.items() if count > 1]
    if not twice:
        return
    more = f", and {len(twice) - 1:,} more ids occur several times" if twice[1:] else ""
    warnings.warn(
        f"{counts[twice[0]]:,} {noun} have the id {twice[0]!r}{more}: a table of scores "
        "cannot be joined by id; its rows are in the order of the input, or make ids "
        "distinct first",
        DataWarning,
        stacklevel=stacklevel + 1,
    )


def _describe_alphabet(trained: Trained, examples: Any) -> str:
    """Says that sequences look like DNA or RNA, where a model reads proteins."""
    if getattr(trained.encoder, "alphabet", None) != "protein":
        return ""
    letters = letters_of(examples, np.arange(min(len(examples), _LOOKED_AT)))
    found = _guess(b"".join(letters or ()))
    if found not in {"dna", "rna"}:
        return ""
    return (
        f"the sequences look like {found}, but the model was trained on protein: such "
        "scores mean nothing; translate the sequences first"
    )


def _guess(letters: bytes) -> str | None:
    """Tells what letters are of; None where they are too few to tell."""
    try:
        return find_alphabet(np.bincount(np.frombuffer(letters, np.uint8), minlength=256))
    except ArgumentError:
        return None
