"""The graph of an ONNX file in plain values: nodes, constants, inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One call of an operator; a name "" among its inputs or outputs is one left out."""

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]

    @property
    def label(self) -> str:
        """How a message names the node."""
        return f"node {self.name!r} ({self.operator})"

    @property
    def graphs(self) -> list[Graph]:
        """The graphs inside the node: the branches of an If."""
        return [it for it in self.attributes.values() if isinstance(it, Graph)]

    def reads(self) -> Iterator[str]:
        """Names what the node needs, in the graphs inside it too."""
        yield from filter(None, self.inputs)
        for graph in self.graphs:
            yield from graph.free_names()


@dataclass(frozen=True, eq=False, slots=True)
class Input:
    """What a graph is given: a size is a number, or None where any is allowed."""

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None  # None: not declared


@dataclass(frozen=True, eq=False, slots=True)
class Graph:
    """Nodes in the order in which they run."""

    nodes: tuple[Node, ...]
    constants: dict[str, NDArray[Any]]
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]
    opset: int
    # The constants that are initialisers: the weights are among these.
    initialisers: frozenset[str] = field(default_factory=frozenset[str])

    def free_names(self) -> set[str]:
        """Names what the graph reads and does not make."""
        made = {*self.constants, *(it.name for it in self.inputs)}
        made.update(name for node in self.nodes for name in node.outputs)
        read = {name for node in self.nodes for name in node.reads()}
        return (read | {*self.outputs}) - made

    def with_outputs(self, names: Iterable[str]) -> Graph:
        """Makes a graph that computes some values, and nothing that they do not need."""
        wanted = tuple(names)
        made = {name for node in self.nodes for name in node.outputs if name}
        for name in wanted:
            if name not in made:
                raise ArgumentError(
                    f"no node of this file makes output={name!r}; its outputs are "
                    f"{', '.join(self.outputs)}"
                )
        nodes, needed = _keep_needed(self.nodes, {*wanted})
        constants = {name: it for name, it in self.constants.items() if name in needed}
        return replace(self, nodes=nodes, constants=constants, outputs=wanted)


def _keep_needed(
    nodes: tuple[Node, ...], needed: set[str]
) -> tuple[tuple[Node, ...], set[str]]:
    """Leaves out nodes that nothing needs; names what the others read and make."""
    kept: list[Node] = []
    for node in reversed(nodes):
        outputs = tuple(name if name in needed else "" for name in node.outputs)
        if any(outputs):
            kept.append(replace(node, outputs=outputs))
            needed.update(node.reads())
    return tuple(reversed(kept)), needed
