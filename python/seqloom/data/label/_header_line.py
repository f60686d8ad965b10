"""Columns of a table by their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from seqloom._arguments import quote
from seqloom.errors import ArgumentError, LabelError

_CHOOSE = "id_column and label_column (--id-column, --label-column)"


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
    found = ", ".join(filter(None, names))[:80]
    raise LabelError(
        f"{path}: no column {name!r}, the first line names {found or 'nothing'}; "
        f"choose with {hint}"
    )
