"""Labels that say nothing: marks such as NA in texts, and Python's None and NaN."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import quote
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from seqloom.data.label._source import Source

# What pandas reads as missing, lower case where people write it so, and a point.
MISSING = (
    *("", ".", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "-nan"),
    *("NaT", "NULL", "null", "None"),
)
_NOTHING = {"NoneType", "NAType", "NaTType"}


def is_nothing(value: Any) -> bool:
    """Tells None, NaN, and what pandas has for it."""
    if type(value).__name__ in _NOTHING:
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(float(value))  # pyright: ignore[reportUnknownArgumentType]


def marks_of(missing: Any) -> tuple[str, ...]:
    """Takes one text that is no label, or several."""
    if isinstance(missing, (str, int, float)) and not isinstance(missing, bool):
        return (str(missing),)
    if isinstance(missing, bytes) or not isinstance(missing, Iterable):
        raise ArgumentError(
            f"missing must be a text that is no label, or several; got {quote(missing)}: "
            "give () where every text is one"
        )
    return tuple(map(str, missing))  # pyright: ignore[reportUnknownArgumentType]


def drop_missing(
    source: Source,
    missing: Iterable[str],
    *,
    classes: Iterable[str] | None,
    task: str,
) -> Source:
    """Sets labels aside that say nothing; a name among the classes is a class."""
    marks = {"", *marks_of(missing)}
    marks -= set(classes or ())
    is_multilabel = task == "multilabel" or (task == "auto" and source.is_of_lists)
    if is_multilabel and len(source.names) == 1:
        marks.discard("")
    lost = {key: row for key, row in source.cells.items() if not marks.isdisjoint(row)}
    if not lost:
        return source
    cells = {key: row for key, row in source.cells.items() if key not in lost}
    return replace(source, cells=cells, missing={**source.missing, **lost})


def missing_note(source: Source, name: str) -> str:
    """Says why a label that is written somewhere is none, and how to keep it."""
    mark = next((cell for cell in source.missing.get(name, ()) if cell), None)
    if mark is None:
        return ""
    return (
        f" ({source.place(name)}: {mark!r} is read as missing; where it is a class, name "
        "other marks with missing= (--missing))"
    )
