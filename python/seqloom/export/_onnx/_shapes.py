"""Changes of shape, in ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.export._onnx._arguments import as_list, axes_of, option

if TYPE_CHECKING:
    from seqloom.export._onnx._builder import Builder
    from seqloom.export._onnx._elementwise import Write
    from seqloom.tensor._graph import Operation, Value


def _write_reshape(b: Builder, operation: Operation) -> list[str]:
    """Writes reshape."""
    shape = option(operation, "shape", 1)
    x = b.get(operation.args[0])
    return [b.node("Reshape", [x, b.integers(as_list(shape))])]


def _write_permute(b: Builder, operation: Operation) -> list[str]:
    """Writes permute_dims."""
    axes = option(operation, "axes", 1)
    return [b.node("Transpose", [b.get(operation.args[0])], perm=list(axes))]


def _write_transpose(b: Builder, operation: Operation) -> list[str]:
    """Writes matrix_transpose."""
    count = len(operation.outputs[0].shape)
    order = [*range(count - 2), count - 1, count - 2]
    return [b.node("Transpose", [b.get(operation.args[0])], perm=order)]


def _write_broadcast(b: Builder, operation: Operation) -> list[str]:
    """Writes broadcast_to."""
    shape = list(option(operation, "shape", 1))
    return [b.node("Expand", [b.get(operation.args[0]), b.integers(shape)])]


def _write_axis(kind: str) -> Write:
    """Makes the function of expand_dims or squeeze."""

    def write(b: Builder, operation: Operation) -> list[str]:
        axis = option(operation, "axis", 1, default=0)
        return [b.node(kind, [b.get(operation.args[0]), b.integers(as_list(axis))])]

    return write


def _parts(b: Builder, operation: Operation) -> list[str]:
    """Gives the names of the arrays that are joined."""
    dtype = operation.outputs[0].dtype
    return [b.get(it, dtype) for it in operation.args[0]]


def _write_concat(b: Builder, operation: Operation) -> list[str]:
    """Writes concat."""
    axis, parts = option(operation, "axis", 1, default=0), _parts(b, operation)
    if axis is None:
        parts = [b.node("Reshape", [it, b.integers([-1])]) for it in parts]
    return [b.node("Concat", parts, axis=axis or 0)]


def _write_stack(b: Builder, operation: Operation) -> list[str]:
    """Writes stack."""
    axis = option(operation, "axis", 1, default=0)
    count = len(operation.outputs[0].shape)
    at = b.integers([axis % count])
    parts = [b.node("Unsqueeze", [it, at]) for it in _parts(b, operation)]
    return [b.node("Concat", parts, axis=axis % count)]


def _write_unstack(b: Builder, operation: Operation) -> list[str]:
    """Writes unstack."""
    axis, count = option(operation, "axis", 1, default=0), len(operation.outputs)
    x, at = b.get(operation.args[0]), b.integers([axis])
    if count == 1:
        return [b.node("Squeeze", [x, at])]
    parts = b.several("Split", [x], count, axis=axis, num_outputs=count)
    return [b.node("Squeeze", [it, at]) for it in parts]


def _write_repeat(b: Builder, operation: Operation) -> list[str]:
    """Writes repeat of each element, so many times."""
    value: Value = operation.args[0]
    times, axis = option(operation, "repeats", 1), option(operation, "axis", 2)
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
    """Writes tile; there may be more repetitions than axes, or fewer."""
    value: Value = operation.args[0]
    times = as_list(option(operation, "repetitions", 1))
    x, rank = b.get(value), len(value.shape)
    if len(times) > rank:
        x = b.node("Unsqueeze", [x, b.integers(list(range(len(times) - rank)))])
    times = [1] * (rank - len(times)) + times
    return [b.node("Tile", [x, b.integers(times)])]


def _write_flip(b: Builder, operation: Operation) -> list[str]:
    """Writes flip by slices that go back."""
    axes = axes_of(operation) or list(range(len(operation.outputs[0].shape)))
    ends = [[number] * len(axes) for number in (-1, -(1 << 62))]
    inputs = [*map(b.integers, ends), b.integers(axes), b.integers([-1] * len(axes))]
    return [b.node("Slice", [b.get(operation.args[0]), *inputs])]


TABLE: dict[str, Write] = {
    "broadcast_to": _write_broadcast,
    "concat": _write_concat,
    "expand_dims": _write_axis("Unsqueeze"),
    "flip": _write_flip,
    "matrix_transpose": _write_transpose,
    "permute_dims": _write_permute,
    "repeat": _write_repeat,
    "reshape": _write_reshape,
    "squeeze": _write_axis("Squeeze"),
    "stack": _write_stack,
    "tile": _write_tile,
    "unstack": _write_unstack,
}
