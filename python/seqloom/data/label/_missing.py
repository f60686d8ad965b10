"""Labels that say nothing: marks such as NA in texts, and Python's None and NaN."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from seqloom._arguments import quote
from seqloom.errors import ArgumentError

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
