"""Validate and convert the arguments of public functions.

Most functions here take the name of the argument, for error messages, as their first
parameter.
"""

import math
import operator
import os
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeGuard

from seqloom.errors import ArgumentError

_MAX_QUOTE_CHARS = 60  # maximum number of characters of a value in an error message
_SEED_LIMIT = 1 << 64


def quote(value: object) -> str:
    """Format a value for an error message, on one line of at most 60 characters."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:
        text = "a number with thousands of digits"  # Python limits the digits of repr
    return text if len(text) <= _MAX_QUOTE_CHARS else text[: _MAX_QUOTE_CHARS - 3] + "..."


def is_dict(value: object) -> TypeGuard[dict[str, Any]]:
    """Return True for a dict; its keys are assumed to be strings, as in JSON."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Return True for a list or a tuple."""
    return isinstance(value, (list, tuple))


def as_integer(
    name: str, value: object, *, least: int = 0, limit: int | None = None
) -> int:
    """Convert an integer to ``int``; raise unless ``least <= value < limit``."""
    # Reject bool, a subclass of int, because True is not a meaningful count.
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        number = None
    if number is None or number < least:
        raise ArgumentError(
            f"{name} must be an integer of at least {least}, got {quote(value)}"
        )
    if limit is not None and number >= limit:
        bound = limit.bit_length() - 1
        raise ArgumentError(f"{name} must be below 2**{bound}, got {quote(value)}")
    return number


def as_seed(value: object, name: str = "seed") -> int:
    """Convert the seed of a random generator to ``int``."""
    return as_integer(name, value, limit=_SEED_LIMIT)


def as_bool(name: str, value: object) -> bool:
    """Convert a Python or NumPy bool, or the integer 1 or 0, to ``bool``."""
    # Reject strings, because bool("no") is True.
    is_flag = isinstance(value, (bool, int)) or type(value).__name__ in {"bool", "bool_"}
    if not (is_flag and value in {0, 1}):
        raise ArgumentError(f"{name} must be True or False, got {quote(value)}")
    return bool(value)


def as_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return the value if it is one of the allowed strings; otherwise raise."""
    if isinstance(value, str) and value in choices:
        return value
    *others, last = [f'"{word}"' for word in choices]
    listed = f"{', '.join(others)} or {last}" if others else last
    raise ArgumentError(f"{name} must be {listed}, got {quote(value)}")


def check_callable(name: str, value: object) -> None:
    """Raise unless the value is callable or None."""
    if value is not None and not callable(value):
        raise ArgumentError(f"{name} must be a function, got {quote(value)}")


def check_has_length(name: str, value: object) -> None:
    """Raise if the value has no length, or is a string."""
    is_text = isinstance(value, (str, bytes))
    if is_text or isinstance(value, type) or not hasattr(value, "__len__"):
        raise ArgumentError(
            f"{name} must be a sequence of items with a length, got {quote(value)}"
        )


def as_number(
    name: str, value: Any, *, expected: str = "a number", least: float = -math.inf
) -> float:
    """Convert a finite number of any numeric type to ``float``; raise for strings."""
    is_number = hasattr(value, "__float__") and not isinstance(value, bool)
    number = float(value) if is_number and not getattr(value, "ndim", 0) else math.nan
    if not (math.isfinite(number) and number >= least):
        raise ArgumentError(f"{name} must be {expected}, got {quote(value)}")
    return number


def as_path(name: str, value: object, *, expected: str = "a path") -> Path:
    """Convert the path of a file or folder, as str, bytes or PathLike, to ``Path``."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise ArgumentError(f"{name} must be {expected}, got {quote(value)}")
    return Path(os.fsdecode(value))  # pyright: ignore[reportUnknownArgumentType]


def as_pattern(name: str, value: Any) -> re.Pattern[str]:
    """Compile a regular expression; return a compiled expression unchanged."""
    text = getattr(value, "pattern", value)
    if not isinstance(text, str):
        raise ArgumentError(
            f"{name} must be a regular expression for text, got {quote(value)}"
        )
    try:
        return re.compile(value)
    except re.error as error:
        raise ArgumentError(f"'{text}' is not a regular expression: {error}") from error


def check_aligned_columns(columns: Mapping[str, Any]) -> None:
    """Raise if values are masked, or if pandas indices have different orders."""
    for name, column in columns.items():
        check_not_masked(name, column)
    indexed = {name: it.index for name, it in columns.items() if _has_index(it)}
    for (name, index), (other, its_index) in combinations(indexed.items(), 2):
        if len(index) == len(its_index) and not _are_compatible_indices(index, its_index):
            raise ArgumentError(
                f"the index of {other} differs from that of {name}, and rows are matched "
                f"by position: pass {other}.loc[{name}.index], or keep the current order "
                "with .to_numpy()"
            )


def check_not_masked(name: str, values: Any) -> None:
    """Raise if a `numpy.ma` array has masked values."""
    if hasattr(values, "filled") and hasattr(values, "mask") and values.mask.any():
        raise ArgumentError(
            f"{name} has {values.mask.sum():,} masked values, which would be used like "
            "valid values; remove these records, or pass values.filled(...)"
        )


def _has_index(value: Any) -> bool:
    """Return True for a pandas Series or DataFrame."""
    return hasattr(value, "iloc") and hasattr(getattr(value, "index", None), "equals")


def _are_compatible_indices(index: Any, other: Any) -> bool:
    """Return True if two pandas indices are equal, or one of them is a default index."""
    if index.equals(other):
        return True
    counts = [it for it in (index, other) if is_default_index(it)]
    # If one index contains the default numbers in another order, its rows were sorted.
    return bool(counts) and set(index) != set(other)


def is_default_index(index: Any) -> bool:
    """Return True for the default index of pandas: 0, 1, 2, ... without a name."""
    is_range = type(index).__name__ == "RangeIndex" and index.name is None
    return is_range and (index.start, index.step) == (0, 1)
