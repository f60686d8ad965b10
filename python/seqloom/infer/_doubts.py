"""Warnings of records whose scores may mean nothing, cannot be told apart, or flatter."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data._items import letters_of
from seqloom.errors import DataWarning
from seqloom.infer._loop import check_lengths
from seqloom.infer._scores import measure_scores
from seqloom.io._tally import count_letters, find_alphabet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.infer._scores import Scores
    from seqloom.models import Examples, Task, Trained

_LOOKED_AT = 1000  # records that tell what sequences are made of
_CODES = "RYSWKMBDHV"  # each stands for several bases
_MOST_CODES = 0.25  # a larger share of codes is no DNA


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


def describe_known(
    task: Task,
    labels: NDArray[Any],
    scores: Scores,
    *,
    known: NDArray[np.bool_] | None,
    what: str = "records",
) -> str:
    """Says how many records have taught the model, and how it does on the others."""
    if known is None or not known.any():
        return ""
    text = f"{known.sum():,} of {known.size:,} {what} have the letters of a training record"
    if known.all():
        return f"{text}: give records that the model has not seen"
    name, value = next(iter(measure_scores(task, labels, scores).items()))
    other = measure_scores(task, labels, scores, rows=~known)[name]
    name = name.replace("_", " ")
    return f"{text}: {name} {other:.4f} on the other {(~known).sum():,}, {value:.4f} on all"


def _describe_alphabet(trained: Trained, examples: Any) -> str:
    """Says that sequences look like DNA, RNA or protein where a model reads another."""
    alphabet = getattr(trained.encoder, "alphabet", None)
    if alphabet not in {"dna", "rna", "protein"}:
        return ""
    letters = letters_of(examples, np.arange(min(len(examples), _LOOKED_AT)))
    joined = np.frombuffer(b"".join(letters or ()), np.uint8)
    counts = np.bincount(joined, minlength=256)
    return (_describe_bases if alphabet == "protein" else _describe_codes)(counts, alphabet)


def _describe_bases(counts: NDArray[np.int64], alphabet: str) -> str:
    """Says that letters look like DNA or RNA."""
    found = find_alphabet(counts)
    if found.name not in {"dna", "rna"} or found.strange:
        return ""
    return (
        f"the sequences look like {found.name}, but the model was trained on {alphabet}: "
        "such scores mean nothing; translate the sequences first"
    )


def _describe_codes(counts: NDArray[np.int64], alphabet: str) -> str:
    """Says that letters look like protein: too many of them stand for several bases."""
    met = count_letters(counts)
    codes, total = sum(met.get(code, 0) for code in _CODES), sum(met.values())
    if codes <= _MOST_CODES * total:
        return ""
    return (
        f"the sequences look like protein ({codes:,} of {total:,} letters are of {_CODES})"
        f", but the model was trained on {alphabet}: such scores mean nothing"
    )
