"""Operators of ONNX that are products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.models._onnx._call import Call


def matmul(call: Call) -> Tensor:
    """Multiplies matrices."""
    return apply("matmul", call.tensor(0), call.tensor(1))


def gemm(call: Call) -> Tensor:
    """Multiplies two matrices, and adds a third."""
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    x, weight = call.tensor(0), call.tensor(1)
    x = apply("matrix_transpose", x) if call.attribute("transA", 0) else x
    bias = call.optional(2) if beta else None
    is_linear = alpha == 1 and (bias is None or (beta == 1 and bias.ndim == 1))
    if is_linear and call.attribute("transB", 0) and _is_wide(bias, weight.shape[0]):
        return apply("linear", x, weight, bias)
    weight = apply("matrix_transpose", weight) if call.attribute("transB", 0) else weight
    out = _times(apply("matmul", x, weight), alpha)
    return out if bias is None else out + _times(bias, beta)


def _is_wide(bias: Tensor | None, outputs: int) -> bool:
    """Whether a bias has a number for each output."""
    return bias is None or bias.shape == (outputs,)


def _times(x: Tensor, factor: float) -> Tensor:
    """Multiplies by a number that is mostly 1."""
    return x if factor == 1 else x * factor


def einsum(call: Call) -> Tensor:
    """Computes sums of products by Einstein's convention."""
    tensors = [call.tensor(place) for place in range(len(call))]
    equation = str(call.attribute("equation", ""))
    return apply("einsum", equation.replace(" ", ""), *tensors)


OPERATORS: dict[str, Callable[[Call], Any]] = {
    "Einsum": einsum,
    "Gemm": gemm,
    "MatMul": matmul,
}
