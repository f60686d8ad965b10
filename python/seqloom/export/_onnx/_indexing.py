"""Indexing and looking up, in ONNX."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from seqloom.export._onnx._arguments import option
from seqloom.export._onnx._builder import refuse
from seqloom.export._size import Size
from seqloom.tensor._graph import Value

if TYPE_CHECKING:
    from seqloom.export._onnx._builder import Builder
    from seqloom.export._onnx._elementwise import Write
    from seqloom.tensor._graph import Operation

_FAR = (1 << 62) - 1  # beyond the end of any axis


@dataclass(slots=True)
class _Slices:
    """What a key says of the axes of an array, and of those of the result."""

    starts: list[Any] = field(default_factory=list[Any])
    ends: list[Any] = field(default_factory=list[Any])
    axes: list[int] = field(default_factory=list[int])
    steps: list[int] = field(default_factory=list[int])
    dropped: list[int] = field(default_factory=list[int])
    new: list[int] = field(default_factory=list[int])  # in the result
    gathered: list[tuple[int, Value]] = field(default_factory=list[tuple[int, Value]])

    def cut(self, axis: int, part: slice) -> None:
        """Adds a slice, unless it takes all."""
        step = part.step or 1
        if part.start is None and part.stop is None and step == 1:
            return
        first, last = (0, _FAR) if step > 0 else (_FAR, -_FAR)
        self.starts.append(first if part.start is None else part.start)
        self.ends.append(last if part.stop is None else part.stop)
        self.axes.append(axis)
        self.steps.append(step)

    def pick(self, axis: int, place: int | Size) -> None:
        """Adds one position, whose axis the result lacks."""
        end = _next_to(place)
        self.cut(axis, slice(place, end))
        self.dropped.append(axis)


def _next_to(place: int | Size) -> int | Size:
    """Gives the end of a slice of one position; that of the last one is far."""
    if isinstance(place, Size):
        return replace(place, plus=place.plus + 1)
    return _FAR if place == -1 else place + 1


def _write_index(b: Builder, operation: Operation) -> list[str]:
    """Writes an index by slices, positions, new axes, and one array of positions."""
    source: Value = operation.args[0]
    key = operation.args[1]
    parts = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
    found = _read_key(operation, _fill_ellipsis(parts, len(source.shape)))
    x = b.get(source)
    if found.axes:
        rows = (found.starts, found.ends, found.axes, found.steps)
        x = b.node("Slice", [x, *map(b.integers, rows)])
    for axis, places in found.gathered:
        x = b.node("Gather", [x, b.get(places, "int64")], axis=axis)
    if found.dropped:
        x = b.node("Squeeze", [x, b.integers(found.dropped)])
    if found.new:
        x = b.node("Unsqueeze", [x, b.integers(found.new)])
    return [x if x not in b.names.values() else b.node("Identity", [x])]


def _fill_ellipsis(parts: list[Any], count: int) -> list[Any]:
    """Replaces an ellipsis by slices of all, and adds those that a key leaves out."""
    used = sum(part is not None and part is not Ellipsis for part in parts)
    rest = [slice(None)] * (count - used)
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    return [*parts[:at], *rest, *parts[at + 1 :]]


def _read_key(operation: Operation, parts: list[Any]) -> _Slices:
    """Sorts the parts of a key."""
    found, axis, place = _Slices(), 0, 0
    for part in parts:
        if part is None:
            found.new.append(place)
        elif isinstance(part, slice):
            found.cut(axis, cast("Any", part))
        elif isinstance(part, Value):
            found.gathered.append((axis, part))
            _check_gathered(operation, found, parts)
        else:
            found.pick(axis, part)
        axis += part is not None
        place += part is None or isinstance(part, (slice, Value))
    return found


def _check_gathered(operation: Operation, found: _Slices, parts: list[Any]) -> None:
    """Refuses keys whose arrays would be joined with each other or with positions."""
    _, value = found.gathered[-1]
    others = [it for it in parts if not isinstance(it, (slice, Value))]
    is_plain = len(found.gathered) == 1 and len(value.shape) == 1 and not others
    if not is_plain or value.dtype.kind == "b":
        raise refuse(operation, " by several arrays, or by a mask,")


def _write_take(b: Builder, operation: Operation) -> list[str]:
    """Writes take."""
    x, places = (b.get(it) for it in operation.args[:2])
    axis = option(operation, "axis", 2)
    if axis is None:
        x, axis = b.node("Reshape", [x, b.integers([-1])]), 0
    return [b.node("Gather", [x, places], axis=axis)]


def _write_take_along(b: Builder, operation: Operation) -> list[str]:
    """Writes take_along_axis."""
    x, places = (b.get(it) for it in operation.args[:2])
    axis = option(operation, "axis", 2, default=-1)
    return [b.node("GatherElements", [x, places], axis=axis)]


def _write_embedding(b: Builder, operation: Operation) -> list[str]:
    """Writes embedding."""
    return [b.node("Gather", [b.get(it) for it in operation.args[:2]], axis=0)]


TABLE: dict[str, Write] = {
    "embedding": _write_embedding,
    "index": _write_index,
    "take": _write_take,
    "take_along_axis": _write_take_along,
}
