"""Run the nodes of a graph in order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import OperationError, SeqloomError
from seqloom.models._onnx import (
    _elementwise,
    _indexing,
    _layers,
    _recurrent,
    _shapes,
    _windows,
)
from seqloom.models._onnx._values import MAX_CONSTANT_SIZE, OnnxCall, is_known, to_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from seqloom.models._onnx._graph import OnnxGraph, OnnxNode
    from seqloom.models._onnx._values import Operator


def evaluate(graph: OnnxGraph, given: Mapping[str, Any]) -> list[Any]:
    """Compute the outputs of a graph from its inputs and weights."""
    values = {**graph.constants, **given}
    ends = _find_last_reads(graph)
    for node in graph.nodes:
        found = _run_node(node, values, graph.opset)
        values.update(zip(node.outputs, found, strict=False))
        for name in ends[id(node)]:
            values.pop(name, None)
    return [values[name] for name in graph.outputs]


def _find_last_reads(graph: OnnxGraph) -> dict[int, list[str]]:
    """Return for each node the values that no later node reads."""
    last = {name: id(node) for node in graph.nodes for name in node.reads()}
    ends: dict[int, list[str]] = {id(node): [] for node in graph.nodes}
    for name, node in last.items():
        if name not in graph.outputs:
            ends[node].append(name)
    return ends


def _run_node(node: OnnxNode, values: Mapping[str, Any], opset: int) -> tuple[Any, ...]:
    """Run one node; error messages contain the name of the node."""
    given = [values[name] if name else None for name in node.inputs]
    call = OnnxCall(node, given, opset)
    try:
        if node.operator == "If":
            is_true = bool(call.constant(0, "condition").all())
            branch = call.attribute("then_branch" if is_true else "else_branch")
            return tuple(evaluate(branch, values))
        found = OPERATORS[node.operator](call)
        results = cast("tuple[Any, ...]", found if isinstance(found, tuple) else (found,))
        return tuple(map(_to_constant, results)) if call.is_known else results
    except SeqloomError as error:
        raise type(error)(f"{node.label}: {error}") from error
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise OperationError(f"{node.label}: {error}") from error


def _to_constant(result: Any) -> Any:
    """Convert the result of constant inputs to a constant."""
    if result is None or is_known(result):
        return result
    if math.prod(result.shape) > MAX_CONSTANT_SIZE:
        raise OperationError(f"would compute {result.shape} numbers from constants")
    return np.asarray(to_tensor(result).raw)


OPERATORS: dict[str, Operator] = {
    **_layers.OPERATORS,
    **_elementwise.OPERATORS,
    **_indexing.OPERATORS,
    **_recurrent.OPERATORS,
    **_shapes.OPERATORS,
    **_windows.OPERATORS,
}
# Older ONNX Runtime names of operators that are now part of ONNX.
OPERATORS["com.microsoft.Gelu"] = OPERATORS["Gelu"]


def require_known(path: Path, graph: OnnxGraph) -> None:
    """Raise for the first node whose operator is not supported."""
    for node in graph.nodes:
        if node.operator not in OPERATORS and node.operator != "If":
            raise OperationError(
                f"{path}: {node.label} has an operator that from_onnx does not support. "
                "Export the model with other operators (a newer opset often has them), or "
                "pass output= a value that is computed before this node"
            )
        for inner in node.graphs:
            require_known(path, inner)
