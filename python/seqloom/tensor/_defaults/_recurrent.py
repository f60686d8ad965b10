"""Steps along a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions

Body = Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]


def scan(
    b: Functions,
    body: Body,
    init: Sequence[Array],
    xs: Sequence[Array],
    *,
    length: int,
    reverse: bool = False,
) -> tuple[list[Array], list[Array]]:
    """Runs ``carry, y = body(carry, x)`` at each position of the first axis of ``xs``."""
    # body takes and returns lists of arrays, of the same shapes at each step. The result
    # is the last carry, and the values y of all steps, stacked in the order of positions.
    carry = list(init)
    given: list[list[Array]] = []
    positions = range(length - 1, -1, -1) if reverse else range(length)
    for position in positions:
        carry, ys = body(carry, [b.index(x, position) for x in xs])
        given.append(ys)
    if reverse:
        given.reverse()
    columns = zip(*given, strict=True)
    return list(carry), [b.stack(list(column), axis=0) for column in columns]


def gru(
    b: Functions,
    x: Array,
    h0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    mask: Array | None = None,
    *,
    reverse: bool = False,
) -> tuple[Array, Array, Array]:
    """Runs one direction of gated units in torch's order of gates (Cho et al. 2014)."""
    # x (n, l, in), h0 (n, width), w_ih (3 * width, in) for the gates reset, update and new,
    # w_hh (3 * width, width), biases (3 * width,), mask (n, l), true where a position
    # changes the state. The result is every state (n, l, width), the last one, and what a
    # kernel keeps for `gru_grad`: here nothing.

    def step(carry: list[Array], seen: list[Array]) -> tuple[list[Array], list[Array]]:
        recurrent = b.linear(carry[0], w_hh, b_hh)
        r, z, n = split_gates(b, seen[0], 3)
        hr, hz, hn = split_gates(b, recurrent, 3)
        reset, update = b.sigmoid(b.add(r, hr)), b.sigmoid(b.add(z, hz))
        new = b.tanh(b.add(n, b.multiply(reset, hn)))
        kept = b.multiply(update, b.subtract(carry[0], new))
        out = _hold(b, seen, b.add(new, kept), carry[0])
        return [out], [out]

    seen = _list_seen(b, x, w_ih, b_ih, mask)
    (last,), (states,) = b.scan(step, [h0], seen, length=x.shape[1], reverse=reverse)
    return swap(b, states), last, b.zeros((0,), dtype=b.dtype(last))


def lstm(
    b: Functions,
    x: Array,
    h0: Array,
    c0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    mask: Array | None = None,
    *,
    reverse: bool = False,
) -> tuple[Array, Array, Array, Array]:
    """Runs one direction of long short-term memory (Hochreiter and Schmidhuber 1997)."""
    # As `gru`, with c0 (n, width), w_ih (4 * width, in) for input, forget, cell and output.
    # The result is every state (n, l, width), the last one, the last cell, and what a
    # kernel keeps for `lstm_grad`: here nothing.

    def step(carry: list[Array], seen: list[Array]) -> tuple[list[Array], list[Array]]:
        gates = b.add(seen[0], b.linear(carry[0], w_hh, b_hh))
        i, f, g, o = split_gates(b, gates, 4)
        kept = b.multiply(b.sigmoid(f), carry[1])
        cell = b.add(kept, b.multiply(b.sigmoid(i), b.tanh(g)))
        out = b.multiply(b.sigmoid(o), b.tanh(cell))
        out, cell = _hold(b, seen, out, carry[0]), _hold(b, seen, cell, carry[1])
        return [out, cell], [out]

    seen = _list_seen(b, x, w_ih, b_ih, mask)
    (last, cell), (states,) = b.scan(
        step, [h0, c0], seen, length=x.shape[1], reverse=reverse
    )
    return swap(b, states), last, cell, b.zeros((0,), dtype=b.dtype(last))


def _list_seen(
    b: Functions, x: Array, w_ih: Array, b_ih: Array | None, mask: Array | None
) -> list[Array]:
    """Returns what each step reads: the inputs' part of the gates, and the mask."""
    # What the inputs add to the gates is one product before the loop.
    seen = [swap(b, b.linear(x, w_ih, b_ih))]
    if mask is not None:
        seen.append(b.expand_dims(b.permute_dims(mask, (1, 0)), axis=2))
    return seen


def _hold(b: Functions, seen: list[Array], new: Array, old: Array) -> Array:
    """Returns the new state, or the old one where a position is masked."""
    return b.where(seen[1], new, old) if len(seen) > 1 else new


def swap(b: Functions, x: Array) -> Array:
    """Swaps batch and time."""
    return b.permute_dims(x, (1, 0, 2))


def split_gates(b: Functions, x: Array, count: int) -> list[Array]:
    """Returns equal parts of the last axis."""
    width = x.shape[-1] // count
    return [b.index(x, (..., slice(i * width, (i + 1) * width))) for i in range(count)]
