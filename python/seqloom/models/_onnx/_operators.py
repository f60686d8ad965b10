"""The operators of ONNX that can be computed, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import OperationError
from seqloom.models._onnx import (
    _activations,
    _elementwise,
    _indexing,
    _norms,
    _padding,
    _products,
    _recurrent,
    _reductions,
    _shapes,
    _windows,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from seqloom.models._onnx._call import Call
    from seqloom.models._onnx._graph import Graph

OPERATORS: dict[str, Callable[[Call], Any]] = {
    **_activations.OPERATORS,
    **_elementwise.OPERATORS,
    **_indexing.OPERATORS,
    **_norms.OPERATORS,
    **_padding.OPERATORS,
    **_products.OPERATORS,
    **_recurrent.OPERATORS,
    **_reductions.OPERATORS,
    **_shapes.OPERATORS,
    **_windows.OPERATORS,
}
# ONNX Runtime's names of what ONNX has by now.
OPERATORS["com.microsoft.Gelu"] = OPERATORS["Gelu"]


def require_known(path: Path, graph: Graph) -> None:
    """Refuses a graph with an operator that cannot be computed, naming the first."""
    for node in graph.nodes:
        if node.operator not in OPERATORS and node.operator != "If":
            raise OperationError(
                f"{path}: {node.label} is of an operator that from_onnx does not know; "
                "export the model with other operators (a newer opset often has them), or "
                "give output= a value that is computed before this node"
            )
        for inner in node.graphs:
            require_known(path, inner)
