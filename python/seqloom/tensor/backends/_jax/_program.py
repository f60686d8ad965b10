"""Captured steps as programs of jax.jit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from seqloom.tensor._lower import lower_graph
from seqloom.tensor.backends._jax._given_positions import GivenPositions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._compile import Graph


def program(b: Backend, graph: Graph) -> Callable[[Sequence[Array]], Sequence[Array]]:
    """One flat function of jax's, compiled; new state takes the memory of the old."""
    # Indices and labels that follow from the inputs are looked at before it runs.
    function: Callable[..., Any] = jax.jit(
        lower_graph(graph, b),
        donate_argnums=tuple(graph.donated),
    )
    positions = GivenPositions(graph)

    def run(arrays: Sequence[Array]) -> Sequence[Array]:
        positions.require(arrays)
        return function(*arrays)

    return run
