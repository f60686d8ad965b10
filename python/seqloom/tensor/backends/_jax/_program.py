"""Captured steps as programs of jax.jit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from seqloom.tensor._compile._lower import lowered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._backend import Array
    from seqloom.tensor._compile import Graph


class Programs:
    """What runs a captured step."""

    def program(self, graph: Graph) -> Callable[[Sequence[Array]], Sequence[Array]]:
        """One flat function of jax's, compiled; new state takes the memory of the old."""
        function: Callable[..., Any] = jax.jit(
            lowered(graph, self),  # pyright: ignore[reportArgumentType]
            donate_argnums=tuple(graph.donated),
        )
        return lambda arrays: function(*arrays)
