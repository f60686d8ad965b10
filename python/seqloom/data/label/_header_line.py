"""Columns of a table by their names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from seqloom._arguments import quote
from seqloom.errors import ArgumentError, LabelError

_CHOOSE = "id_column and label_column (--id-column, --label-column)"
_TWO = "one of ids, and one of labels or sequences"
_LONGEST = 80
_ALIKE = 0.7
_SHORTEST = 3


def check_column(option: str, name: Any) -> None:
    """Refuses what is no column's name."""
    if not isinstance(name, str):
        raise ArgumentError(f"{option} must be a column's name, a text, got {quote(name)}")


def column_names(option: str, names: Any) -> tuple[str, ...] | None:
    """Takes one column's name or several; None means that none is chosen."""
    if names is None:
        return None
    is_one = isinstance(names, (str, bytes)) or not isinstance(names, Iterable)
    several: Any = (names,) if is_one else tuple(names)  # pyright: ignore[reportUnknownArgumentType]
    for name in several:
        check_column(option, name)
    return several


def column_position(path: str, names: list[str], name: str, *, hint: str = _CHOOSE) -> int:
    """Finds a column by its name."""
    if names.count(name) > 1:
        raise LabelError(f"{path}: {names.count(name)} columns are named {name!r}")
    if name in names:
        return names.index(name)
    way_out = f"choose with {hint}" if len(names) > 1 else f"it needs two columns: {_TWO}"
    raise LabelError(
        f"{path}: no column {name!r}, the first line names {list_names(names)}"
        f"{name_nearest(name, names)}; {way_out}",
        columns=tuple(names),
    )


def list_names(names: Iterable[str]) -> str:
    """Lists columns for a message, as many as fit a line."""
    return ", ".join(map(repr, filter(None, names)))[:_LONGEST] or "nothing"


def name_nearest(name: str, names: Iterable[str]) -> str:
    """Asks whether a column was meant whose name looks alike."""
    folded = {known.casefold(): known for known in names if known}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=_ALIKE)
    near += [key for key in folded if _is_part(name.casefold(), key)]
    return f" (did you mean {folded[near[0]]!r}?)" if near else ""


def _is_part(first: str, second: str) -> bool:
    """Says whether one name is within the other, and long enough to mean something."""
    short, long = sorted((first, second), key=len)
    return len(short) >= _SHORTEST and short in long
