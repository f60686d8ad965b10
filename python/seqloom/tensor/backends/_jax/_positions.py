"""Checks that indices and labels are in range; jax would clamp, wrap or drop them.

Arrays are looked at before the operation. While jax traces there are no numbers to look at:
what is read is then NaN, and a compiled step looks at the indices that it is given
(`_given_places`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np
from jax.core import Tracer
from numpy.lib.array_utils import normalize_axis_index

from seqloom.errors import ArgumentError, OutOfRangeError

Array = Any


class JaxPositions(NamedTuple):
    """Integers that name positions of an axis."""

    name: str
    array: Array
    size: int
    from_end: bool  # whether -1 is the last

    def require(self, values: Any) -> None:
        """Refuses numbers that name no place."""
        if not values.size:
            return
        low = -self.size if self.from_end else 0
        least, most = values.min(), values.max()
        if least < low or most >= self.size:
            found = least if least < low else most
            raise OutOfRangeError(
                f"{self.name}: expected numbers from {low} to {self.size} (excluded), got "
                f"{found}"
            )


def require_positions(name: str, *args: Any, **options: Any) -> None:
    """Refuses an operation's indices that name no place, unless jax traces it."""
    for position in find_positions(name, args, options):
        if not isinstance(position.array, Tracer):
            position.require(np.asarray(position.array))


def require_bounds(cu_seqlens: Array, total: int, longest: int) -> None:
    """Refuses bounds of sequences that do not rise to the total by `longest` at most."""
    if isinstance(cu_seqlens, Tracer):
        return
    ends = np.asarray(cu_seqlens)
    lengths = np.diff(ends)
    if (
        ends.ndim != 1
        or not ends.size
        or ends[0]
        or ends[-1] != total
        or (lengths < 0).any()
    ):
        raise ArgumentError(
            f"cu_seqlens: expected numbers that rise from 0 to the {total} positions, got "
            f"{ends.tolist()}"
        )
    if max(lengths, default=0) > longest:
        raise ArgumentError(
            f"max_seqlen is {longest}, but a sequence has {max(lengths)} positions"
        )


def find_positions(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> list[JaxPositions]:
    """The indices among an operation's arguments, arrays or values of a graph."""
    find = _FINDERS.get(name)
    return (
        []
        if find is None
        else [JaxPositions(name, *found) for found in find(args, options)]
    )


Found = Iterator[tuple[Array, int, bool]]


def _rows(args: tuple[Any, ...], _options: dict[str, Any]) -> Found:
    """Of ``embedding``."""
    yield args[1], args[0].shape[0], False


def _in_rows(args: tuple[Any, ...], options: dict[str, Any]) -> Found:
    """Of ``embedding_grad``."""
    yield args[1], options["rows"], False


def _labels(args: tuple[Any, ...], _options: dict[str, Any]) -> Found:
    """Of ``cross_entropy``."""
    yield args[1], args[0].shape[-1], False


def _along(args: tuple[Any, ...], options: dict[str, Any]) -> Found:
    """Of what takes an axis and indices along it."""
    x, indices, *rest = args
    axis = options.get("axis", rest[0] if rest else -1)
    sizes = x.shape
    if axis is None:
        yield indices, int(np.prod(sizes)), True
    else:
        yield indices, sizes[normalize_axis_index(axis, len(sizes))], True


def _along_given(args: tuple[Any, ...], options: dict[str, Any]) -> Found:
    """Of what takes values, too, and the axis by name."""
    yield from _along(args[:2], options)


def _key(args: tuple[Any, ...], _options: dict[str, Any]) -> Found:
    """Of ``x[key]``."""
    yield from _in_key(args[1], args[0].shape)


def _in_scatter_key(args: tuple[Any, ...], _options: dict[str, Any]) -> Found:
    """Of ``scatter_index``."""
    yield from _in_key(args[1], args[2])


def _in_key(key: Any, shape: tuple[int, ...]) -> Found:
    """The arrays of integers in a key, each with the length of its axis."""
    parts = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
    if not any(hasattr(part, "shape") for part in parts):
        return
    axis, taken = 0, sum(map(_axes_of, parts))
    for part in parts:
        if hasattr(part, "shape") and part.dtype != bool:
            yield part, shape[axis], True
        axis += len(shape) - taken if part is ... else _axes_of(part)


def _axes_of(part: Any) -> int:
    """How many axes a part of a key takes."""
    if part is None or part is ... or isinstance(part, bool):
        return 0
    is_truths = hasattr(part, "shape") and part.dtype == bool
    return len(part.shape) if is_truths else 1


_FINDERS: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], Found]] = {
    "embedding": _rows,
    "embedding_grad": _in_rows,
    "cross_entropy": _labels,
    "take": _along,
    "take_along_axis": _along,
    "put_along_axis": _along_given,
    "scatter_add": _along_given,
    "index": _key,
    "slice_update": _key,
    "slice_add": _key,
    "scatter_index": _in_scatter_key,
}
