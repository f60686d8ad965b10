"""Gradients of recurrent layers.

The gates at all positions are computed again from the states in one step. Only the
computation that depends on the next position is a loop. The results are the gradients with
respect to the pre-activations of the gates. From these gradients, the gradient rule
computes the gradients of inputs and weights by matrix products over all positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    Triple,
    allocate,
    in_float32,
    to_contiguous,
)
from seqloom.tensor._families._rule import Call, ShapeRule, Spec, add_shape_rule, get_spec

if TYPE_CHECKING:
    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions


# Default implementations ---------------------------------------------------------------


Arrays = list["Array"]


def gru_grad(
    b: Functions,
    grad: Array,
    by_last: Array,
    x: Array,
    h0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None,
    b_hh: Array | None,
    mask: Array | None,
    states: Array,
    kept: Array,
    /,
    *,
    reverse: bool = False,
) -> tuple[Array, Array, Array]:
    """Return the gradients of ``gru`` with respect to gate pre-activations and h0."""
    del kept
    before = shift_states(b, states, h0, reverse=reverse)
    sums = b.linear(x, w_ih, b_ih), b.linear(before, w_hh, b_hh)
    by_r, by_z, by_n, by_hn, z = _compute_gru_slopes(b, sums, before, mask)
    recurrent = b.concat([by_r, by_z, by_hn], axis=-1)

    def run_step(carry: Arrays, given: Arrays) -> tuple[Arrays, Arrays]:
        by_state = b.add(carry[0], given[0])
        by_gates = b.multiply(b.concat([by_state] * 3, axis=-1), given[2])
        through = b.matmul(by_gates, w_hh)
        return [b.add(b.multiply(by_state, given[1]), through)], [by_state]

    (by_h0,), (by_states,) = b.scan(
        run_step,
        [by_last],
        [swap_batch_and_time(b, part) for part in (grad, z, recurrent)],
        length=x.shape[1],
        reverse=not reverse,
    )
    wide = b.concat([swap_batch_and_time(b, by_states)] * 3, axis=-1)
    by_seen = b.multiply(wide, b.concat([by_r, by_z, by_n], axis=-1))
    return by_seen, b.multiply(wide, recurrent), by_h0


def _compute_gru_slopes(
    b: Functions, sums: tuple[Array, Array], before: Array, mask: Array | None
) -> list[Array]:
    """Return the derivatives of a state with respect to gates, and the update gate."""
    r, z, n = split_gates(b, sums[0], 3)
    hr, hz, hn = split_gates(b, sums[1], 3)
    r, z = b.sigmoid(b.add(r, hr)), b.sigmoid(b.add(z, hz))
    n = b.tanh(b.add(n, b.multiply(r, hn)))
    by_n = b.multiply(_subtract_from_one(b, z), _tanh_slope(b, n))
    by_z = b.multiply(b.subtract(before, n), _sigmoid_slope(b, z))
    by_r = b.multiply(b.multiply(by_n, hn), _sigmoid_slope(b, r))
    slopes = [by_r, by_z, by_n, b.multiply(by_n, r)]
    if mask is None:
        return [*slopes, z]
    real = b.expand_dims(mask, axis=2)
    return [*(b.where(real, slope, 0.0) for slope in slopes), b.where(real, z, 1.0)]


def lstm_grad(
    b: Functions,
    grad: Array,
    by_last: Array,
    by_cell: Array,
    x: Array,
    h0: Array,
    c0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None,
    b_hh: Array | None,
    mask: Array | None,
    states: Array,
    kept: Array,
    /,
    *,
    reverse: bool = False,
) -> tuple[Array, Array, Array]:
    """Return the gradients of ``lstm`` with respect to gate pre-activations, h0 and c0."""
    del kept
    before = shift_states(b, states, h0, reverse=reverse)
    sums = b.add(b.linear(x, w_ih, b_ih), b.linear(before, w_hh, b_hh))
    given = [grad, *_compute_lstm_slopes(b, sums, c0, mask, reverse=reverse)]

    def run_step(carry: Arrays, given: Arrays) -> tuple[Arrays, Arrays]:
        by_state = b.add(carry[0], given[0])
        by_cell = b.add(carry[1], b.multiply(by_state, given[1]))
        by_gates = b.concat([by_cell, by_cell, by_cell, by_state], axis=-1)
        by_gates = b.multiply(by_gates, given[3])
        by_before = b.matmul(by_gates, w_hh)
        if len(given) > 4:  # noqa: PLR2004 - a mask: pass the gradient on
            by_before = b.add(by_before, b.multiply(by_state, given[4]))
        return [by_before, b.multiply(by_cell, given[2])], [by_gates]

    (by_h0, by_c0), (by_gates,) = b.scan(
        run_step,
        [by_last, by_cell],
        [swap_batch_and_time(b, part) for part in given],
        length=x.shape[1],
        reverse=not reverse,
    )
    return swap_batch_and_time(b, by_gates), by_h0, by_c0


def _compute_lstm_slopes(
    b: Functions, sums: Array, c0: Array, mask: Array | None, *, reverse: bool
) -> list[Array]:
    """Return the derivatives of states, cells and gates for each backward step."""
    i, f, g, o = split_gates(b, sums, 4)
    i, f, g, o = b.sigmoid(i), b.sigmoid(f), b.tanh(g), b.sigmoid(o)
    real = None if mask is None else b.expand_dims(mask, axis=2)
    cells = _recompute_cells(b, c0, (i, f, g), real, reverse=reverse)
    shown, before = b.tanh(cells), shift_states(b, cells, c0, reverse=reverse)
    by_gates = [
        b.multiply(g, _sigmoid_slope(b, i)),
        b.multiply(before, _sigmoid_slope(b, f)),
        b.multiply(i, _tanh_slope(b, g)),
        b.multiply(shown, _sigmoid_slope(b, o)),
    ]
    slopes = [b.multiply(o, _tanh_slope(b, shown)), f, b.concat(by_gates, axis=-1)]
    if real is None:
        return slopes
    pairs = zip(slopes, (0.0, 1.0, 0.0), strict=True)
    held = b.astype(b.logical_not(real), b.dtype(sums))
    return [*(b.where(real, slope, other) for slope, other in pairs), held]


def shift_states(
    b: Functions, states: Array, first: Array, *, reverse: bool = False
) -> Array:
    """Return the state before each position, given the states after each position."""
    first = b.expand_dims(first, axis=1)
    length = states.shape[1]
    if reverse:
        return b.concat([b.index(states, (slice(None), slice(1, length))), first], axis=1)
    return b.concat([first, b.index(states, (slice(None), slice(0, length - 1)))], axis=1)


def _recompute_cells(
    b: Functions,
    c0: Array,
    gates: tuple[Array, Array, Array],
    real: Array | None,
    *,
    reverse: bool,
) -> Array:
    """Compute all cells again, because the states do not contain them."""
    i, f, g = gates
    added = b.multiply(i, g)
    if real is not None:
        f, added = b.where(real, f, 1.0), b.where(real, added, 0.0)

    def run_step(carry: Arrays, given: Arrays) -> tuple[Arrays, Arrays]:
        cell = b.add(b.multiply(given[0], carry[0]), given[1])
        return [cell], [cell]

    given = [swap_batch_and_time(b, f), swap_batch_and_time(b, added)]
    _, (cells,) = b.scan(run_step, [c0], given, length=f.shape[1], reverse=reverse)
    return swap_batch_and_time(b, cells)


def _subtract_from_one(b: Functions, x: Array) -> Array:
    """Return ``1 - x``."""
    return b.subtract(1.0, x)


def _sigmoid_slope(b: Functions, y: Array) -> Array:
    """Return the derivative of the sigmoid, computed from its output."""
    return b.multiply(y, _subtract_from_one(b, y))


def _tanh_slope(b: Functions, y: Array) -> Array:
    """Return the derivative of the hyperbolic tangent, computed from its output."""
    return _subtract_from_one(b, b.square(y))


def swap_batch_and_time(b: Functions, x: Array) -> Array:
    """Swap the batch and time axes."""
    return b.permute_dims(x, (1, 0, 2))


def split_gates(b: Functions, x: Array, count: int) -> list[Array]:
    """Split the last axis into sections of equal length."""
    width = x.shape[-1] // count
    return [b.index(x, (..., slice(i * width, (i + 1) * width))) for i in range(count)]


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {}


@add_shape_rule(SHAPE_RULES, "gru_grad")
def _shape_gru_grad(call: Call) -> list[Spec]:
    """Return the shapes of the gradients that ``gru_grad`` returns."""
    grad, h0 = call.args[0], call.args[3]
    gates = (*grad.shape[:2], 3 * h0.shape[-1]), grad.dtype
    return [gates, gates, get_spec(h0)]


@add_shape_rule(SHAPE_RULES, "lstm_grad")
def _shape_lstm_grad(call: Call) -> list[Spec]:
    """Return the shapes of the gradients that ``lstm_grad`` returns."""
    grad, h0 = call.args[0], call.args[4]
    gates = (*grad.shape[:2], 4 * h0.shape[-1]), grad.dtype
    return [gates, get_spec(h0), get_spec(h0)]


# NumPy versions ------------------------------------------------------------------------


@in_float32
def numpy_gru_grad(
    b: Functions,
    grad: Floats,
    by_last: Floats,
    x: Floats,
    h0: Floats,
    w_ih: Floats,
    w_hh: Floats,
    b_ih: Floats | None,
    b_hh: Floats | None,
    mask: Floats | None,
    states: Floats,
    kept: Floats,
    /,
    *,
    reverse: bool = False,
) -> Triple:
    """Return the gradients of ``gru`` with respect to gate pre-activations and h0."""
    if not kept.size:
        rest = (b_ih, b_hh, mask, states, kept)
        return gru_grad(b, grad, by_last, x, h0, w_ih, w_hh, *rest, reverse=reverse)
    by_seen, by_recurrent = (
        allocate((*grad.shape[:2], 3 * grad.shape[2]), grad.dtype) for _ in range(2)
    )
    by_h0 = _copy_contiguous(by_last)
    answers = to_contiguous(grad), to_contiguous(states), to_contiguous(kept)
    layer = to_contiguous(h0), None, to_contiguous(w_hh), to_bool_mask(mask), reverse
    outs = by_seen, by_recurrent, by_h0, None
    _native.recurrent_grad(*answers, *layer, *outs, b.threads)
    return by_seen, by_recurrent, by_h0


@in_float32
def numpy_lstm_grad(
    b: Functions,
    grad: Floats,
    by_last: Floats,
    by_cell: Floats,
    x: Floats,
    h0: Floats,
    c0: Floats,
    w_ih: Floats,
    w_hh: Floats,
    b_ih: Floats | None,
    b_hh: Floats | None,
    mask: Floats | None,
    states: Floats,
    kept: Floats,
    /,
    *,
    reverse: bool = False,
) -> Triple:
    """Return the gradients of ``lstm`` with respect to gate pre-activations, h0 and c0."""
    if not kept.size:
        rest = (w_ih, w_hh, b_ih, b_hh, mask, states, kept)
        return lstm_grad(b, grad, by_last, by_cell, x, h0, c0, *rest, reverse=reverse)
    by_gates = allocate((*grad.shape[:2], 4 * grad.shape[2]), grad.dtype)
    by_h0, by_c0 = _copy_contiguous(by_last), _copy_contiguous(by_cell)
    answers = to_contiguous(grad), to_contiguous(states), to_contiguous(kept)
    firsts = to_contiguous(h0), to_contiguous(c0)
    layer = *firsts, to_contiguous(w_hh), to_bool_mask(mask), reverse
    _native.recurrent_grad(*answers, *layer, by_gates, None, by_h0, by_c0, b.threads)
    return by_gates, by_h0, by_c0


def _copy_contiguous(x: Floats) -> Floats:
    """Return a contiguous copy, which the kernel overwrites."""
    return np.array(x, order="C")


def to_bool_mask(mask: Floats | None) -> Floats | None:
    """Return a mask as a contiguous boolean array."""
    return None if mask is None else np.ascontiguousarray(mask, np.bool_)
