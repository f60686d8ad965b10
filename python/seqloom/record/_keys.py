"""Key maps: from the paths in a file of another program to the paths in a module."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import numpy as np

from seqloom.errors import ArgumentError, RecordError
from seqloom.record._array import LazyArray, to_numpy

# A new path, or a path and a function that transforms the array (such as
# `np.transpose`); None skips the array.
NewKey: TypeAlias = str | tuple[str, Callable[[Any], Any]] | None
_Table: TypeAlias = Mapping[str, NewKey]
KeyMap: TypeAlias = _Table | Callable[[str], NewKey]


def rename_arrays(record: Mapping[str, Any], keys: KeyMap | None) -> dict[str, Any]:
    """Rename and transform arrays by a key map."""
    if keys is None:
        return dict(record)
    return {
        new: record[old] if change is None else transform_array(old, record[old], change)
        for old, new, change in list_renamed(record, keys)
    }


def list_renamed(
    record: Mapping[str, Any], keys: KeyMap
) -> list[tuple[str, str, Callable[[Any], Any] | None]]:
    """Return old path, new path and transformation of each array to load."""
    is_table = isinstance(keys, Mapping)
    find = _make_path_mapper(record, cast("_Table", keys)) if is_table else keys
    renamed: dict[str, tuple[str, str, Callable[[Any], Any] | None]] = {}
    for old in record:
        key = find(old)
        if isinstance(key, tuple):
            new, change = key[:2]
        elif isinstance(key, str):
            new, change = key, None
        elif key is None:
            continue
        else:
            raise ArgumentError(
                f"keys must return a path, a path and a function, or None, got {key!r} "
                f"for {old!r}"
            )
        if new in renamed:
            raise ArgumentError(f"keys maps {old!r} and another path to {new!r}")
        renamed[new] = old, new, change
    return [*renamed.values()]


def _make_path_mapper(record: Mapping[str, Any], keys: _Table) -> Callable[[str], NewKey]:
    """Return a function that maps a path with the last pattern that matches."""
    patterns: list[tuple[str, re.Pattern[str]]] = []
    for pattern in keys:
        regular = re.compile("(.*)".join(map(re.escape, pattern.split("*"))), re.DOTALL)
        if not any(map(regular.fullmatch, record)):
            raise ArgumentError(
                f"keys has {pattern!r}, which matches no path of the record; its paths "
                f"are {', '.join(list(record)[:8])}"
            )
        patterns.append((pattern, regular))

    def find(old: str) -> NewKey:
        for pattern, regular in reversed(patterns):
            if match := regular.fullmatch(old):
                return _fill_wildcards(pattern, keys[pattern], match)
        return old

    return find


def _fill_wildcards(pattern: str, new: NewKey, match: re.Match[str]) -> NewKey:
    """Replace each ``*`` in the new path by the text that ``*`` matched in the old path."""
    if not isinstance(new, (str, tuple)):
        return new
    path, *change = (new,) if isinstance(new, str) else new
    texts = cast("tuple[str, ...]", match.groups())
    parts = path.split("*")
    if len(parts) - 1 not in {0, len(texts)}:
        raise ArgumentError(
            f"keys maps {pattern!r} to {path!r}; the new path must have as many * as the "
            "old path, or none"
        )
    filled = "".join(
        part + text for part, text in zip(parts, (*texts, ""), strict=len(parts) > 1)
    )
    return (filled, change[0]) if change else filled


def transform_array(path: str, value: Any, change: Callable[[Any], Any]) -> Any:
    """Transform an array; a lazy array is transformed when it is read."""
    if not isinstance(value, LazyArray):
        return _apply_transform(path, to_numpy(path, value), change)
    # Find the shape after the transformation with an array of zeros that needs no
    # memory.
    stand_in = np.broadcast_to(np.zeros((), value.dtype), value.shape)
    shape = _apply_transform(path, stand_in, change).shape
    return LazyArray(
        value.file,
        path,
        shape,
        value.dtype,
        lambda: _apply_transform(path, np.asarray(value), change),
    )


def _apply_transform(path: str, array: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a transformation; convert its errors to RecordError."""
    try:
        return np.asarray(change(array))
    except Exception as error:  # the caller's function may raise any exception
        raise RecordError(f"the function in keys for {path} failed: {error}") from error
