"""Convert layers to ONNX: products, convolutions, pooling, norms and recurrent layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from seqloom.export._onnx._builder import unsupported_error
from seqloom.export._onnx._elementwise import operator_writer
from seqloom.tensor._families._windows import to_sizes
from seqloom.tensor._graph import Value

if TYPE_CHECKING:
    from seqloom.export._onnx._builder import Builder, WriteOperation
    from seqloom.tensor._graph import Operation


def _write_linear(b: Builder, operation: Operation) -> list[str]:
    """Convert linear to a product with the transposed weight, plus the bias."""
    x, weight, *rest = operation.args
    turned = b.node("Transpose", [b.get(weight)], perm=[1, 0])
    found = b.node("MatMul", [b.get(x), turned])
    bias = rest[0] if rest else None
    return [found if bias is None else b.node("Add", [found, b.get(bias)])]


def _convolution_attributes(operation: Operation, axes: int) -> dict[str, Any]:
    """Return the attributes of a convolution."""
    options: Any = operation.options
    padding = list(to_sizes(options.get("padding", 0), axes))
    return {
        "strides": list(to_sizes(options.get("stride", 1), axes)),
        "pads": padding * 2,
        "dilations": list(to_sizes(options.get("dilation", 1), axes)),
        "group": options.get("groups", 1),
    }


def _write_convolution(b: Builder, operation: Operation) -> list[str]:
    inputs = [b.get(it) for it in operation.args[:3] if it is not None]
    axes = len(operation.outputs[0].shape) - 2
    return [b.node("Conv", inputs, **_convolution_attributes(operation, axes))]


def _write_transposed(b: Builder, operation: Operation) -> list[str]:
    inputs = [b.get(it) for it in operation.args[:3] if it is not None]
    axes = len(operation.outputs[0].shape) - 2
    more = to_sizes(operation.options.get("output_padding", 0), axes)
    shape = _convolution_attributes(operation, axes)
    return [b.node("ConvTranspose", inputs, output_padding=list(more), **shape)]


def _write_pool(b: Builder, operation: Operation) -> list[str]:
    if operation.options.get("ceil_mode"):
        raise unsupported_error(operation, " with ceil_mode")
    shape = _convolution_attributes(operation, 1)
    del shape["group"]
    kernel = list(to_sizes(operation.options["kernel"], 1))
    return [b.node("MaxPool", [b.get(operation.args[0])], kernel_shape=kernel, **shape)]


def _write_layer_norm(b: Builder, operation: Operation) -> list[str]:
    """Convert layer_norm over the last axis; also return mean and inverse deviation."""
    x: Value = operation.args[0]
    weight, bias = operation.args[1], operation.args[2]
    scale = weight if weight is not None else np.ones(x.shape[-1:], x.dtype)
    inputs = [b.get(x), b.get(scale), *([] if bias is None else [b.get(bias)])]
    eps = operation.options["eps"]
    found = b.multi_node("LayerNormalization", inputs, 3, axis=-1, epsilon=eps)
    last = b.integers([-1])
    return [found[0], *(b.node("Squeeze", [it, last]) for it in found[1:])]


# Indices of PyTorch gates in ONNX order: input, output, forget, cell; update, reset,
# new.
_GATE_ORDERS = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}


class _RecurrentArgs(NamedTuple):
    """Arguments of one recurrent layer in one direction."""

    x: Value
    first: tuple[Value, ...]  # initial states, by name
    w_ih: Value
    w_hh: Value
    biases: tuple[Value | None, Value | None]
    mask: Value | None

    @classmethod
    def of(cls, operation: Operation, states: int) -> Self:
        """Create the arguments from those of the operation."""
        x, *rest = operation.args
        w_ih, w_hh, *more = rest[states:]
        b_ih, b_hh, mask = (*more, None, None, None)[:3]
        return cls(x, tuple(rest[:states]), w_ih, w_hh, (b_ih, b_hh), mask)


def _recurrent_writer(kind: str, states: int) -> WriteOperation:
    """Return the writer of a recurrent layer with one direction and `states` states."""

    def write(b: Builder, operation: Operation) -> list[str]:
        layer = _RecurrentArgs.of(operation, states)
        mask, is_reverse = layer.mask, operation.options.get("reverse", False)
        has_gaps = mask is not None and not _has_no_gaps(b, mask)
        gaps = _InnerPadding.from_mask(b, mask) if mask is not None and has_gaps else None
        options: dict[str, Any] = {"linear_before_reset": 1} if kind == "GRU" else {}
        made = b.multi_node(
            kind,
            _recurrent_inputs(b, kind, layer, gaps=gaps),
            1 + states,
            hidden_size=layer.w_hh.shape[1],
            direction="reverse" if is_reverse else "forward",
            **options,
        )
        # Remove the axis of the direction, and move the axis of records before that of
        # positions.
        rows = b.node("Squeeze", [made[0], b.integers([1])])
        outputs = b.node("Transpose", [rows], perm=[1, 0, 2])
        last = [b.node("Squeeze", [it, b.integers([0])]) for it in made[1:]]
        if gaps is not None:
            first = b.get(layer.first[0])
            outputs = gaps.spread(b, outputs, first, reverse=is_reverse)
        return [outputs, *last]

    return write


def _recurrent_inputs(
    b: Builder, kind: str, layer: _RecurrentArgs, *, gaps: _InnerPadding | None
) -> list[str]:
    """Return the inputs of the ONNX operator of a recurrent layer."""
    x = b.get(layer.x)
    rows = x if gaps is None else gaps.move(b, x, layer.w_ih.shape[1])
    return [
        b.node("Transpose", [rows], perm=[1, 0, 2]),
        _add_direction_axis(b, _reorder_gates(b, kind, layer.w_ih)),
        _add_direction_axis(b, _reorder_gates(b, kind, layer.w_hh)),
        _join_biases(b, kind, layer.biases),
        "" if layer.mask is None else _count_unmasked(b, layer.mask),
        *(_add_direction_axis(b, b.get(state)) for state in layer.first),
    ]


def _add_direction_axis(b: Builder, name: str) -> str:
    """Add an axis of length 1 for the direction, which ONNX requires."""
    return b.node("Unsqueeze", [name, b.integers([0])])


def _reorder_gates(b: Builder, kind: str, weight: Value) -> str:
    """Reorder the gates of a weight or bias from PyTorch order to ONNX order."""
    order = _GATE_ORDERS[kind]
    sizes = {"axis": 0, "num_outputs": len(order)}
    parts = b.multi_node("Split", [b.get(weight)], len(order), **sizes)
    return b.node("Concat", [parts[at] for at in order], axis=0)


def _join_biases(b: Builder, kind: str, biases: tuple[Value | None, Value | None]) -> str:
    """Join the input and recurrent biases; return an empty name if there are no biases."""
    given = [it for it in biases if it is not None]
    if len(given) < len(biases):
        return ""
    joined = b.node("Concat", [_reorder_gates(b, kind, it) for it in given], axis=0)
    return _add_direction_axis(b, joined)


# Operations after which the real positions of a mask are still first in each record.
_PREFIX_OPERATIONS = frozenset(
    {"astype", "asarray", "not_equal", "greater", "logical_not", "equal"}
)


def _has_no_gaps(b: Builder, mask: Value) -> bool:
    """Return whether the real positions of a mask come first in each record."""
    if b.names[mask.number] in {"mask", "lengths"}:
        return True
    made = b.makers.get(mask.number)
    if made is None:
        return False
    if made.name == "less":
        return _is_length_mask(b, made)
    values = [arg for arg in made.args if isinstance(arg, Value)]
    is_plain = made.name in _PREFIX_OPERATIONS and len(values) == 1
    return is_plain and _has_no_gaps(b, values[0])


def _is_length_mask(b: Builder, made: Operation) -> bool:
    """Return whether an operation compares positions (0, 1, ...) with lengths."""
    place, ends = made.args
    counted = b.makers.get(place.number) if isinstance(place, Value) else None
    if counted is None or counted.name != "arange" or counted.args[0] != 0:
        return False
    while isinstance(ends, Value) and (maker := b.makers.get(ends.number)) is not None:
        if maker.name not in {"expand_dims", "astype"}:
            return False
        ends = maker.args[0]
    return isinstance(ends, Value) and b.names[ends.number] == "lengths"


def _count_unmasked(b: Builder, mask: Value) -> str:
    """Count the real positions of each record, ``(batch,)`` of int32."""
    row = [b.get(mask, "int32"), b.integers([1])]
    return b.node("ReduceSum", row, keepdims=0)


@dataclass(frozen=True, slots=True)
class _InnerPadding:
    """A mask with gaps, whose real positions are moved to the front of each record."""

    real_counts: str  # (batch, length), number of real positions up to each position
    is_real: str  # (batch, length), 1 or 0 as int64
    order: str  # (batch, length), indices of real positions, then of padding
    count: str  # (batch, 1), number of real positions

    @classmethod
    def from_mask(cls, b: Builder, mask: Value) -> _InnerPadding:
        """Compute the new index of each position in its record."""
        is_real = b.get(mask, "int64")
        real_counts = b.node("CumSum", [is_real, b.constant(1, "int64")])
        size = b.integers([b.dimensions(mask)[1]])
        ones = b.node("Expand", [b.constant(1, "int64"), b.node("Shape", [is_real])])
        place = b.node("CumSum", [ones, b.constant(1, "int64")])
        # The sort keys of real positions are larger by the length, so real positions
        # are first.
        keys = b.node("Sub", [b.node("Mul", [is_real, size]), place])
        order = b.multi_node("TopK", [keys, size], 2, axis=1, largest=1, sorted=1)[1]
        count = b.node("ReduceSum", [is_real, b.integers([1])], keepdims=1)
        return cls(real_counts, is_real, order, count)

    def move(self, b: Builder, x: str, width: int) -> str:
        """Move real positions of ``(batch, length, width)`` to the front."""
        column = b.node("Unsqueeze", [self.order, b.integers([2])])
        wide = b.node("Expand", [column, b.integers([1, 1, width])])
        return b.node("GatherElements", [x, wide], axis=1)

    def spread(self, b: Builder, states: str, first: str, *, reverse: bool) -> str:
        """Return the state at each position, or `first` before the first real position."""
        size = b.node("Shape", [states], start=2, end=3)
        width = b.node("Concat", [b.integers([1, 1]), size], axis=0)
        row = b.node("Unsqueeze", [first, b.integers([1])])
        place = b.node("Sub", [self.real_counts, b.constant(1, "int64")])
        is_first = b.node("Less", [place, b.constant(0, "int64")])
        if reverse:  # index of the next real position
            place = b.node("Sub", [self.real_counts, self.is_real])
            is_first = b.node("Equal", [place, self.count])
        last = b.node("Sub", [self.count, b.constant(1, "int64")])
        inside = b.node("Min", [place, last])
        inside = b.node("Max", [inside, b.constant(0, "int64")])
        wide = b.node("Expand", [b.node("Unsqueeze", [inside, b.integers([2])]), width])
        found = b.node("GatherElements", [states, wide], axis=1)
        where = b.node("Unsqueeze", [is_first, b.integers([2])])
        return b.node("Where", [where, row, found])


LAYER_WRITERS: dict[str, WriteOperation] = {
    "conv1d": _write_convolution,
    "conv2d": _write_convolution,
    "conv_transpose1d": _write_transposed,
    "conv_transpose2d": _write_transposed,
    "gru": _recurrent_writer("GRU", 1),
    "layer_norm": _write_layer_norm,
    "linear": _write_linear,
    "lstm": _recurrent_writer("LSTM", 2),
    "matmul": operator_writer("MatMul"),
    "max_pool1d": _write_pool,
}
