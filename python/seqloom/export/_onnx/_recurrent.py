"""Recurrent layers, in ONNX: its order of gates is not torch's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.export._onnx._builder import refuse
from seqloom.tensor._graph import Value

if TYPE_CHECKING:
    from seqloom.export._onnx._builder import Builder
    from seqloom.export._onnx._elementwise import Write
    from seqloom.tensor._graph import Operation

# Positions of ONNX's gates among torch's: input, output, forget, cell; update, reset, new.
_ORDERS = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}
# What keeps a mask one of records, which begin at the first position.
_HARMLESS = frozenset({"astype", "asarray", "not_equal", "greater", "logical_not", "equal"})


def _write(kind: str, states: int) -> Write:
    """Makes the function of one layer in one direction, with so many kinds of states."""

    def write(b: Builder, operation: Operation) -> list[str]:
        x, *rest = operation.args
        first, (w_ih, w_hh, *more) = rest[:states], rest[states:]
        b_ih, b_hh, mask = (*more, None, None, None)[:3]
        width = w_hh.shape[1]
        inputs = [
            b.node("Transpose", [b.get(x)], perm=[1, 0, 2]),
            _stack(b, _order(b, kind, w_ih)),
            _stack(b, _order(b, kind, w_hh)),
            _biases(b, kind, (b_ih, b_hh)),
            _lengths(b, operation, mask),
            *(_stack(b, b.get(state)) for state in first),
        ]
        found = b.several(kind, inputs, 1 + states, **_attributes(operation, kind, width))
        return _unstack(b, found)

    return write


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


def _lengths(b: Builder, operation: Operation, mask: Value | None) -> str:
    """Gives the length of each record, of a mask that begins with its record."""
    if mask is None:
        return ""
    if not _is_of_records(b, mask):
        raise refuse(operation, " with a mask other than that of the records")
    counted = b.node("ReduceSum", [b.get(mask, "int32"), b.integers([1])], keepdims=0)
    return b.cast(counted, "int32")


def _is_of_records(b: Builder, mask: Value) -> bool:
    """Tells whether a mask follows from the inputs mask or lengths alone."""
    name = b.names[mask.number]
    if name in {"mask", "lengths"}:
        return True
    made = b.makers.get(mask.number)
    if made is None:
        return False
    if made.name == "less":
        return _is_of_lengths(b, made)
    values = [arg for arg in made.args if isinstance(arg, Value)]
    return made.name in _HARMLESS and len(values) == 1 and _is_of_records(b, values[0])


def _is_of_lengths(b: Builder, made: Operation) -> bool:
    """Tells whether positions from 0 are compared with lengths."""
    place, ends = made.args
    counted = b.makers.get(place.number) if isinstance(place, Value) else None
    if counted is None or counted.name != "arange" or counted.args[0] != 0:
        return False
    while isinstance(ends, Value) and (maker := b.makers.get(ends.number)) is not None:
        if maker.name not in {"expand_dims", "astype"}:
            return False
        ends = maker.args[0]
    return isinstance(ends, Value) and b.names[ends.number] == "lengths"


def _unstack(b: Builder, found: list[str]) -> list[str]:
    """Takes the axis of directions away, and brings records before positions."""
    states = b.node("Squeeze", [found[0], b.integers([1])])
    outputs = [b.node("Transpose", [states], perm=[1, 0, 2])]
    return outputs + [b.node("Squeeze", [it, b.integers([0])]) for it in found[1:]]


TABLE: dict[str, Write] = {"gru": _write("GRU", 1), "lstm": _write("LSTM", 2)}
