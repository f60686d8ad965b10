"""Columns of a table by their names."""

from __future__ import annotations

from seqloom.errors import LabelError


def column_position(path: str, names: list[str], name: str) -> int:
    """Finds a column by its name."""
    if names.count(name) > 1:
        raise LabelError(f"{path}: {names.count(name)} columns are named {name!r}")
    if name in names:
        return names.index(name)
    found = ", ".join(filter(None, names))[:80]
    raise LabelError(
        f"{path}: no column {name!r}, the first line names {found or 'nothing'}; "
        "choose with --id-column and --label-column"
    )
