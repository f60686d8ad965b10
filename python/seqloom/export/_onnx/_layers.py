"""Products, convolutions, pooling and norms, in ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.export._onnx._builder import refuse
from seqloom.tensor._families._windows import to_sizes

if TYPE_CHECKING:
    from seqloom.export._onnx._builder import Builder
    from seqloom.export._onnx._elementwise import Write
    from seqloom.tensor._graph import Operation, Value


def _write_linear(b: Builder, operation: Operation) -> list[str]:
    """Writes linear: a product with the transposed weight, and the bias."""
    x, weight, *rest = operation.args
    turned = b.node("Transpose", [b.get(weight)], perm=[1, 0])
    found = b.node("MatMul", [b.get(x), turned])
    bias = rest[0] if rest else None
    return [found if bias is None else b.node("Add", [found, b.get(bias)])]


def _write_matmul(b: Builder, operation: Operation) -> list[str]:
    """Writes matmul."""
    dtype = operation.outputs[0].dtype
    return [b.node("MatMul", [b.get(it, dtype) for it in operation.args[:2]])]


def _geometry(operation: Operation, axes: int) -> dict[str, Any]:
    """Gives the attributes of a convolution."""
    options: Any = operation.options
    padding = list(to_sizes(options.get("padding", 0), axes))
    return {
        "strides": list(to_sizes(options.get("stride", 1), axes)),
        "pads": padding * 2,
        "dilations": list(to_sizes(options.get("dilation", 1), axes)),
        "group": options.get("groups", 1),
    }


def _write_convolution(b: Builder, operation: Operation) -> list[str]:
    """Writes a convolution."""
    inputs = [b.get(it) for it in operation.args[:3] if it is not None]
    axes = len(operation.outputs[0].shape) - 2
    return [b.node("Conv", inputs, **_geometry(operation, axes))]


def _write_transposed(b: Builder, operation: Operation) -> list[str]:
    """Writes a transposed convolution."""
    inputs = [b.get(it) for it in operation.args[:3] if it is not None]
    axes = len(operation.outputs[0].shape) - 2
    more = to_sizes(operation.options.get("output_padding", 0), axes)
    shape = _geometry(operation, axes)
    return [b.node("ConvTranspose", inputs, output_padding=list(more), **shape)]


def _write_pool(b: Builder, operation: Operation) -> list[str]:
    """Writes max_pool1d."""
    if operation.options.get("ceil_mode"):
        raise refuse(operation, " with ceil_mode")
    shape = _geometry(operation, 1)
    del shape["group"]
    kernel = list(to_sizes(operation.options["kernel"], 1))
    return [b.node("MaxPool", [b.get(operation.args[0])], kernel_shape=kernel, **shape)]


def _write_layer_norm(b: Builder, operation: Operation) -> list[str]:
    """Writes layer_norm over the last axis, with its mean and 1 / deviation."""
    x: Value = operation.args[0]
    weight, bias = operation.args[1], operation.args[2]
    scale = weight if weight is not None else np.ones(x.shape[-1:], x.dtype)
    inputs = [b.get(x), b.get(scale), *([] if bias is None else [b.get(bias)])]
    eps = operation.options["eps"]
    found = b.several("LayerNormalization", inputs, 3, axis=-1, epsilon=eps)
    last = b.integers([-1])
    return [found[0], *(b.node("Squeeze", [it, last]) for it in found[1:])]


TABLE: dict[str, Write] = {
    "conv1d": _write_convolution,
    "conv2d": _write_convolution,
    "conv_transpose1d": _write_transposed,
    "conv_transpose2d": _write_transposed,
    "layer_norm": _write_layer_norm,
    "linear": _write_linear,
    "matmul": _write_matmul,
    "max_pool1d": _write_pool,
}
