"""The graph of an ONNX file in plain values: nodes, constants, weights, inputs, outputs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from seqloom.errors import ArgumentError, ShapeError
from seqloom.tensor import apply, backend as find_backend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from seqloom.tensor import Tensor


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
        """Name what the node needs, in the graphs inside it too."""
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
        """Name what the graph reads and does not make."""
        made = {*self.constants, *(it.name for it in self.inputs)}
        made.update(name for node in self.nodes for name in node.outputs)
        read = {name for node in self.nodes for name in node.reads()}
        return (read | {*self.outputs}) - made

    def with_outputs(self, names: Iterable[str]) -> Graph:
        """Make a graph that computes some values, and nothing that they do not need."""
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
    """Leave out nodes that nothing needs; names what the others read and make."""
    kept: list[Node] = []
    for node in reversed(nodes):
        outputs = tuple(name if name in needed else "" for name in node.outputs)
        if any(outputs):
            kept.append(replace(node, outputs=outputs))
            needed.update(node.reads())
    return tuple(reversed(kept)), needed


# Inputs that are weights whatever makes them: a bias of one number, or a Constant too.
_WEIGHTS = {
    "BatchNormalization": (1, 2),
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "GRU": (1, 2, 3),
    "Gemm": (1, 2),
    "GroupNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "LSTM": (1, 2, 3, 7),
    "LayerNormalization": (1, 2),
    "MatMul": (1,),
    "PRelu": (1,),
    "RMSNormalization": (1,),
    "RNN": (1, 2, 3),
}
# Averages of a training: floats that are kept and not learned.
_AVERAGES = {"BatchNormalization": (3, 4)}
# Inputs whose numbers must be known.
_NUMBERS = {"Clip": (1, 2), "OneHot": (2,), "Pad": (2,), "Range": (0, 1, 2)}
# What a bias stands behind: a number that is added to it is a bias too.
_PRODUCTS = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm"})
_DIRECTIONS = (".forward", ".reverse")


# For each of torch's gates, the place that it has in ONNX: input, output, forget, cell of
# an LSTM there become input, forget, cell, output; update, reset, new of a GRU become
# reset, update, new.
GATES = {"GRU": (1, 0, 2), "LSTM": (0, 2, 3, 1), "RNN": (0,)}
_AXES = 3  # direction, gates * width, in


class Weights(NamedTuple):
    """The weights of one direction, as `seqloom.nn.functional.lstm` takes them."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None
    b_hh: Tensor | None


def split_weights(
    operator: str, w: Tensor, r: Tensor, *, b: Tensor | None
) -> list[Weights]:
    """Split the weights of a node by direction."""
    gates = len(GATES[operator])
    rows = gates * r.shape[-1]
    shapes = [it.shape for it in (w, r) if it.ndim != _AXES or it.shape[1] != rows]
    if shapes or w.shape[0] != r.shape[0]:
        raise ShapeError(
            f"its weights have the shapes {w.shape} and {r.shape}; expected (directions, "
            f"{gates} * width, in) and (directions, {gates} * width, width)"
        )
    if b is not None and b.shape != (w.shape[0], 2 * rows):
        raise ShapeError(
            f"its bias has the shape {b.shape}; expected (directions, {2 * rows})"
        )
    parts: list[Weights] = []
    for at in range(w.shape[0]):
        b_ih = None if b is None else _reorder(operator, b[at][:rows])
        b_hh = None if b is None else _reorder(operator, b[at][rows:])
        w_ih, w_hh = _reorder(operator, w[at]), _reorder(operator, r[at])
        parts.append(Weights(w_ih, w_hh, b_ih, b_hh))
    return parts


def _reorder(operator: str, x: Tensor) -> Tensor:
    """Bring the gates of a weight or a bias into torch's order."""
    order = GATES[operator]
    width = x.shape[0] // len(order)
    if order == (0,):
        return x
    parts = [x[gate * width : (gate + 1) * width] for gate in order]
    return apply("concat", parts, axis=0)


@dataclass(frozen=True, eq=False, slots=True)
class Weight:
    """An array of the module: its path, and the value of the graph that it is."""

    path: str
    value: str
    array: NDArray[Any]
    is_learned: bool


def find_weights(graph: Graph, taken: Iterable[str]) -> tuple[Graph, list[Weight]]:
    """Take the weights out of a graph; `taken` are names that no path may have."""
    graph, split = _split_recurrent(graph)
    roles = _find_roles(graph)
    paths = _Paths(taken, graph)
    found = [
        Weight(
            paths.path(split.get(name, name), name), name, array, roles[name] == "learned"
        )
        for name, array in graph.constants.items()
        if name in roles
    ]
    names = {it.value for it in found}
    rest = {name: it for name, it in graph.constants.items() if name not in names}
    return replace(graph, constants=rest), found


def _find_roles(graph: Graph) -> dict[str, str]:
    """Say which constants are learned or kept; the others are numbers of the graph."""
    roles: dict[str, str] = {}
    makers = {name: node.operator for node in graph.nodes for name in node.outputs}
    for node in _all_nodes(graph):
        is_after_product = not _PRODUCTS.isdisjoint(
            makers.get(it, "") for it in node.inputs
        )
        is_bias = node.operator == "Add" and is_after_product
        for place, name in enumerate(node.inputs):
            array = graph.constants.get(name)
            if array is not None and "float" in array.dtype.name:
                role = _role_by_place(node, place) or _role_by_values(
                    array, is_weight=name in graph.initialisers, is_bias=is_bias
                )
                roles[name] = min(roles.get(name, role), role)
    return {name: role for name, role in roles.items() if role != "number"}


def _role_by_place(node: Node, place: int) -> str | None:
    """Say what a constant is to a node by the input that it is, if that says it."""
    if place in _AVERAGES.get(node.operator, ()):
        return "kept"
    if place in _NUMBERS.get(node.operator, ()):
        return "number"
    is_weight = place in _WEIGHTS.get(node.operator, ()) or "split" in node.attributes
    return "learned" if is_weight else None


def _role_by_values(array: NDArray[Any], *, is_weight: bool, is_bias: bool) -> str:
    """Say what a constant is: one number alone is no weight, unless it is a bias."""
    is_several = array.size > 1 or (is_bias and array.ndim > 0)
    if not is_several:
        return "number"
    return "learned" if is_weight and bool(np.isfinite(array).all()) else "kept"


def _all_nodes(graph: Graph) -> Iterator[Node]:
    """List the nodes of a graph, and of those inside it."""
    for node in graph.nodes:
        yield node
        for inner in node.graphs:
            yield from _all_nodes(inner)


def _split_recurrent(graph: Graph) -> tuple[Graph, dict[str, str]]:
    """Split constant weights of recurrent nodes by direction; names what each is of."""
    constants, origins = {**graph.constants}, dict[str, str]()
    nodes: list[Node] = []
    for node in graph.nodes:
        given = [name for name in node.inputs[1:4] if name]
        is_split = node.operator in GATES and all(it in graph.constants for it in given)
        nodes.append(_split_node(node, constants, origins) if is_split else node)
    read = {name for node in nodes for name in node.reads()}
    constants = {name: it for name, it in constants.items() if name in read}
    return replace(graph, nodes=tuple(nodes), constants=constants), origins


def _split_node(
    node: Node, constants: dict[str, NDArray[Any]], origins: dict[str, str]
) -> Node:
    """Split the weights of one node, whose last inputs they become."""
    numpy = find_backend("numpy")
    names = [*node.inputs[1:4], ""][:3]
    w, r, b = (numpy.tensor(constants[name]) if name else None for name in names)
    parts: list[str] = []
    found = split_weights(node.operator, cast("Tensor", w), cast("Tensor", r), b=b)
    for number, weights in enumerate(found):
        side = _DIRECTIONS[number] if len(found) > 1 else ""
        whose = (names[0], names[1], names[2], names[2])
        ends = (side, side, f"{side}.ih", f"{side}.hh")
        for name, end, values in zip(whose, ends, weights, strict=True):
            part = f"{name}{end}" if name else ""
            parts.append(part)
            if values is not None:
                constants[part] = values.numpy()
                origins[part] = f"{_spell(name, node.operator)}{end}"
    inputs = (node.inputs[0], "", "", "", *node.inputs[4:8])
    inputs += ("",) * (8 - len(inputs))
    return replace(
        node, inputs=(*inputs, *parts), attributes={**node.attributes, "split": 1}
    )


def _spell(name: str, operator: str) -> str:
    """Put the operator before a name that is only a number."""
    return f"{operator}_{name}" if name.isdigit() else name


class _Paths:
    """Makes paths of names: words with dots between them, each path once."""

    def __init__(self, taken: Iterable[str], graph: Graph) -> None:
        self._taken = {*taken}
        self._operators = {
            name: node.operator for node in _all_nodes(graph) for name in node.inputs
        }

    def path(self, name: str, value: str) -> str:
        """Return the path of a value of the graph."""
        name = _spell(name, self._operators.get(value, "value"))
        words = re.split(r"[./:\\]+", re.sub(r"[^\w./:\\-]", "_", name, flags=re.ASCII))
        path = first = ".".join(filter(None, words)) or "weight"
        number = 2
        while path in self._taken:
            path, number = f"{first}_{number}", number + 1
        self._taken.add(path)
        return path
