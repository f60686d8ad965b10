"""Checks whether the state in a record fits a module."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import ArgumentError, RecordError
from seqloom.nn._stored import Stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from seqloom.nn._parts import HasParts


def collect_by_path(module: HasParts) -> dict[str, Stored]:
    """Returns parameters and buffers; refuses a path that a record would have twice."""
    parts: dict[str, Stored] = {}
    for path, part in module.named(Stored):
        if path in parts:
            raise ArgumentError(
                f"{type(module).__name__} has two parts with the path {path!r}, of which a "
                "record would keep one; rename one of them (the keys 1 and '1' of a dict, "
                "or a dot in a key, make equal paths)"
            )
        parts[path] = part
    return parts


def require_mapping(record: object) -> None:
    """Refuses a record that is not a mapping."""
    if isinstance(record, (str, bytes, PathLike)):
        raise ArgumentError(
            f"record must be a mapping of arrays by path, got the path of a file, "
            f"{record!r}; read the file first: load_record(sl.record.load(path))"
        )
    if not hasattr(record, "keys"):
        raise ArgumentError(
            "record must be a mapping of arrays by path, such as to_record() returns, got "
            f"a {type(record).__name__}"
        )


def to_numpy(path: str, values: object) -> NDArray[Any]:
    """Returns values as a NumPy array; those of a torch parameter without its gradient."""
    detach = getattr(values, "detach", None)
    try:
        return np.asarray(detach() if callable(detach) else values)
    except ValueError as error:  # rows of different lengths
        raise RecordError(f"the values of {path} are not an array: {error}") from None


def find_misfits(
    parts: Mapping[str, Stored],
    record: Mapping[str, Any],
    values: Mapping[str, NDArray[Any]],
) -> Iterator[str]:
    """Yields a phrase for each path of a record that does not fit."""
    for path, part in parts.items():
        if path not in record:
            yield f"{path} is missing"
        elif values[path].shape != part.shape:
            yield f"{path} has shape {values[path].shape}, expected {part.shape}"
        elif problem := part.misfit(values[path]):
            yield f"{path} {problem}"
    for path in record:
        if path not in parts:
            yield f"{path} is not in the module"
