"""Tables in memory, whoever's they are: pandas, polars, pyarrow, Hugging Face, a dict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Frame:
    """Columns by their names; a column is fetched when it is asked for."""

    what: str  # name of the table in errors
    names: list[str]
    table: Any

    @classmethod
    def of(cls, table: Any) -> Frame | None:
        """Takes a table; None where the value is none."""
        what = f"the {type(table).__name__}"
        if isinstance(table, Mapping):
            columns: dict[Any, Any] = dict(table)  # pyright: ignore[reportUnknownArgumentType]
            is_table = bool(columns) and all(map(is_column, columns.values()))
            return cls(what, list(map(str, columns)), columns) if is_table else None
        names = _names_of(table)
        has_rows = hasattr(table, "__len__") and hasattr(table, "__getitem__")
        if isinstance(table, type) or not has_rows or names is None or callable(names):
            return None
        return cls(what, [str(name) for name in names], table)

    def column(self, name: str) -> list[Any]:
        """Lists the values of a column; of classes by number, as some have, the names."""
        values = values_of(self.table[self._key(name)])
        features: Any = getattr(self.table, "features", None)
        feature = features.get(name) if isinstance(features, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        classes: list[str] | None = getattr(feature, "names", None)  # pyright: ignore[reportUnknownArgumentType]
        if classes is None:
            return values
        # A number below 0 says there that nothing is known.
        return [None if at is None or at < 0 else classes[at] for at in values]

    def _key(self, name: str) -> Any:
        """Finds what the table itself calls a column: names may be numbers there."""
        is_dict = isinstance(self.table, Mapping)
        keys: Any = self.table if is_dict else _names_of(self.table)
        return next((key for key in keys if str(key) == name), name)

    def index(self) -> list[Any] | None:
        """Lists the names of the rows, where somebody gave them some."""
        return index_of(self.table)


def _names_of(table: Any) -> Any:
    """Gives what an object with columns calls them; None where it has none."""
    return getattr(table, "column_names", getattr(table, "columns", None))


def is_column(value: Any) -> bool:
    """Tells a list, an array or a series from one value."""
    if isinstance(value, (str, bytes)):
        return False
    has_axis = getattr(value, "ndim", 1) > 0 and hasattr(value, "__len__")
    return isinstance(value, Sequence) or (has_axis and not isinstance(value, Mapping))


def values_of(column: Any) -> list[Any]:
    """Lists what an array, a series or any other column holds."""
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, name):
            return getattr(column, name)()
    return list(column)


def index_of(table: Any) -> list[Any] | None:
    """Lists the names that rows of pandas have; None where they are plain numbers."""
    index = getattr(table, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    names: list[Any] = values_of(index)
    return names if any(isinstance(name, str) for name in names) else None


def is_array(value: Any) -> bool:
    """Tells an array or a series, of whatever library."""
    if isinstance(value, (str, bytes, Mapping, np.generic)):
        return False
    has_values = any(hasattr(value, name) for name in ("to_pylist", "to_list", "tolist"))
    return has_values and hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0
