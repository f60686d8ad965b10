"""Read in-memory tables of pandas, polars, pyarrow or Hugging Face, and dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seqloom._arguments import is_default_index
from seqloom.errors import ArgumentError, LabelError
from seqloom.io._records import decode_header

_MAX_LISTED_IDS = 3
_MAX_CHARACTERS = 80
_BOOLEAN_DTYPES = {"bool", "boolean", "bool[pyarrow]"}
_LIST_METHODS = ("to_pylist", "to_list", "tolist")


@dataclass(frozen=True, slots=True)
class Frame:
    """A table with named columns; a column is read when it is accessed."""

    what: str  # name of the table in error messages
    names: list[str]
    table: Any
    features: Any = None  # column types of a Hugging Face dataset

    @classmethod
    def of(cls, table: Any) -> Frame | None:
        """Wrap a table; return None if the value is not a table."""
        what = f"the {type(table).__name__}"
        if isinstance(table, Mapping):
            columns: dict[Any, Any] = dict(table)  # pyright: ignore[reportUnknownArgumentType]
            if not columns or not all(map(is_column, columns.values())):
                return None
            _check_equal_indexes(columns)
            return cls(what, list(map(str, columns)), columns)
        names = _list_column_names(table)
        has_rows = hasattr(table, "__len__") and hasattr(table, "__getitem__")
        if isinstance(table, type) or not has_rows or names is None or callable(names):
            return None
        features = getattr(table, "features", None)
        return cls(what, [str(name) for name in names], table, features)

    def column(self, name: str) -> list[Any]:
        """Return the values of a column; class names for a Hugging Face `ClassLabel`."""
        if self.names.count(name) > 1:
            raise LabelError(f"{self.what}: two columns are named {name!r}; rename one")
        # Data frames may have numbers as column names.
        is_dict = isinstance(self.table, Mapping)
        keys: Any = self.table if is_dict else _list_column_names(self.table)
        column = self.table[next((key for key in keys if str(key) == name), name)]
        has_type = not isinstance(self.features, Mapping) or hasattr(column, "features")
        return to_values(column, None if has_type else self.features.get(name))  # pyright: ignore[reportUnknownMemberType]

    def index(self) -> list[Any] | None:
        """Return the index of the rows, or None for the default index."""
        is_dict = isinstance(self.table, Mapping)
        return frame_index(next(iter(self.table.values())) if is_dict else self.table)

    def ids(self, id_column: str) -> list[Any] | None:
        """Return the ids: the column with the given name, or the index."""
        if id_column in self.names:
            return self.column(id_column)
        name: Any = getattr(getattr(self.table, "index", None), "name", None)
        return self.index() if id_column in {"id", str(name)} else None


def _check_equal_indexes(columns: dict[Any, Any]) -> None:
    series = {name: it for name, it in columns.items() if is_pandas(it)}
    for name, it in series.items():
        first = next(iter(series))
        if not it.index.equals(series[first].index):
            raise LabelError(
                f"the columns {first!r} and {name!r} are series with different indexes, so "
                "their rows differ; pass a data frame (pandas.DataFrame joins series by "
                "their indexes), or arrays in the same order, from .to_numpy()"
            )


def _list_column_names(table: Any) -> Any:
    """Return the names of the columns of an object; None if it has no columns."""
    return getattr(table, "column_names", getattr(table, "columns", None))


def is_column(value: Any) -> bool:
    """Return whether a value is a list, an array or a series."""
    if isinstance(value, (str, bytes)):
        return False
    has_axis = getattr(value, "ndim", 1) > 0 and hasattr(value, "__len__")
    return isinstance(value, Sequence) or (has_axis and not isinstance(value, Mapping))


def to_values(column: Any, feature: Any = None) -> list[Any]:
    """Return the values of an array, a series or another column as a list."""
    name = next((it for it in _LIST_METHODS if hasattr(column, it)), None)
    values: list[Any] = list(column) if name is None else getattr(column, name)()
    feature = getattr(column, "features", feature)
    classes: list[str] | None = getattr(feature, "names", None)
    if classes is None:
        return values
    # In a ClassLabel of Hugging Face, -1 is a missing value.
    return [None if at is None or at < 0 else classes[at] for at in values]


def frame_index(table: Any) -> list[Any] | None:
    """Return the index of a pandas series or data frame; None for the default index."""
    if not is_pandas(table):
        return None
    # A RangeIndex may contain ids, because pandas uses it for evenly spaced integers.
    return None if is_default_index(table.index) else to_values(table.index)


def format_id(key: Any) -> str:
    """Return an id as text; a float such as 7.0 becomes 7."""
    if isinstance(key, bytes):
        return decode_header(key)
    is_whole = isinstance(key, float) and key.is_integer()
    return str(int(key) if is_whole else key)


def is_pandas(table: Any) -> bool:
    """Return whether a value is a pandas series or data frame."""
    index = getattr(table, "index", None)
    return index is not None and not callable(index)


def values_by_id(name: str, values: Any, dataset: Any) -> list[Any] | None:
    """Return a dict or an indexed series in dataset order; None for other types."""
    is_dict = isinstance(values, Mapping)
    if not is_dict and (table := Frame.of(values)) and len(table.names) > 1:
        raise ArgumentError(
            f"{name} must be one value for each record, got {table.what} with the "
            f"columns {', '.join(map(repr, table.names))[:_MAX_CHARACTERS]}: pass "
            "dict(zip(table[id], table[value])) with the names of two columns"
        )
    keys: list[Any] | None = list(values) if is_dict else frame_index(values)  # pyright: ignore[reportUnknownArgumentType]
    if keys is None:
        return None
    in_order = f"if the values are in record order, pass {name}.to_numpy()"
    if not is_dict and not getattr(getattr(dataset, "source", dataset), "has_ids", True):
        raise ArgumentError(
            f"{name} has an index, but the records have no ids to join by: {in_order}"
        )
    ids: list[str] = list(getattr(dataset, "ids", map(str, range(len(dataset)))))
    return _order_by_ids(name, values, keys, ids=ids)


def mask_by_id(name: str, mask: Any, ids: Callable[[], Iterable[str]]) -> Any:
    """Return a boolean series in the order of the ids; return other values unchanged."""
    is_mask = str(getattr(mask, "dtype", None)) in _BOOLEAN_DTYPES
    keys = frame_index(mask) if is_mask else None
    if keys is None:
        return mask
    return np.array(_order_by_ids(name, mask, keys, ids=list(ids())))


def _order_by_ids(name: str, values: Any, keys: list[Any], *, ids: list[str]) -> list[Any]:
    """Return the values of a dict or an indexed series in the order of the ids."""
    is_dict = isinstance(values, Mapping)
    in_order = f"if the values are in record order, pass {name}.to_numpy()"
    texts = list(map(format_id, keys))
    series: Any = values.values() if is_dict else values  # pyright: ignore[reportUnknownVariableType]
    column = to_values(series.iloc[:, 0] if getattr(series, "ndim", 1) > 1 else series)
    if texts == ids:
        return column
    by_id = dict(zip(texts, column, strict=True))
    if len(by_id) < len(texts):
        double = next(text for i, text in enumerate(texts) if text in texts[:i])
        raise ArgumentError(f"{name} has the id {double!r} twice; give each id one value")
    if missing := [text for text in ids if text not in by_id]:
        order = "" if is_dict else f"; {in_order}"
        raise ArgumentError(
            f"{name} has no entry for {len(missing):,} of {len(ids):,} ids: "
            f"{', '.join(map(repr, missing[:_MAX_LISTED_IDS]))}, ...; its ids are "
            f"{', '.join(map(repr, texts[:_MAX_LISTED_IDS]))}, ...{order}"
        )
    return [by_id[text] for text in ids]


def is_array(value: Any) -> bool:
    """Return whether a value is an array or a series of any library."""
    if isinstance(value, (str, bytes, Mapping, np.generic)):
        return False
    has_values = any(hasattr(value, name) for name in (*_LIST_METHODS, "features"))
    return has_values and hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0
