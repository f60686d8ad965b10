"""Matrix products, and functions of layers and optimisers."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqloom.tensor._compile._shapes._call import (
    Call,
    Kind,
    Rule,
    Shape,
    find_dtype,
    kind_of,
    like_first,
    promote,
)
from seqloom.tensor._graph import Value, values_in
from seqloom.tensor._index import broadcast_shapes

_FULL = np.dtype(np.float32)


def _matmul(call: Call) -> Kind:
    """Rows of the left, columns of the right; the axes before them broadcast."""
    left, right = call.args[0].shape, call.args[1].shape
    dtype = find_dtype(call._replace(args=call.args[:2]))
    _require_fit(bool(left and right) and left[-1] == right[-2:][0], left, right)
    if len(right) == 1:
        return left[:-1], dtype
    if len(left) == 1:
        return (*right[:-2], right[-1]), dtype
    return (*broadcast_shapes(left[:-2], right[:-2]), left[-2], right[-1]), dtype


def _linear(call: Call) -> Kind:
    """The rows of the weight instead of the last axis."""
    x, weight = call.args[:2]
    _require_fit(x.shape[-1] == weight.shape[1], x.shape, weight.shape)
    dtype = find_dtype(Call(call.target, "add", (x, weight), {}))
    return (*x.shape[:-1], weight.shape[0]), dtype


def _require_fit(fits: bool, left: Shape, right: Shape) -> None:  # noqa: FBT001
    """Refuses factors that do not fit, as the product itself does."""
    if not fits:
        raise ValueError(f"the shapes {left} and {right} do not fit together")


def _tensordot(call: Call) -> Kind:
    """The axes that are not summed over, those of the left first."""
    x, y = call.args[:2]
    axes = call.options.get("axes", call.get(2, "axes", 2))
    if isinstance(axes, int):
        axes = list(range(-axes, 0)), list(range(axes))
    left, right = (_drop(v.shape, gone) for v, gone in zip((x, y), axes, strict=True))
    return (*left, *right), promote(call.target, x, y)


def _drop(shape: Shape, axes: Any) -> list[int]:
    """A shape without some axes."""
    gone = {axis % len(shape) for axis in axes}
    return [size for axis, size in enumerate(shape) if axis not in gone]


def _statistic(x: Value) -> np.dtype[Any]:
    """The dtype of a statistic: at least float32."""
    return x.dtype if x.dtype.itemsize >= _FULL.itemsize else _FULL


def _attention(call: Call) -> list[Kind]:
    """The output, and the logsumexp of each row of scores."""
    q, _, v = call.args[:3]
    rows = q.shape[:-1]
    if call.name == "attention_varlen":  # sequences end to end: (total, heads, width)
        rows = (q.shape[1], q.shape[0])
    return [((*q.shape[:-1], v.shape[-1]), q.dtype), (rows, _statistic(q))]


def _gru(call: Call) -> list[Kind]:
    """Every state, the last one, and what the kernel keeps."""
    return _recurrent(call, call.args[1:2], 4)


def _lstm(call: Call) -> list[Kind]:
    """Every state, the last one, the last cell, and what the kernel keeps."""
    return _recurrent(call, call.args[1:3], 5)


def _recurrent(call: Call, firsts: tuple[Value, ...], kept: int) -> list[Kind]:
    """The results of a recurrent layer, which keeps so many numbers for each of a state."""
    x, h0, w_ih, w_hh = (*call.args[:2], *call.args[1 + len(firsts) :][:2])
    width = h0.shape[-1]
    _require_fit(x.shape[-1] == w_ih.shape[1], x.shape, w_ih.shape)
    _require_fit(w_hh.shape[1] == width, h0.shape, w_hh.shape)
    each = x.shape[:2]
    ends = [(first.shape, x.dtype) for first in firsts]
    return [((*each, width), x.dtype), *ends, ((*each, kept * width), x.dtype)]


def _gru_grad(call: Call) -> list[Kind]:
    """As what the inputs add to the gates, twice, and as the first state."""
    grad, h0 = call.args[0], call.args[3]
    gates = (*grad.shape[:2], 3 * h0.shape[-1]), grad.dtype
    return [gates, gates, kind_of(h0)]


def _lstm_grad(call: Call) -> list[Kind]:
    """As what the gates sum, and as the first state and cell."""
    grad, h0 = call.args[0], call.args[4]
    gates = (*grad.shape[:2], 4 * h0.shape[-1]), grad.dtype
    return [gates, kind_of(h0), kind_of(h0)]


def _adamw(call: Call) -> list[Kind]:
    """The parameters and both averages."""
    params, _, first, second = call.args[:4]
    return [kind_of(value) for value in (*params, *first, *second)]


def _sgd(call: Call) -> list[Kind]:
    """The parameters and their momenta."""
    params, _, momenta = call.args[:3]
    return [kind_of(value) for value in values_in([params, momenta])]


def _clip(call: Call) -> list[Kind]:
    """The gradients, and their norm."""
    grads: list[Value] = call.args[0]
    return [*map(kind_of, grads), ((), _statistic(grads[0]))]


RULES: dict[str, Rule] = {
    "matmul": _matmul,
    "linear": _linear,
    "tensordot": _tensordot,
    **dict.fromkeys(("dropout", "scale_shift"), like_first),
    **dict.fromkeys(("attention", "attention_varlen"), _attention),
    **dict.fromkeys(
        ("attention_grad", "attention_varlen_grad"),
        lambda call: [kind_of(value) for value in call.args[1:4]],
    ),
    "gru": _gru,
    "lstm": _lstm,
    "gru_grad": _gru_grad,
    "lstm_grad": _lstm_grad,
    "adamw": _adamw,
    "sgd": _sgd,
    "clip_by_global_norm": _clip,
}
