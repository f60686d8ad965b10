"""The way back through recurrent layers.

The gates are computed again for all positions at once, from the states; only what depends
on the next position is a loop. The results are the gradients by what the gates sum: a rule
makes of them those by the inputs and the weights, as products over all positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._defaults._recurrent import split_gates, swap

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions

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
    """The derivatives of ``gru`` by what inputs and states add to the gates, and by h0."""
    del kept
    before = shift_states(b, states, h0, reverse=reverse)
    sums = b.linear(x, w_ih, b_ih), b.linear(before, w_hh, b_hh)
    by_r, by_z, by_n, by_hn, z = _gru_slopes(b, sums, before, mask)
    recurrent = b.concat([by_r, by_z, by_hn], axis=-1)

    def step(carry: Arrays, given: Arrays) -> tuple[Arrays, Arrays]:
        by_state = b.add(carry[0], given[0])
        by_gates = b.multiply(b.concat([by_state] * 3, axis=-1), given[2])
        through = b.matmul(by_gates, w_hh)
        return [b.add(b.multiply(by_state, given[1]), through)], [by_state]

    (by_h0,), (by_states,) = b.scan(
        step,
        [by_last],
        [swap(b, part) for part in (grad, z, recurrent)],
        length=x.shape[1],
        reverse=not reverse,
    )
    wide = b.concat([swap(b, by_states)] * 3, axis=-1)
    by_seen = b.multiply(wide, b.concat([by_r, by_z, by_n], axis=-1))
    return by_seen, b.multiply(wide, recurrent), by_h0


def _gru_slopes(
    b: Functions, sums: tuple[Array, Array], before: Array, mask: Array | None
) -> list[Array]:
    """The slopes of a state by what its gates sum; and the update gate."""
    r, z, n = split_gates(b, sums[0], 3)
    hr, hz, hn = split_gates(b, sums[1], 3)
    r, z = b.sigmoid(b.add(r, hr)), b.sigmoid(b.add(z, hz))
    n = b.tanh(b.add(n, b.multiply(r, hn)))
    by_n = b.multiply(_one_minus(b, z), _slope_of_tanh(b, n))
    by_z = b.multiply(b.subtract(before, n), _slope_of_sigmoid(b, z))
    by_r = b.multiply(b.multiply(by_n, hn), _slope_of_sigmoid(b, r))
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
    """The derivatives of ``lstm`` by what the gates sum, by h0 and by c0."""
    del kept
    before = shift_states(b, states, h0, reverse=reverse)
    sums = b.add(b.linear(x, w_ih, b_ih), b.linear(before, w_hh, b_hh))
    given = [grad, *_lstm_slopes(b, sums, c0, mask, reverse=reverse)]

    def step(carry: Arrays, given: Arrays) -> tuple[Arrays, Arrays]:
        by_state = b.add(carry[0], given[0])
        by_cell = b.add(carry[1], b.multiply(by_state, given[1]))
        by_gates = b.concat([by_cell, by_cell, by_cell, by_state], axis=-1)
        by_gates = b.multiply(by_gates, given[3])
        by_before = b.matmul(by_gates, w_hh)
        if len(given) > 4:  # noqa: PLR2004 - a mask: the gradient passes by the step
            by_before = b.add(by_before, b.multiply(by_state, given[4]))
        return [by_before, b.multiply(by_cell, given[2])], [by_gates]

    (by_h0, by_c0), (by_gates,) = b.scan(
        step,
        [by_last, by_cell],
        [swap(b, part) for part in given],
        length=x.shape[1],
        reverse=not reverse,
    )
    return swap(b, by_gates), by_h0, by_c0


def _lstm_slopes(
    b: Functions, sums: Array, c0: Array, mask: Array | None, *, reverse: bool
) -> list[Array]:
    """What each step back reads: slopes of the state by its cell, of cells, of gates."""
    i, f, g, o = split_gates(b, sums, 4)
    i, f, g, o = b.sigmoid(i), b.sigmoid(f), b.tanh(g), b.sigmoid(o)
    real = None if mask is None else b.expand_dims(mask, axis=2)
    cells = _run_cells(b, c0, (i, f, g), real, reverse=reverse)
    shown, before = b.tanh(cells), shift_states(b, cells, c0, reverse=reverse)
    by_gates = [
        b.multiply(g, _slope_of_sigmoid(b, i)),
        b.multiply(before, _slope_of_sigmoid(b, f)),
        b.multiply(i, _slope_of_tanh(b, g)),
        b.multiply(shown, _slope_of_sigmoid(b, o)),
    ]
    slopes = [b.multiply(o, _slope_of_tanh(b, shown)), f, b.concat(by_gates, axis=-1)]
    if real is None:
        return slopes
    pairs = zip(slopes, (0.0, 1.0, 0.0), strict=True)
    held = b.astype(b.logical_not(real), b.dtype(sums))
    return [*(b.where(real, slope, other) for slope, other in pairs), held]


def shift_states(
    b: Functions, states: Array, first: Array, *, reverse: bool = False
) -> Array:
    """Returns the state before each position, of the states after them."""
    first = b.expand_dims(first, axis=1)
    length = states.shape[1]
    if reverse:
        return b.concat([b.index(states, (slice(None), slice(1, length))), first], axis=1)
    return b.concat([first, b.index(states, (slice(None), slice(0, length - 1)))], axis=1)


def _run_cells(
    b: Functions,
    c0: Array,
    gates: tuple[Array, Array, Array],
    real: Array | None,
    *,
    reverse: bool,
) -> Array:
    """Computes every cell again, which the states do not tell."""
    i, f, g = gates
    added = b.multiply(i, g)
    if real is not None:
        f, added = b.where(real, f, 1.0), b.where(real, added, 0.0)

    def step(carry: Arrays, given: Arrays) -> tuple[Arrays, Arrays]:
        cell = b.add(b.multiply(given[0], carry[0]), given[1])
        return [cell], [cell]

    given = [swap(b, f), swap(b, added)]
    _, (cells,) = b.scan(step, [c0], given, length=f.shape[1], reverse=reverse)
    return swap(b, cells)


def _one_minus(b: Functions, x: Array) -> Array:
    """``1 - x``."""
    return b.subtract(1.0, x)


def _slope_of_sigmoid(b: Functions, y: Array) -> Array:
    """The derivative of the sigmoid where its value is y."""
    return b.multiply(y, _one_minus(b, y))


def _slope_of_tanh(b: Functions, y: Array) -> Array:
    """The derivative of the hyperbolic tangent where its value is y."""
    return _one_minus(b, b.square(y))
