"""Weights of ONNX's recurrent operators, by direction and in torch's order of gates."""

from __future__ import annotations

from typing import NamedTuple

from seqloom.errors import ShapeError
from seqloom.tensor import Tensor, apply

# For each of torch's gates, the place that it has in ONNX: input, output, forget, cell of
# an LSTM there become input, forget, cell, output; update, reset, new of a GRU become
# reset, update, new.
GATES = {"GRU": (1, 0, 2), "LSTM": (0, 2, 3, 1), "RNN": (0,)}
_AXES = 3  # direction, gates * width, in


class Weights(NamedTuple):
    """The weights of one direction, as `seqloom.nn.functional.lstm` takes them."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None
    b_hh: Tensor | None


def split_weights(
    operator: str, w: Tensor, r: Tensor, *, b: Tensor | None
) -> list[Weights]:
    """Splits the weights of a node by direction."""
    gates = len(GATES[operator])
    rows = gates * r.shape[-1]
    shapes = [it.shape for it in (w, r) if it.ndim != _AXES or it.shape[1] != rows]
    if shapes or w.shape[0] != r.shape[0]:
        raise ShapeError(
            f"its weights have the shapes {w.shape} and {r.shape}; expected (directions, "
            f"{gates} * width, in) and (directions, {gates} * width, width)"
        )
    if b is not None and b.shape != (w.shape[0], 2 * rows):
        raise ShapeError(
            f"its bias has the shape {b.shape}; expected (directions, {2 * rows})"
        )
    return [
        _of_direction(operator, w[at], r[at], b=None if b is None else b[at])
        for at in range(w.shape[0])
    ]


def _of_direction(operator: str, w: Tensor, r: Tensor, *, b: Tensor | None) -> Weights:
    """Brings the gates of one direction into torch's order."""
    w, r = reorder(operator, w), reorder(operator, r)
    if b is None:
        return Weights(w, r, None, None)
    rows = b.shape[0] // 2
    return Weights(w, r, reorder(operator, b[:rows]), reorder(operator, b[rows:]))


def reorder(operator: str, x: Tensor) -> Tensor:
    """Brings the gates of a weight or a bias into torch's order."""
    order = GATES[operator]
    width = x.shape[0] // len(order)
    if order == (0,):
        return x
    parts = [x[gate * width : (gate + 1) * width] for gate in order]
    return apply("concat", parts, axis=0)
