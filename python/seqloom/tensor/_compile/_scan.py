"""A loop while a step is captured: one operation, whose body is a graph of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._graph import Graph, Value, values_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._backend import Array
    from seqloom.tensor._compile._capture import Capture
    from seqloom.tensor._compile._symbol import Symbol


def capture_scan(
    capture: Capture,
    body: Callable[..., Any],
    init: Sequence[Array],
    xs: Sequence[Array],
    *,
    length: int,
    reverse: bool,
) -> tuple[list[Symbol], list[Symbol]]:
    """Captures the body once, and writes the loop down."""
    first, rows = capture.plain(list(init)), capture.plain(list(xs))
    graph = _body(capture, body, first, rows)
    around = _free(graph)
    graph.inputs += around
    carried, made = graph.outputs[: len(first)], graph.outputs[len(first) :]
    found = [(each.shape, each.dtype) for each in carried]
    found += [((length, *each.shape), each.dtype) for each in made]
    options = {"body": graph, "length": length, "reverse": reverse}
    outputs = capture.write("scan", (first, rows, around), options, found)
    return outputs[: len(first)], outputs[len(first) :]


def _body(
    capture: Capture, body: Callable[..., Any], init: list[Value], xs: list[Value]
) -> Graph:
    """The graph of one turn; `capture` writes into it meanwhile."""
    outer, capture.graph = capture.graph, Graph()
    try:
        carry = [capture.new_input(each.shape, each.dtype) for each in init]
        row = [capture.new_input(each.shape[1:], each.dtype) for each in xs]
        carried, made = body(carry, row)
        capture.graph.outputs = [*capture.plain(list(carried)), *capture.plain(list(made))]
        return capture.graph
    finally:
        capture.graph = outer


def _free(graph: Graph) -> list[Value]:
    """The values of a body that are made outside it, each once."""
    known = {each.number for each in graph.inputs}
    found: dict[int, Value] = {}
    for operation in graph.operations:
        for value in operation.inputs():
            if value.number not in known:
                found[value.number] = value
        known |= {each.number for each in operation.outputs}
    found |= {v.number: v for v in values_in(graph.outputs) if v.number not in known}
    return list(found.values())
