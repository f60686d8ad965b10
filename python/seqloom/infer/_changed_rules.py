"""Rules that state which positions of an operation's result a changed position can reach.

A value of the graph is local if a change of some positions of the network's inputs changes
only some positions of the value. Axis 0 of a local value is the batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from seqloom.tensor._families._windows import to_sizes
from seqloom.tensor._graph import Graph, Operation, Value
from seqloom.tensor._operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

Axes: TypeAlias = dict[int, int]  # the position axis of each local value, by its number


@dataclass(frozen=True, slots=True)
class LocalOperation:
    """An operation whose result at a position depends only on nearby positions.

    Position ``i`` of the result depends on the positions ``i * stride - padding`` to
    ``i * stride - padding + reach`` of the argument. Outside of the argument, `fill` is
    the value. `narrow` is the same operation without padding.
    """

    operation: Operation
    axis: int  # the position axis of the result
    stride: int = 1
    padding: int = 0
    reach: int = 0
    fill: float = 0.0
    narrow: Operation | None = None
    is_padding: bool = False  # the operation only adds positions at both ends

    @property
    def is_aligned(self) -> bool:
        """True if position i of the result depends only on position i of the arguments."""
        return self.narrow is None and not self.is_padding

    @property
    def widens_slices(self) -> bool:
        """True if slices of the result contain the positions of the argument's slices."""
        return self.stride == 1 and 0 <= self.padding <= self.reach

    @property
    def length(self) -> int:
        """The number of positions of the result."""
        return self.operation.outputs[0].shape[self.axis]

    def find_first(self, start: Any) -> Any:
        """Return the first position that depends on the argument from `start`."""
        return -((self.reach - self.padding - start) // self.stride)

    def find_stop(self, stop: Any) -> Any:
        """Return the position after the last that depends on the argument before `stop`."""
        return (stop - 1 + self.padding) // self.stride + 1

    def count_read(self, width: int) -> int:
        """Return how many positions of the argument `width` positions depend on."""
        return (width - 1) * self.stride + 1 + self.reach


@dataclass(frozen=True, slots=True)
class SplitGraph:
    """The operations of a graph, by their dependence on the inputs."""

    fixed: list[Operation]  # the same results for all inputs
    local: list[LocalOperation]
    whole: list[Operation]  # each position depends on all positions


def split_graph(graph: Graph, axes: Axes) -> SplitGraph:
    """Split the operations of a graph; add the axes of local values to `axes`."""
    parts = SplitGraph([], [], [])
    used = graph.uses()
    whole: set[int] = set()
    for operation in graph.operations:
        inputs = {it.number for it in operation.inputs()}
        found = None
        if whole.isdisjoint(inputs) and not any(
            it.number in used for it in operation.outputs[1:]
        ):
            found = _find_rule(operation, axes, graph.constants)
        if found is not None:
            axes[operation.outputs[0].number] = found.axis
            parts.local.append(found)
        elif inputs & (whole | set(axes)):
            whole.update(it.number for it in operation.outputs)
            parts.whole.append(operation)
        else:
            parts.fixed.append(operation)
    return parts


def _find_rule(
    operation: Operation, axes: Axes, constants: dict[int, Any]
) -> LocalOperation | None:
    """Return the rule of an operation; None if it has no local argument or no rule."""
    local = [it for it in operation.inputs() if it.number in axes]
    if not local:
        return None
    found = None
    if operation.name in ELEMENTWISE:
        found = _align_elements(operation, axes)
    elif operation.name == "concat":
        found = _align_concat(operation, axes) or _slide_concat(operation, axes, constants)
    elif operation.name in _RULES and len(local) == 1:
        source = operation.args[1 if operation.name == "embedding" else 0]
        if source is local[0]:
            found = _RULES[operation.name](operation, axes[source.number])
    made = LocalOperation(operation, found) if isinstance(found, int) else found
    is_valid = made is not None and made.axis > 0
    return (
        made if is_valid and operation.outputs[0].shape[:1] == local[0].shape[:1] else None
    )


# Operations that keep the positions -----------------------------------------------------


ELEMENTWISE = frozenset(
    {name for name, line in OPERATIONS.items() if line.kind in {"float", "bool"}}
    | {"stop_gradient", "positive", "isinf", "tan", "log2", "log10", "asarray"}
    | {"to_full_precision", "sinh", "cosh", "atan", "asinh", "trunc", "accumulate"}
)


def _align_elements(operation: Operation, axes: Axes) -> int | None:
    """Return the position axis if all local arguments have the same position axis."""
    result = operation.outputs[0]
    local = [it for it in operation.inputs() if it.number in axes]
    from_end = {len(it.shape) - axes[it.number] for it in local}
    lengths = {it.shape[axes[it.number]] for it in local}
    if len(from_end) > 1 or len(lengths) > 1:
        return None
    others = [it for it in operation.inputs() if it.number not in axes]
    rank = len(result.shape)
    has_batch = any(len(it.shape) == rank and it.shape[0] != 1 for it in others)
    same_rank = all(len(it.shape) == rank for it in local)
    axis = rank - next(iter(from_end))
    is_same = result.shape[axis] in lengths
    return axis if same_rank and is_same and not has_batch else None


def _align_concat(operation: Operation, axes: Axes) -> int | None:
    """Return the position axis of local arguments that are joined along another axis."""
    parts = operation.inputs()
    found = {axes.get(it.number) for it in parts}
    rank = len(operation.outputs[0].shape)
    joined = operation.options.get("axis", 0)
    axis = found.pop()
    if found or axis is None or joined is None or joined % rank in {0, axis}:
        return None
    return axis


def _align_scale_shift(operation: Operation, axis: int) -> int | None:
    """Return the position axis of an array whose channels are scaled, without a mask."""
    has_mask = any(isinstance(it, Value) for it in operation.args[3:])
    return axis if axis > 1 and not has_mask else None


def _align_rows(operation: Operation, axis: int) -> int | None:
    """Return the position axis if an operation combines only elements of the last axis."""
    source = operation.args[0]
    is_local = source.shape[axis] == operation.outputs[0].shape[axis]
    return axis if axis < len(source.shape) - 1 and is_local else None


def _align_axis(operation: Operation, axis: int) -> int | None:
    """Return the position axis of a softmax or reduction along other axes."""
    source = operation.args[0]
    rank = len(source.shape)
    default = -1 if "softmax" in operation.name else None
    along = operation.options.get("axis", default)
    if len(operation.args) > 1 or along is None:
        return None
    reduced = {it % rank for it in np.atleast_1d(along).tolist()}
    if reduced & {0, axis}:
        return None
    if len(operation.outputs[0].shape) == rank:
        return axis
    return axis - sum(it < axis for it in reduced)


def _align_shape(operation: Operation, axis: int) -> int | None:
    """Return the position axis after a reshape that keeps it."""
    source, result = operation.args[0].shape, operation.outputs[0].shape
    before = math.prod(source[:axis])
    for at, size in enumerate(result):
        if size == source[axis] and math.prod(result[:at]) == before and at > 0:
            return at
    return None


def _align_broadcast(operation: Operation, axis: int) -> int | None:
    """Return the position axis of an array that is repeated along other axes."""
    source, result = operation.args[0].shape, operation.outputs[0].shape
    is_same = len(source) == len(result) and source[axis] == result[axis]
    return axis if is_same else None


def _align_permuted(operation: Operation, axis: int) -> int | None:
    """Return the position axis after a permutation of the axes."""
    rank = len(operation.args[0].shape)
    axes = [*operation.args, *operation.options.values()][1]
    return [it % rank for it in axes].index(axis)


def _align_transposed(operation: Operation, axis: int) -> int | None:
    """Return the position axis after an exchange of the last two axes."""
    rank = len(operation.args[0].shape)
    pair = {rank - 1: rank - 2, rank - 2: rank - 1}
    return pair.get(axis, axis)


def _align_table(operation: Operation, axis: int) -> int | None:
    """Return the position axis of an embedding of tokens, or of a one-hot code."""
    is_first = isinstance(operation.args[0], Value) and operation.name == "embedding"
    rows = operation.args[1] if is_first else operation.args[0]
    return axis if operation.outputs[0].shape[axis] == rows.shape[axis] else None


# Operations with windows ----------------------------------------------------------------


def _slide_conv(operation: Operation, axis: int) -> LocalOperation | None:
    """Return the windows of a convolution or pooling along one axis."""
    options = operation.options
    kernel = options.get("kernel") or operation.args[1].shape[2]
    is_odd = options.get("ceil_mode") or options.get("out") is not None
    if len(operation.args[0].shape) != axis + 1 or is_odd:
        return None
    (size,) = to_sizes(kernel, 1)
    (stride,) = to_sizes(options.get("stride", 1), 1)
    (padding,) = to_sizes(options.get("padding", 0), 1)
    (dilation,) = to_sizes(options.get("dilation", 1), 1)
    return LocalOperation(
        operation,
        axis,
        stride,
        padding,
        reach=(size - 1) * dilation,
        fill=-math.inf if operation.name == "max_pool1d" else 0.0,
        narrow=replace(operation, options=options | {"padding": 0}),
    )


def _slide_index(operation: Operation, axis: int) -> LocalOperation | None:
    """Return the windows of a slice with a positive step along the position axis."""
    source, key = operation.args
    parts = list(cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,)))
    if not all(it is Ellipsis or isinstance(it, slice) for it in parts):
        return None
    rank = len(source.shape)
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        parts[at : at + 1] = [slice(None)] * (rank - len(parts) + 1)
    parts += [slice(None)] * (rank - len(parts))
    start, _, step = parts[axis].indices(source.shape[axis])
    if step < 1 or operation.outputs[0].shape[axis] < 1:
        return None
    parts[axis] = slice(None, None, step)
    narrow = replace(operation, args=(source, tuple(parts)))
    return LocalOperation(operation, axis, step, -start, narrow=narrow)


def _slide_pad(operation: Operation, axis: int) -> LocalOperation | None:
    """Return the windows of a padding with one value."""
    source, widths = operation.args[:2]
    pairs = [tuple(it) for it in widths]
    before = pairs[axis][0]
    pairs[axis] = (0, 0)
    narrow = replace(operation, args=(source, tuple(pairs), *operation.args[2:]))
    value = operation.options.get("value", 0)
    if operation.args[2:]:
        return None
    return LocalOperation(operation, axis, 1, before, fill=value, narrow=narrow)


def _slide_concat(
    operation: Operation, axes: Axes, constants: dict[int, Any]
) -> LocalOperation | None:
    """Return the windows of a padding that is written as a concatenation."""
    parts = operation.inputs()
    local = [it for it in parts if it.number in axes]
    rank = len(operation.outputs[0].shape)
    axis = axes[local[0].number]
    fills = {
        float(value)
        for it in parts
        if it not in local
        for value in np.unique(constants.get(it.number, (0.0, 1.0)))
    }
    if len(local) > 1 or len(fills) != 1 or operation.options.get("axis", 0) % rank != axis:
        return None
    before = sum(it.shape[axis] for it in parts[: parts.index(local[0])])
    return LocalOperation(operation, axis, 1, before, fill=fills.pop(), is_padding=True)


_RULES: dict[str, Callable[[Operation, int], int | LocalOperation | None]] = {
    "scale_shift": _align_scale_shift,
    **dict.fromkeys(("layer_norm", "rms_norm", "linear_by_row"), _align_rows),
    **dict.fromkeys(("softmax", "log_softmax", "logsumexp"), _align_axis),
    **dict.fromkeys(("sum", "mean", "max", "min", "var", "std"), _align_axis),
    **dict.fromkeys(("reshape", "expand_dims", "squeeze"), _align_shape),
    "broadcast_to": _align_broadcast,
    "permute_dims": _align_permuted,
    "matrix_transpose": _align_transposed,
    **dict.fromkeys(("embedding", "one_hot"), _align_table),
    **dict.fromkeys(("conv1d", "max_pool1d"), _slide_conv),
    "index": _slide_index,
    "pad": _slide_pad,
}
