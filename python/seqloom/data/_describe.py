"""A dataset in one line."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._text import printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHOWN = 10


def describe(
    lengths: NDArray[np.int64],
    labels: Any,
    *,
    task: str | None,
    classes: tuple[str, ...],
    noun: str = "sequences",
) -> str:
    """Writes how many items there are, how long, and of which classes."""
    noun = noun.removesuffix("s") if lengths.size == 1 else noun
    head = f"{lengths.size:,} {noun}{_of(lengths)}"
    tail = "" if task is None else _labels(labels, task, classes)
    return f"{head}; {printable(tail)}" if tail else head


def as_html(name: str, text: str, paths: tuple[str, ...]) -> str:
    """Writes a dataset for a notebook: what it is, and the files it comes from."""
    files = [html.escape(path) for path in paths[:_SHOWN]]
    rest = [f"and {len(paths) - _SHOWN:,} more"] if len(paths) > _SHOWN else []
    rows = (("content", html.escape(text)), ("files", "<br>".join([*files, *rest])))
    cells = "".join(f"<tr><th>{head}</th><td>{cell}</td></tr>" for head, cell in rows)
    return f"<table><caption>{html.escape(name)}</caption>{cells}</table>"


def class_counts(labels: Any, task: str | None, classes: tuple[str, ...]) -> dict[str, int]:
    """Counts how many sequences each class has."""
    if task == "classify":
        numbers = np.bincount(labels, minlength=len(classes))
    elif task == "multilabel":
        numbers = np.asarray(labels).sum(axis=0, dtype=np.int64)
    else:
        return {}
    return dict(zip(classes, numbers.tolist(), strict=True))


def _of(lengths: NDArray[np.int64]) -> str:
    """Writes the lengths."""
    if not lengths.size:
        return ""
    shortest, longest = int(lengths.min()), int(lengths.max())
    return (
        f" of {shortest:,}" if shortest == longest else f" of {shortest:,} to {longest:,}"
    )


def _labels(labels: Any, task: str, classes: tuple[str, ...]) -> str:
    """Writes the classes with their numbers, or the values with their range."""
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
