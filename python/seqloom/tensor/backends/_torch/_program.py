"""Captured steps as programs of torch.compile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from seqloom.tensor._compile._numbers import cast_numbers
from seqloom.tensor._lower import lower_graph
from seqloom.tensor.backends._torch._joined import join_gradients

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._compile import Graph


def program(b: Backend, graph: Graph) -> Callable[[Sequence[Array]], Sequence[Array]]:
    """One flat function of torch's, compiled; on a GPU by CUDA graphs."""
    # A number of each call becomes a tensor of no axes, so that another value is not
    # another program.
    cuda = b.device.startswith("cuda")
    function = torch.compile(
        lower_graph(join_gradients(cast_numbers(graph)), b),
        fullgraph=True,
        dynamic=False,
        mode="reduce-overhead" if cuda else None,
    )
    numbers = [position for position, value in enumerate(graph.inputs) if value.weak]
    kind = torch.float32 if b.device.startswith("mps") else torch.float64

    def run(arrays: Sequence[Array]) -> Sequence[Array]:
        given: list[Any] = list(arrays)
        for position in numbers:
            # Filled, not copied there: a copy would wait for the device.
            given[position] = torch.full((), given[position], dtype=kind, device=b.device)
        with torch.no_grad():
            made = function(*given)
        # A CUDA graph's outputs are overwritten by its next run.
        return [array.clone() for array in made] if cuda else made

    return run
