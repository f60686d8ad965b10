"""Descriptions of datasets in one line, and counts of ambiguous residues."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from seqloom._rust import _native
from seqloom._text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from seqloom._ragged import Ragged

_MAX_CLASSES = 10
# The code for any residue, followed by the other ambiguity codes.
_AMBIGUITY_CODES = {"protein": ("X", "BZJ")}
_NUCLEOTIDE_CODES = ("N", "RYSWKMBDHV")
_CATEGORY_NAMES = {"ambiguous": "other ambiguous", "soft_masked": "soft-masked"}


def describe_items(
    lengths: NDArray[np.int64],
    labels: Any,
    *,
    task: str | None,
    classes: tuple[str, ...],
    noun: str = "sequences",
) -> str:
    """Return a line of text with the number of items, their lengths and their classes."""
    noun = noun.removesuffix("s") if lengths.size == 1 else noun
    head = f"{lengths.size:,} {noun}"
    if lengths.size:
        shortest, longest = int(lengths.min()), int(lengths.max())
        head += f" of {shortest:,}" + (f" to {longest:,}" if longest > shortest else "")
    tail = "" if task is None else _describe_labels(labels, task, classes)
    return f"{head}; {printable(tail)}" if tail else head


def description_html(name: str, text: str, paths: tuple[str, ...]) -> str:
    """Return a dataset as HTML for a notebook: its description and its files."""
    files = [html.escape(path) for path in paths[:_MAX_CLASSES]]
    rest = [f"and {len(paths) - _MAX_CLASSES:,} more"] if len(paths) > _MAX_CLASSES else []
    rows = (("content", html.escape(text)), ("files", "<br>".join([*files, *rest])))
    cells = "".join(f"<tr><th>{head}</th><td>{cell}</td></tr>" for head, cell in rows)
    return f"<table><caption>{html.escape(name)}</caption>{cells}</table>"


class DescribedDataset(Protocol):
    """A dataset that can be shown in a notebook."""

    title: str
    paths: tuple[str, ...]


def dataset_html(dataset: DescribedDataset) -> str:
    """Return a dataset as HTML for a notebook."""
    return description_html(dataset.title, str(dataset), dataset.paths)


def class_counts(labels: Any, task: str | None, classes: tuple[str, ...]) -> dict[str, int]:
    """Return the number of records of each class."""
    if task == "classify":
        numbers = np.bincount(labels, minlength=len(classes))
    elif task == "multilabel":
        numbers = np.asarray(labels).sum(axis=0, dtype=np.int64)
    else:
        return {}
    return dict(zip(classes, numbers.tolist(), strict=True))


def _describe_labels(labels: Any, task: str, classes: tuple[str, ...]) -> str:
    """Return classes with their counts, or values with their range, as text."""
    if task == "regress":
        columns = np.asarray(labels).reshape(-1, len(classes)).T
        parts = [
            f"{name} {column.min():.4g} to {column.max():.4g}"
            for name, column in zip(classes, columns, strict=True)
            if column.size
        ]
    else:
        counts = class_counts(labels, task, classes)
        parts = [f"{name} {n:,}" for name, n in counts.items()]
    rest = len(parts) - _MAX_CLASSES
    return ", ".join(parts[:_MAX_CLASSES]) + (f" and {rest:,} more" if rest > 0 else "")


def composition(parts: Iterable[Ragged], encoder: Any) -> dict[str, int]:
    """Count residues, ambiguity codes and soft-masked residues."""
    alphabet: str | None = getattr(encoder, "alphabet", None)
    counts = np.zeros(256, np.int64)
    for letters in parts:
        counts += _native.count_letters(letters.data)
    totals = {"letters": int(counts.sum())}
    if alphabet in {"dna", "rna", "iupac", "protein"}:
        any_letter, codes = _AMBIGUITY_CODES.get(alphabet, _NUCLEOTIDE_CODES)
        totals[any_letter] = _count_codes(counts, any_letter)
        totals["ambiguous"] = _count_codes(counts, codes)
    return totals | {"soft_masked": int(counts[ord("a") : ord("z") + 1].sum())}


def _count_codes(counts: NDArray[np.int64], codes: str) -> int:
    return int(counts[list((codes + codes.lower()).encode())].sum())


def describe_residue_counts(counts: dict[str, int]) -> str:
    """Return the counts of ambiguous and masked residues as text."""
    total = counts.get("letters", 0)
    parts = [
        f"{_CATEGORY_NAMES.get(name, name)} {count:,} ({100 * count / total:.2f} %)"
        for name, count in counts.items()
        if name != "letters" and count
    ]
    return f"of {total:,} residues: {', '.join(parts)}" if parts else ""
