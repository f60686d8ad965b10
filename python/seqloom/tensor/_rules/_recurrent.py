"""Recurrent layers: the way back through time, then products over all positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._defaults._recurrent_grad import shift_states
from seqloom.tensor._rules._rule import Parts, Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._defaults import Array, ArrayFunctions
    from seqloom.tensor._rules import _keep as keep


def _keep_gru(args: keep.Args, out: Any, _needs: Any, options: keep.Options) -> Any:
    """All seven inputs, the states and what the kernel kept."""
    return (*args, *(None,) * (7 - len(args))), out[0], out[2], options


def _gru(b: ArrayFunctions, saved: Any, grads: Any, needs: keep.Needs) -> Parts:
    inputs, states, kept, options = saved
    x, h0 = inputs[:2]
    given = (*_fill(b, grads, (states, h0)), *inputs, states, kept)
    by_seen, by_recurrent, by_h0 = b.gru_grad(*given, **options)
    pairs = (by_seen, x), (by_recurrent, shift_states(b, states, h0, **options))
    parts = _by_inputs(b, pairs, inputs[2], (needs[0], *needs[2:]))
    return [parts[0], by_h0, *parts[1:], None]


def _keep_lstm(args: keep.Args, out: Any, _needs: Any, options: keep.Options) -> Any:
    """All eight inputs, the states and what the kernel kept."""
    return (*args, *(None,) * (8 - len(args))), out[0], out[3], options


def _lstm(b: ArrayFunctions, saved: Any, grads: Any, needs: keep.Needs) -> Parts:
    inputs, states, kept, options = saved
    x, h0, c0 = inputs[:3]
    given = (*_fill(b, grads, (states, h0, c0)), *inputs, states, kept)
    by_gates, *by_firsts = b.lstm_grad(*given, **options)
    pairs = (by_gates, x), (by_gates, shift_states(b, states, h0, **options))
    parts = _by_inputs(b, pairs, inputs[3], (needs[0], *needs[3:]))
    return [parts[0], *by_firsts, *parts[1:], None]


def _by_inputs(
    b: ArrayFunctions,
    pairs: Sequence[tuple[Array, Array]],
    w_ih: Array,
    needs: keep.Needs,
) -> list[Array | None]:
    """The gradients by the inputs, by both weights and by both biases."""
    # Each pair is the gradient by a sum, and what a weight multiplied in it.
    of_x, *others = (*needs, *(False,) * 4)
    by_weights = [
        _by_weight(b, *pair) if need else None
        for pair, need in zip(pairs, others[:2], strict=True)
    ]
    by_biases = [
        b.sum(by_sum, axis=(0, 1)) if need else None
        for (by_sum, _), need in zip(pairs, others[2:4], strict=True)
    ]
    return [_by_input(b, pairs[0][0], w_ih) if of_x else None, *by_weights, *by_biases]


def _fill(
    b: ArrayFunctions, grads: Sequence[Array | None], like: Sequence[Array]
) -> list[Array]:
    """The gradients by the results, zeros where none arrived."""
    pairs = zip(grads, like, strict=False)
    return [
        b.zeros(tuple(other.shape), dtype=other.dtype) if grad is None else grad
        for grad, other in pairs
    ]


def _by_input(b: ArrayFunctions, by_gates: Array, weight: Array) -> Array:
    """The gradient by the inputs: one product over all positions of all sequences."""
    rows, length, gates = by_gates.shape
    flat = b.matmul(b.reshape(by_gates, (rows * length, gates)), weight)
    return b.reshape(flat, (rows, length, weight.shape[1]))


def _by_weight(b: ArrayFunctions, by_gates: Array, x: Array) -> Array:
    """The gradient by a weight, likewise."""
    rows, length, gates = by_gates.shape
    flat = b.reshape(by_gates, (rows * length, gates))
    x = b.reshape(x, (rows * length, x.shape[-1]))
    return b.matmul(b.matrix_transpose(flat), x)


RULES: dict[str, Rule] = {
    "gru": Rule(_keep_gru, _gru, tracked=2),
    "lstm": Rule(_keep_lstm, _lstm, tracked=3),
}
