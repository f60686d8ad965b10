"""The graph of an ONNX file: nodes, constants, weights, inputs and outputs."""

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
class OnnxNode:
    """Call of an operator; the name "" marks an omitted input or output."""

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]

    @property
    def label(self) -> str:
        """Description of the node for messages."""
        return f"node {self.name!r} ({self.operator})"

    @property
    def graphs(self) -> list[OnnxGraph]:
        """Graphs inside the node, such as the branches of an If."""
        return [it for it in self.attributes.values() if isinstance(it, OnnxGraph)]

    def reads(self) -> Iterator[str]:
        """Yield the names of values that the node and its inner graphs read."""
        yield from filter(None, self.inputs)
        for graph in self.graphs:
            yield from graph.free_names()


@dataclass(frozen=True, eq=False, slots=True)
class OnnxInput:
    """Input of a graph; a size is an integer, or None for any size."""

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None  # None if the file declares no shape


@dataclass(frozen=True, eq=False, slots=True)
class OnnxGraph:
    """Nodes in execution order, with their constants, inputs and outputs."""

    nodes: tuple[OnnxNode, ...]
    constants: dict[str, NDArray[Any]]
    inputs: tuple[OnnxInput, ...]
    outputs: tuple[str, ...]
    opset: int
    # Names of constants that are initialisers; weights are among these.
    initialisers: frozenset[str] = field(default_factory=frozenset[str])

    def free_names(self) -> set[str]:
        """Return the names that the graph reads but does not define."""
        made = {*self.constants, *(it.name for it in self.inputs)}
        made.update(name for node in self.nodes for name in node.outputs)
        read = {name for node in self.nodes for name in node.reads()}
        return (read | {*self.outputs}) - made

    def with_outputs(self, names: Iterable[str]) -> OnnxGraph:
        """Return a graph that only computes the values with these names."""
        wanted = tuple(names)
        made = {name for node in self.nodes for name in node.outputs if name}
        for name in wanted:
            if name not in made:
                raise ArgumentError(
                    f"no node of this file computes output={name!r}; its outputs are "
                    f"{', '.join(self.outputs)}"
                )
        nodes, needed = _drop_unused(self.nodes, {*wanted})
        constants = {name: it for name, it in self.constants.items() if name in needed}
        return replace(self, nodes=nodes, constants=constants, outputs=wanted)


def _drop_unused(
    nodes: tuple[OnnxNode, ...], needed: set[str]
) -> tuple[tuple[OnnxNode, ...], set[str]]:
    """Drop unused nodes; return the remaining nodes and the names that they read."""
    kept: list[OnnxNode] = []
    for node in reversed(nodes):
        outputs = tuple(name if name in needed else "" for name in node.outputs)
        if any(outputs):
            kept.append(replace(node, outputs=outputs))
            needed.update(node.reads())
    return tuple(reversed(kept)), needed


# Inputs that are always weights, even if they are single numbers or Constant nodes.
_WEIGHT_INPUTS = {
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
# Inputs that are running averages: floats that are not trained.
_AVERAGE_INPUTS = {"BatchNormalization": (3, 4)}
# Operator inputs that must be constant.
_CONSTANT_INPUTS = {"Clip": (1, 2), "OneHot": (2,), "Pad": (2,), "Range": (0, 1, 2)}
# Operators with a bias: a constant that is added to the operator's result is trained.
_PRODUCTS = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm"})
_DIRECTIONS = (".forward", ".reverse")


# Index in ONNX of each gate, in the order of PyTorch. LSTM gates are input, output,
# forget, cell in ONNX, and input, forget, cell, output in PyTorch. GRU gates are
# update, reset, new in ONNX, and reset, update, new in PyTorch.
GATES = {"GRU": (1, 0, 2), "LSTM": (0, 2, 3, 1), "RNN": (0,)}
_WEIGHT_AXES = 3  # axes: direction, gates * width, input features


class OnnxWeights(NamedTuple):
    """Weights of one direction, as arguments of `seqloom.nn.functional.lstm`."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None
    b_hh: Tensor | None


def split_weights(
    operator: str, w: Tensor, r: Tensor, *, b: Tensor | None
) -> list[OnnxWeights]:
    """Split the weights of a recurrent node by direction."""
    gates = len(GATES[operator])
    rows = gates * r.shape[-1]
    shapes = [it.shape for it in (w, r) if it.ndim != _WEIGHT_AXES or it.shape[1] != rows]
    if shapes or w.shape[0] != r.shape[0]:
        raise ShapeError(
            f"its weights have the shapes {w.shape} and {r.shape}; expected (directions, "
            f"{gates} * width, in) and (directions, {gates} * width, width)"
        )
    if b is not None and b.shape != (w.shape[0], 2 * rows):
        raise ShapeError(
            f"its bias has the shape {b.shape}; expected (directions, {2 * rows})"
        )
    parts: list[OnnxWeights] = []
    for at in range(w.shape[0]):
        b_ih = None if b is None else _reorder(operator, b[at][:rows])
        b_hh = None if b is None else _reorder(operator, b[at][rows:])
        w_ih, w_hh = _reorder(operator, w[at]), _reorder(operator, r[at])
        parts.append(OnnxWeights(w_ih, w_hh, b_ih, b_hh))
    return parts


def _reorder(operator: str, x: Tensor) -> Tensor:
    """Reorder the gates of a weight or bias to PyTorch's order."""
    order = GATES[operator]
    width = x.shape[0] // len(order)
    if order == (0,):
        return x
    parts = [x[gate * width : (gate + 1) * width] for gate in order]
    return apply("concat", parts, axis=0)


@dataclass(frozen=True, eq=False, slots=True)
class Weight:
    """Path of a parameter or buffer, and the name of its value in the graph."""

    path: str
    value: str
    array: NDArray[Any]
    is_learned: bool


def find_weights(graph: OnnxGraph, taken: Iterable[str]) -> tuple[OnnxGraph, list[Weight]]:
    """Extract the weights of a graph; `taken` contains reserved names."""
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


def _find_roles(graph: OnnxGraph) -> dict[str, str]:
    """Return the role of each constant: "learned" for parameters, "kept" for buffers."""
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
                role = _find_role_by_position(node, place) or _find_role_by_values(
                    array, is_weight=name in graph.initialisers, is_bias=is_bias
                )
                roles[name] = min(roles.get(name, role), role)
    return {name: role for name, role in roles.items() if role != "number"}


def _find_role_by_position(node: OnnxNode, place: int) -> str | None:
    """Return the role of a constant if its input position determines it."""
    if place in _AVERAGE_INPUTS.get(node.operator, ()):
        return "kept"
    if place in _CONSTANT_INPUTS.get(node.operator, ()):
        return "number"
    is_weight = place in _WEIGHT_INPUTS.get(node.operator, ()) or "split" in node.attributes
    return "learned" if is_weight else None


def _find_role_by_values(array: NDArray[Any], *, is_weight: bool, is_bias: bool) -> str:
    """Return the role of a constant; a single number is only trained if it is a bias."""
    is_several = array.size > 1 or (is_bias and array.ndim > 0)
    if not is_several:
        return "number"
    return "learned" if is_weight and bool(np.isfinite(array).all()) else "kept"


def _all_nodes(graph: OnnxGraph) -> Iterator[OnnxNode]:
    """Yield the nodes of a graph and of its inner graphs."""
    for node in graph.nodes:
        yield node
        for inner in node.graphs:
            yield from _all_nodes(inner)


def _split_recurrent(graph: OnnxGraph) -> tuple[OnnxGraph, dict[str, str]]:
    """Split the weights of recurrent nodes; also map new names to original names."""
    constants, origins = {**graph.constants}, dict[str, str]()
    nodes: list[OnnxNode] = []
    for node in graph.nodes:
        given = [name for name in node.inputs[1:4] if name]
        is_split = node.operator in GATES and all(it in graph.constants for it in given)
        nodes.append(_split_node(node, constants, origins) if is_split else node)
    read = {name for node in nodes for name in node.reads()}
    constants = {name: it for name, it in constants.items() if name in read}
    return replace(graph, nodes=tuple(nodes), constants=constants), origins


def _split_node(
    node: OnnxNode, constants: dict[str, NDArray[Any]], origins: dict[str, str]
) -> OnnxNode:
    """Split the weights of one node, and append them to its inputs."""
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
                origins[part] = f"{_prefix_number(name, node.operator)}{end}"
    inputs = (node.inputs[0], "", "", "", *node.inputs[4:8])
    inputs += ("",) * (8 - len(inputs))
    return replace(
        node, inputs=(*inputs, *parts), attributes={**node.attributes, "split": 1}
    )


def _prefix_number(name: str, operator: str) -> str:
    """Prefix a name that is a number with the operator's name."""
    return f"{operator}_{name}" if name.isdigit() else name


class _Paths:
    """Generator of unique parameter paths from names in the graph."""

    def __init__(self, taken: Iterable[str], graph: OnnxGraph) -> None:
        self._taken = {*taken}
        self._operators = {
            name: node.operator for node in _all_nodes(graph) for name in node.inputs
        }

    def path(self, name: str, value: str) -> str:
        """Return the path for a value of the graph."""
        name = _prefix_number(name, self._operators.get(value, "value"))
        words = re.split(r"[./:\\]+", re.sub(r"[^\w./:\\-]", "_", name, flags=re.ASCII))
        path = first = ".".join(filter(None, words)) or "weight"
        number = 2
        while path in self._taken:
            path, number = f"{first}_{number}", number + 1
        self._taken.add(path)
        return path
