"""The derivatives of each convolution of a step in one call, as torch's own engine asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._graph import Graph, Operation
from seqloom.tensor._leaves import freeze

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

_INPUT = ("conv1d_input_grad", "conv2d_input_grad")
_WEIGHT = ("conv1d_weight_grad", "conv2d_weight_grad")


def join_gradients(graph: Graph) -> Graph:
    """Takes a convolution's derivatives together, and a bias's only where there is one.

    Apart, each call would lay out the gradient anew.

    Args:
        graph: Any graph.

    Returns:
        One of the same inputs and outputs.
    """
    operations = list(_calls(graph.operations, graph.uses()))
    return Graph(graph.inputs, graph.constants, operations, graph.outputs, graph.donated)


def _calls(operations: list[Operation], read: Container[int]) -> Iterator[Operation]:
    """The operations; a convolution's two derivatives follow each other in a step."""
    by_input: Operation | None = None
    for operation in operations:
        if by_input is not None and not _of_one(by_input, operation):
            yield by_input
            by_input = None
        if operation.name in _INPUT:
            by_input = operation
        elif operation.name in _WEIGHT:
            yield _call(by_input, operation, read)
            by_input = None
        else:
            yield operation
    if by_input is not None:
        yield by_input


def _of_one(by_input: Operation, other: Operation) -> bool:
    """Whether two are the derivatives of one convolution, or of two that are alike."""
    if other.name not in _WEIGHT or other.name[:6] != by_input.name[:6]:
        return False
    (grad, weight, x_shape), (x, same, shape) = by_input.args, other.args
    one = (grad.number, tuple(x_shape), weight.shape, freeze(by_input.options))
    return one == (same.number, x.shape, tuple(shape), freeze(other.options))


def _call(
    by_input: Operation | None, by_weight: Operation, read: Container[int]
) -> Operation:
    """One call that gives those of the results that are read."""
    x, grad, weight = by_weight.args
    outputs = by_weight.outputs
    if by_input is not None:
        weight, outputs = by_input.args[1], by_input.outputs + outputs
    wanted = [
        by_input is not None,
        *(output.number in read for output in by_weight.outputs),
    ]
    options = {**by_weight.options, "wanted": wanted}
    made = tuple(output for output in outputs if output.number in read)
    name, where = "conv_grads", by_weight.where
    return Operation(name, (grad, x, weight), options, made, where)
