"""Labels as text and as numbers, and those that say nothing: NA, None and NaN."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import quote
from seqloom.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Cells = tuple[str, ...]
# What stands between several names in one cell.
BETWEEN_NAMES = re.compile(r"[,;|]")
# What pandas reads as missing, lower case where people write it so, and a point.
MISSING = (
    *("", ".", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "-nan"),
    *("NaT", "NULL", "null", "None"),
)
_NOTHING = {"NoneType", "NAType", "NaTType"}
# Booleans as texts of a table, by their folded text: as those of a data frame.
TRUTH = {"false": "0", "true": "1"}


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumn:
    """Labels as numbers, and the rows that have one."""

    task: str | None = None  # None: there are no labels
    classes: Cells = ()  # names of classes, values or labels
    # int64 class indices; float32 values; or float32 zeros and ones
    values: NDArray[Any] | None = None
    rows: NDArray[np.int64] | None = None  # None: all
    unmatched: Cells = ()  # ids of labels without a record
    report: dict[str, Any] = field(default_factory=dict[str, Any])  # what was left out


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


def cells_of(values: list[Any]) -> list[Cells]:
    """Writes labels as text; None and NaN are no label."""
    return [as_cells(value) for value in values]


def as_cells(value: Any) -> Cells:
    """Writes one label as text; several names are one cell, several numbers several."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return (as_cell(value),)
    row: Any = value  # pyright: ignore[reportUnknownVariableType]
    if getattr(row, "ndim", 1) == 0:
        return (as_cell(row.item()),)
    items: list[Any] = list(row)
    if all(isinstance(item, str) for item in items):
        return (_join_names(items),)
    return tuple(map(as_cell, items))


def _join_names(names: list[str]) -> str:
    """Writes several names as one cell, which is parted again at its semicolons."""
    if wrong := next(filter(BETWEEN_NAMES.search, names), None):
        raise LabelError(
            f"label {wrong!r} of {quote(names)} has a comma, a semicolon or a bar, which "
            "stand between labels: write the name without one, or give a column of 0 and 1 "
            "for each label"
        )
    return ";".join(names)


def as_cell(value: Any) -> str:
    """Writes one value as text: truth is 1, and nothing is empty."""
    if is_nothing(value):
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    is_truth = isinstance(value, (bool, np.bool_))
    return ("1" if value else "0") if is_truth else str(value).strip()
