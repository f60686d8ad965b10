"""Load ONNX files with changed bytes and graphs."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.helper as make
from hostile import run, scratch

import seqloom as sl

_ONE_RECORD = np.zeros((1, 4, 8), np.float32)


def _try_one(data: bytes) -> None:
    path = scratch("network.onnx")
    path.write_bytes(data)
    network = sl.models.from_onnx(path)
    str(network)
    network.logits(_ONE_RECORD)


def _seeds() -> list[bytes]:
    weight = onnx.numpy_helper.from_array(np.ones((2, 4, 3), "float32"), "motif")
    matrix = onnx.numpy_helper.from_array(np.ones((2, 2), "float32"), "matrix")
    bias = onnx.numpy_helper.from_array(np.ones((2,), "float32"), "bias")
    shape = onnx.numpy_helper.from_array(np.array([0, -1], "int64"), "shape")
    nodes = [
        make.make_node("Conv", ["x", "motif"], ["a"], pads=[1, 1]),
        make.make_node("Relu", ["a"], ["b"]),
        make.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2], strides=[2]),
        make.make_node("GlobalAveragePool", ["c"], ["d"]),
        make.make_node("Reshape", ["d", "shape"], ["e"]),
        make.make_node("Gemm", ["e", "matrix", "bias"], ["f"], transB=1),
        make.make_node("Softmax", ["f"], ["y"], axis=1),
    ]
    x = make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4, "length"])
    y = make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 2])
    weights = [weight, matrix, bias, shape]
    whole = make.make_model(make.make_graph(nodes, "net", [x], [y], weights))
    one = make.make_graph(
        [make.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 1])], "net", [x], [y]
    )
    return [whole.SerializeToString(), make.make_model(one).SerializeToString()]


if __name__ == "__main__":
    run(_try_one, _seeds())
