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
) -> tuple[Array, Array]:
    """Runs one layer of gated units in torch's order of gates (Cho et al. 2014)."""
    # x (n, l, in), h0 (n, width), w_ih (3 * width, in) for the gates reset, update and new,
    # w_hh (3 * width, width), biases (3 * width,). The result is every state (n, l, width)
    # and the last one.

    def step(carry: list[Array], seen: list[Array]) -> tuple[list[Array], list[Array]]:
        recurrent = b.linear(carry[0], w_hh, b_hh)
        r, z, n = _gates(b, seen[0], 3)
        hr, hz, hn = _gates(b, recurrent, 3)
        reset, update = b.sigmoid(b.add(r, hr)), b.sigmoid(b.add(z, hz))
        new = b.tanh(b.add(n, b.multiply(reset, hn)))
        kept = b.multiply(update, b.subtract(carry[0], new))
        out = b.add(new, kept)
        return [out], [out]

    return _run(b, step, x, [h0], w_ih, b_ih)


def lstm(
    b: Functions,
    x: Array,
    h0: Array,
    c0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Runs one layer of long short-term memory (Hochreiter and Schmidhuber 1997)."""
    # x (n, l, in), h0 and c0 (n, width), w_ih (4 * width, in) for input, forget, cell and
    # output, w_hh (4 * width, width), biases (4 * width,). The result is every state
    # (n, l, width), the last one, and the last cell.

    def step(carry: list[Array], seen: list[Array]) -> tuple[list[Array], list[Array]]:
        gates = b.add(seen[0], b.linear(carry[0], w_hh, b_hh))
        i, f, g, o = _gates(b, gates, 4)
        kept = b.multiply(b.sigmoid(f), carry[1])
        cell = b.add(kept, b.multiply(b.sigmoid(i), b.tanh(g)))
        out = b.multiply(b.sigmoid(o), b.tanh(cell))
        return [out, cell], [out]

    return _run(b, step, x, [h0, c0], w_ih, b_ih)


def _run(
    b: Functions, step: Body, x: Array, init: list[Array], w_ih: Array, b_ih: Array | None
) -> Any:
    """The loop over time; what the inputs add to the gates is one product before it."""
    seen = b.permute_dims(b.linear(x, w_ih, b_ih), (1, 0, 2))
    last, (states,) = b.scan(step, init, [seen], length=x.shape[1])
    return (b.permute_dims(states, (1, 0, 2)), *last)


def _gates(b: Functions, x: Array, count: int) -> list[Array]:
    """Equal parts of the last axis."""
    width = x.shape[-1] // count
    return [b.index(x, (..., slice(i * width, (i + 1) * width))) for i in range(count)]
