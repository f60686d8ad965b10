"""Rewrites operations as smaller ones, whose results are views or die sooner."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from seqloom.tensor._graph import Graph, Operation, Value

if TYPE_CHECKING:
    from collections.abc import Iterator


def split_updates(graph: Graph) -> Graph:
    """Updates each large parameter in an operation of its own, once its gradient is there.

    The gradient is then still in the cache, and its memory is free for the next.

    Args:
        graph: Any graph.

    Returns:
        One of the same inputs and outputs.
    """
    operations = [each for old in graph.operations for each in _each_update(old)]
    return Graph(graph.inputs, graph.constants, operations, graph.outputs, graph.donated)


_LISTS = 4  # of AdamW: parameters, gradients, first and second moments
_LARGE = 65_536  # numbers of a parameter


def _each_update(operation: Operation) -> Iterator[Operation]:
    """The updates of each large parameter, and one of all small ones; or what it is."""
    if operation.name != "adamw":
        yield operation
        return
    params: list[Value] = operation.args[0]
    large = [[place] for place, value in enumerate(params) if prod(value.shape) >= _LARGE]
    small = [place for place, value in enumerate(params) if prod(value.shape) < _LARGE]
    for places in (*large, small):
        if places:
            yield _update_of(operation, places)


def _update_of(operation: Operation, places: list[int]) -> Operation:
    """The update of some of the parameters."""
    args, count_ = operation.args, len(operation.args[0])
    lists = [[each[place] for place in places] for each in args[:_LISTS]]
    decays = [operation.options["decays"][place] for place in places]
    kept = range(0, len(operation.outputs), count_)
    outputs = tuple(operation.outputs[start + place] for start in kept for place in places)
    options = {**operation.options, "decays": decays}
    return Operation("adamw", (*lists, *args[_LISTS:]), options, outputs, operation.where)


def split_unstacks(graph: Graph) -> Graph:
    """Takes each slice of an unstacked value by an index, which is a view.

    Args:
        graph: Any graph.

    Returns:
        One of the same inputs and outputs.
    """
    operations = [each for old in graph.operations for each in _slices(old)]
    return Graph(graph.inputs, graph.constants, operations, graph.outputs, graph.donated)


def _slices(operation: Operation) -> Iterator[Operation]:
    """An index for each slice; or what it is."""
    if operation.name != "unstack":
        yield operation
        return
    x = operation.args[0]
    axis = operation.options.get("axis", 0) % len(x.shape)
    for place, out in enumerate(operation.outputs):
        key = (*(slice(None),) * axis, place)
        yield Operation("index", (x, key), {}, (out,), operation.where)
