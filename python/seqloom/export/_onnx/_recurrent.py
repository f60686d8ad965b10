"""Recurrent layers, in ONNX: its order of gates is not torch's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from seqloom.export._onnx._masks import Gaps, begins_with_records, count_real

if TYPE_CHECKING:
    from seqloom.export._onnx._builder import Builder
    from seqloom.export._onnx._elementwise import Write
    from seqloom.tensor._graph import Operation, Value

# Positions of ONNX's gates among torch's: input, output, forget, cell; update, reset, new.
_ORDERS = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}


class _Layer(NamedTuple):
    """What one layer in one direction reads."""

    x: Value
    first: tuple[Value, ...]  # states
    w_ih: Value
    w_hh: Value
    biases: tuple[Value | None, Value | None]
    mask: Value | None

    @classmethod
    def of(cls, operation: Operation, states: int) -> Self:
        """Takes the arguments of an operation apart."""
        x, *rest = operation.args
        w_ih, w_hh, *more = rest[states:]
        b_ih, b_hh, mask = (*more, None, None, None)[:3]
        return cls(x, tuple(rest[:states]), w_ih, w_hh, (b_ih, b_hh), mask)


def _write(kind: str, states: int) -> Write:
    """Makes the function of one layer in one direction, with so many kinds of states."""

    def write(b: Builder, operation: Operation) -> list[str]:
        layer = _Layer.of(operation, states)
        gaps = _find_gaps(b, layer.mask)
        inputs = _inputs(b, kind, layer, gaps=gaps)
        shape = _attributes(operation, kind, layer.w_hh.shape[1])
        found = _unstack(b, b.several(kind, inputs, 1 + states, **shape))
        if gaps is None:
            return found
        is_reverse = shape["direction"] == "reverse"
        first = b.get(layer.first[0])
        return [gaps.spread(b, found[0], first, reverse=is_reverse), *found[1:]]

    return write


def _find_gaps(b: Builder, mask: Value | None) -> Gaps | None:
    """Describes a mask that may have gaps."""
    if mask is None or begins_with_records(b, mask):
        return None
    return Gaps.of(b, mask)


def _inputs(b: Builder, kind: str, layer: _Layer, *, gaps: Gaps | None) -> list[str]:
    """Gives the inputs of ONNX's operator."""
    x = b.get(layer.x)
    rows = x if gaps is None else gaps.move(b, x, layer.w_ih.shape[1])
    return [
        b.node("Transpose", [rows], perm=[1, 0, 2]),
        _stack(b, _order(b, kind, layer.w_ih)),
        _stack(b, _order(b, kind, layer.w_hh)),
        _biases(b, kind, layer.biases),
        "" if layer.mask is None else count_real(b, layer.mask),
        *(_stack(b, b.get(state)) for state in layer.first),
    ]


def _attributes(operation: Operation, kind: str, width: int) -> dict[str, Any]:
    """Gives the attributes of a layer."""
    is_reverse = operation.options.get("reverse", False)
    found: dict[str, Any] = {"hidden_size": width}
    found["direction"] = "reverse" if is_reverse else "forward"
    return found | ({"linear_before_reset": 1} if kind == "GRU" else {})


def _stack(b: Builder, name: str) -> str:
    """Adds the axis of directions."""
    return b.node("Unsqueeze", [name, b.integers([0])])


def _order(b: Builder, kind: str, weight: Value) -> str:
    """Brings the gates of a weight or bias into ONNX's order."""
    order = _ORDERS[kind]
    parts = b.several("Split", [b.get(weight)], len(order), axis=0, num_outputs=len(order))
    return b.node("Concat", [parts[at] for at in order], axis=0)


def _biases(b: Builder, kind: str, biases: tuple[Value | None, Value | None]) -> str:
    """Joins both biases; none is an input that is left out."""
    given = [it for it in biases if it is not None]
    if len(given) < len(biases):
        return ""
    joined = b.node("Concat", [_order(b, kind, it) for it in given], axis=0)
    return _stack(b, joined)


def _unstack(b: Builder, found: list[str]) -> list[str]:
    """Takes the axis of directions away, and brings records before positions."""
    states = b.node("Squeeze", [found[0], b.integers([1])])
    outputs = [b.node("Transpose", [states], perm=[1, 0, 2])]
    return outputs + [b.node("Squeeze", [it, b.integers([0])]) for it in found[1:]]


TABLE: dict[str, Write] = {"gru": _write("GRU", 1), "lstm": _write("LSTM", 2)}
