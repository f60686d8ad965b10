"""Convert shape operations, indexing, and the creation of arrays to ONNX."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from seqloom.export._onnx._builder import find_axes, get_option, to_list, unsupported_error
from seqloom.export._size import Size
from seqloom.tensor._graph import Value

if TYPE_CHECKING:
    from seqloom.export._onnx._builder import Builder, WriteOperation
    from seqloom.tensor._graph import Operation


def _write_reshape(b: Builder, operation: Operation) -> list[str]:
    shape = get_option(operation, "shape", 1)
    x = b.get(operation.args[0])
    return [b.node("Reshape", [x, b.integers(to_list(shape))])]


def _write_permute(b: Builder, operation: Operation) -> list[str]:
    axes = get_option(operation, "axes", 1)
    return [b.node("Transpose", [b.get(operation.args[0])], perm=list(axes))]


def _write_transpose(b: Builder, operation: Operation) -> list[str]:
    count = len(operation.outputs[0].shape)
    order = [*range(count - 2), count - 1, count - 2]
    return [b.node("Transpose", [b.get(operation.args[0])], perm=order)]


def _write_broadcast(b: Builder, operation: Operation) -> list[str]:
    shape = list(get_option(operation, "shape", 1))
    return [b.node("Expand", [b.get(operation.args[0]), b.integers(shape)])]


def _axis_writer(kind: str) -> WriteOperation:
    """Return the writer of expand_dims or squeeze."""

    def write(b: Builder, operation: Operation) -> list[str]:
        axis = get_option(operation, "axis", 1, default=0)
        return [b.node(kind, [b.get(operation.args[0]), b.integers(to_list(axis))])]

    return write


def _operand_names(b: Builder, operation: Operation) -> list[str]:
    dtype = operation.outputs[0].dtype
    return [b.get(it, dtype) for it in operation.args[0]]


def _write_concat(b: Builder, operation: Operation) -> list[str]:
    axis, parts = get_option(operation, "axis", 1, default=0), _operand_names(b, operation)
    if axis is None:
        parts = [b.node("Reshape", [it, b.integers([-1])]) for it in parts]
    return [b.node("Concat", parts, axis=axis or 0)]


def _write_stack(b: Builder, operation: Operation) -> list[str]:
    axis = get_option(operation, "axis", 1, default=0)
    count = len(operation.outputs[0].shape)
    at = b.integers([axis % count])
    parts = [b.node("Unsqueeze", [it, at]) for it in _operand_names(b, operation)]
    return [b.node("Concat", parts, axis=axis % count)]


def _write_unstack(b: Builder, operation: Operation) -> list[str]:
    axis, count = get_option(operation, "axis", 1, default=0), len(operation.outputs)
    x, at = b.get(operation.args[0]), b.integers([axis])
    if count == 1:
        return [b.node("Squeeze", [x, at])]
    parts = b.multi_node("Split", [x], count, axis=axis, num_outputs=count)
    return [b.node("Squeeze", [it, at]) for it in parts]


def _write_repeat(b: Builder, operation: Operation) -> list[str]:
    """Convert repeat, which repeats each element."""
    value: Value = operation.args[0]
    times, axis = get_option(operation, "repeats", 1), get_option(operation, "axis", 2)
    x, sizes = b.get(value), b.dimensions(value)
    if axis is None:
        x, sizes, axis = b.node("Reshape", [x, b.integers([-1])]), [-1], 0
    axis %= len(sizes)
    wide = b.node("Unsqueeze", [x, b.integers([axis + 1])])
    tiles = [times if at == axis + 1 else 1 for at in range(len(sizes) + 1)]
    tiled = b.node("Tile", [wide, b.integers(tiles)])
    shape = [-1 if at == axis else size for at, size in enumerate(sizes)]
    return [b.node("Reshape", [tiled, b.integers(shape)])]


def _write_tile(b: Builder, operation: Operation) -> list[str]:
    """Convert tile; the number of repetitions may differ from the number of axes."""
    value: Value = operation.args[0]
    times = to_list(get_option(operation, "repetitions", 1))
    x, rank = b.get(value), len(value.shape)
    if len(times) > rank:
        x = b.node("Unsqueeze", [x, b.integers(list(range(len(times) - rank)))])
    times = [1] * (rank - len(times)) + times
    return [b.node("Tile", [x, b.integers(times)])]


def _write_flip(b: Builder, operation: Operation) -> list[str]:
    """Convert flip to slices with negative steps."""
    axes = find_axes(operation) or list(range(len(operation.outputs[0].shape)))
    ends = [[number] * len(axes) for number in (-1, -(1 << 62))]
    inputs = [*map(b.integers, ends), b.integers(axes), b.integers([-1] * len(axes))]
    return [b.node("Slice", [b.get(operation.args[0]), *inputs])]


_AXIS_END = (1 << 62) - 1  # a slice stop beyond the end of any axis


@dataclass(slots=True)
class _IndexSlices:
    """Slices and indices for the axes of an array, and new axes of the result."""

    starts: list[Any] = field(default_factory=list[Any])
    ends: list[Any] = field(default_factory=list[Any])
    axes: list[int] = field(default_factory=list[int])
    steps: list[int] = field(default_factory=list[int])
    dropped: list[int] = field(default_factory=list[int])
    new: list[int] = field(default_factory=list[int])  # new axes of the result
    gathered: list[tuple[int, Value]] = field(default_factory=list[tuple[int, Value]])

    def add_slice(self, axis: int, part: slice) -> None:
        """Add a slice, unless it selects the whole axis."""
        step = part.step or 1
        if part.start is None and part.stop is None and step == 1:
            return
        first, last = (0, _AXIS_END) if step > 0 else (_AXIS_END, -_AXIS_END)
        self.starts.append(first if part.start is None else part.start)
        self.ends.append(last if part.stop is None else part.stop)
        self.axes.append(axis)
        self.steps.append(step)

    def add_index(self, axis: int, place: int | Size) -> None:
        """Add an integer index, which removes its axis from the result."""
        end = _index_stop(place)
        self.add_slice(axis, slice(place, end))
        self.dropped.append(axis)


def _index_stop(place: int | Size) -> int | Size:
    """Return the stop of a slice that selects one index."""
    if isinstance(place, Size):
        return replace(place, plus=place.plus + 1)
    return _AXIS_END if place == -1 else place + 1


def _write_index(b: Builder, operation: Operation) -> list[str]:
    """Convert indexing by slices, integers, new axes, and at most one index array."""
    source: Value = operation.args[0]
    key = operation.args[1]
    parts = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
    found = _read_index_key(operation, _fill_ellipsis(parts, len(source.shape)))
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
    """Replace an ellipsis by full slices, and add the slices that a key omits."""
    used = sum(part is not None and part is not Ellipsis for part in parts)
    rest = [slice(None)] * (count - used)
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    return [*parts[:at], *rest, *parts[at + 1 :]]


def _read_index_key(operation: Operation, parts: list[Any]) -> _IndexSlices:
    """Convert the elements of an index key to slices and axes."""
    found, axis, place = _IndexSlices(), 0, 0
    for part in parts:
        if part is None:
            found.new.append(place)
        elif isinstance(part, slice):
            found.add_slice(axis, cast("Any", part))
        elif isinstance(part, Value):
            found.gathered.append((axis, part))
            _check_arrays(operation, found, parts)
        else:
            found.add_index(axis, part)
        axis += part is not None
        place += part is None or isinstance(part, (slice, Value))
    return found


def _check_arrays(operation: Operation, found: _IndexSlices, parts: list[Any]) -> None:
    """Raise if a key has several index arrays, or an index array and integers."""
    _, value = found.gathered[-1]
    others = [it for it in parts if not isinstance(it, (slice, Value))]
    is_plain = len(found.gathered) == 1 and len(value.shape) == 1 and not others
    if not is_plain or value.dtype.kind == "b":
        raise unsupported_error(operation, " by several arrays, or by a mask,")


def _write_take(b: Builder, operation: Operation) -> list[str]:
    x, places = (b.get(it) for it in operation.args[:2])
    axis = get_option(operation, "axis", 2)
    if axis is None:
        x, axis = b.node("Reshape", [x, b.integers([-1])]), 0
    return [b.node("Gather", [x, places], axis=axis)]


def _write_take_along_axis(b: Builder, operation: Operation) -> list[str]:
    x, places = (b.get(it) for it in operation.args[:2])
    axis = get_option(operation, "axis", 2, default=-1)
    return [b.node("GatherElements", [x, places], axis=axis)]


def _write_embedding(b: Builder, operation: Operation) -> list[str]:
    return [b.node("Gather", [b.get(it) for it in operation.args[:2]], axis=0)]


def _write_range(b: Builder, operation: Operation) -> list[str]:
    """Convert arange to a range of 64-bit integers or floats."""
    dtype = operation.outputs[0].dtype
    is_whole = all(not isinstance(it, float) for it in operation.args)
    wide = "int64" if is_whole else dtype
    found = b.node("Range", [b.get(it, wide) for it in operation.args])
    return [found if wide == str(dtype) else b.cast(found, dtype)]


def _fill_writer(value: int | None) -> WriteOperation:
    """Return the writer of zeros, ones or full."""

    def write(b: Builder, operation: Operation) -> list[str]:
        shape, *rest = operation.args
        filled: Any = rest[0] if value is None else value
        dtype = operation.outputs[0].dtype
        one = b.get(filled, dtype)
        return [b.node("Expand", [one, b.integers(list(shape))]) if shape else one]

    return write


def _write_eye(b: Builder, operation: Operation) -> list[str]:
    dtype = operation.outputs[0].dtype
    if dtype.kind == "b":
        raise unsupported_error(operation, " of booleans")
    zero = b.constant(0, dtype)
    wide = b.node("Expand", [zero, b.integers(list(operation.args))])
    return [b.node("EyeLike", [wide], k=operation.options.get("k", 0))]


SHAPE_WRITERS: dict[str, WriteOperation] = {
    "arange": _write_range,
    "broadcast_to": _write_broadcast,
    "concat": _write_concat,
    "embedding": _write_embedding,
    "expand_dims": _axis_writer("Unsqueeze"),
    "eye": _write_eye,
    "flip": _write_flip,
    "full": _fill_writer(None),
    "index": _write_index,
    "matrix_transpose": _write_transpose,
    "ones": _fill_writer(1),
    "permute_dims": _write_permute,
    "repeat": _write_repeat,
    "reshape": _write_reshape,
    "squeeze": _axis_writer("Squeeze"),
    "stack": _write_stack,
    "take": _write_take,
    "take_along_axis": _write_take_along_axis,
    "tile": _write_tile,
    "unstack": _write_unstack,
    "zeros": _fill_writer(0),
}
