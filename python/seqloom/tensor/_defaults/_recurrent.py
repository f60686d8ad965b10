"""Steps along a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from seqloom.tensor._defaults._activation import Activations
from seqloom.tensor._defaults._product import Products

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array

Body = Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]


class Recurrence(Activations, Products):
    """A loop over time, and the two layers that are made of one.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> total, _ = B.scan(
        ...     lambda carry, x: ([carry[0] + x[0]], []),
        ...     [B.zeros(())],
        ...     [B.ones((3,))],
        ...     length=3,
        ... )
        >>> total[0].item()
        3.0
    """

    def scan(
        self,
        body: Body,
        init: Sequence[Array],
        xs: Sequence[Array],
        *,
        length: int,
        reverse: bool = False,
    ) -> tuple[list[Array], list[Array]]:
        """``carry, y = body(carry, x)`` for each place of the first axis of ``xs``.

        Args:
            body: Takes and returns lists of arrays, of the same shapes at each step.
            init: The first carry.
            xs: What the steps read; may be empty.
            length: How many steps.
            reverse: From the last place to the first.

        Returns:
            The last carry, and what the steps gave, stacked in the order of the places.
        """
        carry = list(init)
        given: list[list[Array]] = []
        places = range(length - 1, -1, -1) if reverse else range(length)
        for place in places:
            carry, ys = body(carry, [self.index(x, place) for x in xs])
            given.append(ys)
        if reverse:
            given.reverse()
        columns = zip(*given, strict=True)
        return list(carry), [self.stack(list(column), axis=0) for column in columns]

    def gru(
        self,
        x: Array,
        h0: Array,
        w_ih: Array,
        w_hh: Array,
        b_ih: Array | None = None,
        b_hh: Array | None = None,
    ) -> tuple[Array, Array]:
        """One layer of gated units, torch's order of gates (Cho et al. 2014).

        Args:
            x: ``(n, l, in)``.
            h0: ``(n, width)``.
            w_ih: ``(3 * width, in)``: reset, update, new.
            w_hh: ``(3 * width, width)``.
            b_ih: ``(3 * width,)``.
            b_hh: ``(3 * width,)``.

        Returns:
            Every state ``(n, l, width)`` and the last one.
        """

        def step(carry: list[Array], seen: list[Array]) -> tuple[list[Array], list[Array]]:
            recurrent = self.linear(carry[0], w_hh, b_hh)
            r, z, n = self._gates(seen[0], 3)
            hr, hz, hn = self._gates(recurrent, 3)
            reset, update = self.sigmoid(self.add(r, hr)), self.sigmoid(self.add(z, hz))
            new = self.tanh(self.add(n, self.multiply(reset, hn)))
            kept = self.multiply(update, self.subtract(carry[0], new))
            out = self.add(new, kept)
            return [out], [out]

        return self._run(step, x, [h0], w_ih, b_ih)

    def lstm(
        self,
        x: Array,
        h0: Array,
        c0: Array,
        w_ih: Array,
        w_hh: Array,
        b_ih: Array | None = None,
        b_hh: Array | None = None,
    ) -> tuple[Array, Array, Array]:
        """One layer of long short-term memory (Hochreiter and Schmidhuber 1997).

        Args:
            x: ``(n, l, in)``.
            h0: ``(n, width)``.
            c0: ``(n, width)``.
            w_ih: ``(4 * width, in)``: input, forget, cell, output.
            w_hh: ``(4 * width, width)``.
            b_ih: ``(4 * width,)``.
            b_hh: ``(4 * width,)``.

        Returns:
            Every state ``(n, l, width)``, the last one, and the last cell.
        """

        def step(carry: list[Array], seen: list[Array]) -> tuple[list[Array], list[Array]]:
            gates = self.add(seen[0], self.linear(carry[0], w_hh, b_hh))
            i, f, g, o = self._gates(gates, 4)
            kept = self.multiply(self.sigmoid(f), carry[1])
            cell = self.add(kept, self.multiply(self.sigmoid(i), self.tanh(g)))
            out = self.multiply(self.sigmoid(o), self.tanh(cell))
            return [out, cell], [out]

        return self._run(step, x, [h0, c0], w_ih, b_ih)

    def _run(
        self, step: Body, x: Array, init: list[Array], w_ih: Array, b_ih: Array | None
    ) -> Any:
        """The loop over time; what the inputs add to the gates is one product before it."""
        seen = self.permute_dims(self.linear(x, w_ih, b_ih), (1, 0, 2))
        last, (states,) = self.scan(step, init, [seen], length=x.shape[1])
        return (self.permute_dims(states, (1, 0, 2)), *last)

    def _gates(self, x: Array, count: int) -> list[Array]:
        """Equal parts of the last axis."""
        width = x.shape[-1] // count
        return [
            self.index(x, (..., slice(i * width, (i + 1) * width))) for i in range(count)
        ]
