"""Convert a traced graph to an ONNX model."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.export._onnx import _elementwise, _layers, _shapes
from seqloom.export._onnx._builder import Builder, unsupported_error
from seqloom.models import Classify, Multilabel, Regress
from seqloom.tensor import Backend
from seqloom.tensor._operations import OPERATIONS
from seqloom.tensor.backends._numpy import NumPyBackend

if TYPE_CHECKING:
    from seqloom.export._onnx._builder import WriteOperation
    from seqloom.export._trace import Traced
    from seqloom.models import Task
    from seqloom.tensor._graph import Operation, Value


OPSET_VERSION = 18  # first opset in which axes of reductions are an input
_IR_VERSION = 9
_OPERATION_WRITERS: dict[str, WriteOperation] = {
    **_elementwise.ELEMENTWISE_WRITERS,
    **_layers.LAYER_WRITERS,
    **_shapes.SHAPE_WRITERS,
}


def build_model(
    traced: Traced, arrays: dict[str, Any], *, task: Task, about: dict[str, Any]
) -> Any:
    """Create a model with the outputs, and with scores if the task defines a function."""
    b, graph = Builder(), traced.graph
    inputs = [value for value in graph.inputs if value.number in traced.inputs]
    for value in inputs:
        b.bind(value, traced.inputs[value.number])
    for value in graph.inputs:
        if (path := traced.weights.get(value.number)) is not None:
            b.constants[path] = arrays[path]
            b.bind(value, path)
    for number, array in graph.constants.items():
        b.names[number] = b.constant(array)
    for operation in graph.operations:
        _write_nodes(b, operation)
    outputs = _write_outputs(b, graph.outputs[0], task)
    declared = [_declare_value(b, traced.inputs[it.number], it) for it in inputs]
    return _make_proto(b, declared, outputs, about=about)


def _write_nodes(b: Builder, operation: Operation) -> None:
    """Convert an operation to ONNX nodes."""
    if operation.name not in _OPERATION_WRITERS:
        raise unsupported_error(operation)
    names = _OPERATION_WRITERS[operation.name](b, operation)
    # Values that a kernel stores for its gradient have no name, because no operation
    # reads them.
    for value, name in zip(operation.outputs, names, strict=False):
        b.bind(value, name)
        b.makers[value.number] = operation


def _write_outputs(b: Builder, value: Value, task: Task) -> list[Any]:
    """Set the names of the outputs and compute their scores."""
    raw = b.names[value.number]
    b.nodes.append(b.onnx.helper.make_node("Identity", [raw], ["outputs"]))
    declared = [_declare_value(b, "outputs", value)]
    if (scores := _write_scores(b, "outputs", value, task=task)) is not None:
        b.nodes.append(b.onnx.helper.make_node("Identity", [scores], ["scores"]))
        declared.append(_declare_value(b, "scores", value))
    return declared


def _declare_value(b: Builder, name: str, value: Value) -> Any:
    """Declare an input or an output; named sizes are dynamic."""
    kind = b.onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    shape = cast("tuple[int | str, ...]", value.shape)
    return b.onnx.helper.make_tensor_value_info(name, kind, list(shape))


def _make_proto(b: Builder, inputs: Any, outputs: Any, *, about: dict[str, Any]) -> Any:
    """Create the ONNX model, with the metadata as text."""
    helper, numpy_helper = b.onnx.helper, b.onnx.numpy_helper
    arrays = [
        numpy_helper.from_array(np.asarray(array, order="C"), name)
        for name, array in b.constants.items()
    ]
    graph = helper.make_graph(b.nodes, "seqloom", inputs, outputs, arrays)
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET_VERSION)],
        producer_name="seqloom",
        producer_version=version("seqloom"),
        ir_version=_IR_VERSION,
    )
    helper.set_model_props(model, {name: json.dumps(it) for name, it in about.items()})
    return model


def _write_scores(b: Builder, outputs: str, value: Value, *, task: Task) -> str | None:
    """Compute the scores; return None if the scores are equal to the outputs."""
    if isinstance(task, Classify):
        return b.node("Softmax", [outputs], axis=1)
    if isinstance(task, Multilabel):
        return b.node("Sigmoid", [outputs])
    if isinstance(task, Regress):
        scaled = b.node("Mul", [outputs, b.constant(task.deviation, value.dtype)])
        return b.node("Add", [scaled, b.constant(task.mean, value.dtype)])
    return None


# Other operations outside the array API standard are recorded as their default
# implementations.
_NATIVE_OPERATIONS = frozenset(
    {
        *("conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "max_pool1d"),
        *("embedding", "gelu", "gru", "layer_norm", "linear", "log_softmax", "logsumexp"),
        *("erf", "lstm", "relu", "sigmoid", "softmax"),
    }
)


class PrimitiveBackend(NumPyBackend):
    """A NumPy backend that decomposes operations for which ONNX has no operator."""


for _name, _files in OPERATIONS.items():
    if _files.has_default and _name != "index" and _name not in _NATIVE_OPERATIONS:
        setattr(PrimitiveBackend, _name, getattr(Backend, _name))
