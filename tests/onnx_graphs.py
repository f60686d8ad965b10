"""Small ONNX files for tests, and the results of ONNX Runtime."""

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Inputs and outputs have unknown shapes in the file.
NEWEST_OPSET = 21


def save(path, nodes, inputs, *, weights=None, outputs=("y",), opset=NEWEST_OPSET):
    """Write an ONNX file; `inputs` and `weights` (initialisers) are arrays by name."""
    dtype = helper.np_dtype_to_tensor_dtype
    given = [
        helper.make_tensor_value_info(name, dtype(array.dtype), None)
        for name, array in inputs.items()
    ]
    made = [helper.make_value_info(name, onnx.TypeProto()) for name in outputs]
    arrays = [
        numpy_helper.from_array(np.asarray(array), name)
        for name, array in (weights or {}).items()
    ]
    graph = helper.make_graph(nodes, "graph", given, made, arrays)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10
    )
    onnx.save(model, path)
    return path


def reference(path, inputs) -> Any:
    """Compute the outputs with ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options)
    return session.run(None, inputs)


def floats(*shape, seed=0):
    """Return normally distributed numbers."""
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def node(operator, inputs, outputs=("y",), **attributes):
    """Create a node; two strings list the names of its inputs and outputs."""
    names = inputs.split() if isinstance(inputs, str) else inputs
    return helper.make_node(
        operator, ["" if name == "-" else name for name in names], outputs, **attributes
    )


FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
