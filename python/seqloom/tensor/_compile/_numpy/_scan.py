"""A loop whose body is a plan of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]


class Loop:
    """Runs a body's plan once for each slice, and carries what it gives.

    Args:
        body: Takes the carried arrays, one slice of each of `xs`, and those around.
        length: How often.
        reverse: From the last slice to the first.
    """

    def __init__(
        self, body: Callable[[list[Array]], list[Array]], length: int, *, reverse: bool
    ) -> None:
        self._body = body
        self._places = range(length)[:: -1 if reverse else 1]

    def __call__(
        self, init: list[Array], xs: list[Array], around: list[Array]
    ) -> list[Array]:
        """The carried arrays after the last turn, and what the turns gave, stacked."""
        carry, stacks = list(init), list[Any]()
        for turn, place in enumerate(self._places):
            made = self._body([*carry, *(x[place] for x in xs), *around])
            carry, rows = made[: len(init)], made[len(init) :]
            if turn == 0:
                stacks = [np.empty((len(self._places), *r.shape), r.dtype) for r in rows]
            for stack, row in zip(stacks, rows, strict=True):
                stack[place] = row
        return [*carry, *stacks]
