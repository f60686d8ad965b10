"""A dataset in one line, and the letters that stand for several others."""

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

_SHOWN = 10
# What stands for any letter, and the other codes that stand for several.
_CODES = {"protein": ("X", "BZJ")}
_OF_NUCLEOTIDES = ("N", "RYSWKMBDHV")
_NAMES = {"ambiguous": "other ambiguous", "soft_masked": "soft-masked"}


def describe(
    lengths: NDArray[np.int64],
    labels: Any,
    *,
    task: str | None,
    classes: tuple[str, ...],
    noun: str = "sequences",
) -> str:
    """Write how many items there are, how long, and of which classes."""
    noun = noun.removesuffix("s") if lengths.size == 1 else noun
    head = f"{lengths.size:,} {noun}"
    if lengths.size:
        shortest, longest = int(lengths.min()), int(lengths.max())
        head += f" of {shortest:,}" + (f" to {longest:,}" if longest > shortest else "")
    tail = "" if task is None else _labels(labels, task, classes)
    return f"{head}; {printable(tail)}" if tail else head


def as_html(name: str, text: str, paths: tuple[str, ...]) -> str:
    """Write a dataset for a notebook: what it is, and the files it comes from."""
    files = [html.escape(path) for path in paths[:_SHOWN]]
    rest = [f"and {len(paths) - _SHOWN:,} more"] if len(paths) > _SHOWN else []
    rows = (("content", html.escape(text)), ("files", "<br>".join([*files, *rest])))
    cells = "".join(f"<tr><th>{head}</th><td>{cell}</td></tr>" for head, cell in rows)
    return f"<table><caption>{html.escape(name)}</caption>{cells}</table>"


class Shown(Protocol):
    """A dataset that a notebook shows."""

    title: str
    paths: tuple[str, ...]


def html_of(dataset: Shown) -> str:
    """Write a dataset for a notebook."""
    return as_html(dataset.title, str(dataset), dataset.paths)


def class_counts(labels: Any, task: str | None, classes: tuple[str, ...]) -> dict[str, int]:
    """Count how many sequences each class has."""
    if task == "classify":
        numbers = np.bincount(labels, minlength=len(classes))
    elif task == "multilabel":
        numbers = np.asarray(labels).sum(axis=0, dtype=np.int64)
    else:
        return {}
    return dict(zip(classes, numbers.tolist(), strict=True))


def _labels(labels: Any, task: str, classes: tuple[str, ...]) -> str:
    """Write the classes with their numbers, or the values with their range."""
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
    rest = len(parts) - _SHOWN
    return ", ".join(parts[:_SHOWN]) + (f" and {rest:,} more" if rest > 0 else "")


def composition(parts: Iterable[Ragged], encoder: Any) -> dict[str, int]:
    """Count letters, those that stand for several others, and lower case."""
    alphabet: str | None = getattr(encoder, "alphabet", None)
    counts = np.zeros(256, np.int64)
    for letters in parts:
        counts += _native.count_letters(letters.data)
    found = {"letters": int(counts.sum())}
    if alphabet in {"dna", "rna", "iupac", "protein"}:
        any_letter, codes = _CODES.get(alphabet, _OF_NUCLEOTIDES)
        found[any_letter] = _count(counts, any_letter)
        found["ambiguous"] = _count(counts, codes)
    return found | {"soft_masked": int(counts[ord("a") : ord("z") + 1].sum())}


def _count(counts: NDArray[np.int64], codes: str) -> int:
    """Count some letters in both cases."""
    return int(counts[list((codes + codes.lower()).encode())].sum())


def describe_letters(found: dict[str, int]) -> str:
    """Write what stands beside the plain letters; nothing where there is nothing."""
    total = found.get("letters", 0)
    parts = [
        f"{_NAMES.get(name, name)} {count:,} ({100 * count / total:.2f} %)"
        for name, count in found.items()
        if name != "letters" and count
    ]
    return f"of {total:,} letters: {', '.join(parts)}" if parts else ""
