"""Compiled steps on NumPy's arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._graph import Graph


def program(b: Backend, graph: Graph) -> Callable[[Sequence[Any]], Sequence[NDArray[Any]]]:
    """Returns the graph as a program: fused groups, memory laid out before."""
    from seqloom.tensor._compile._numpy import NumPyProgram

    return NumPyProgram(graph, b)
