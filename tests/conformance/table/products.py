"""Products of matrices."""

from typing import Any

import torch

from conformance.call import Call, Operation, Skip, same


def _tensordot(x: Any, y: Any, dims: Any) -> Call | Skip:
    axes = dims if isinstance(dims, int) else tuple(tuple(each) for each in dims)
    if not isinstance(axes, int):
        lengths = [
            [each.shape[i] for i in of] for each, of in zip((x, y), axes, strict=True)
        ]
        if lengths[0] != lengths[1]:
            return Skip("stretched-contraction")
    return Call((x, y), {"axes": axes})


def _linear(x: Any, weight: Any, bias: Any = None) -> Call | Skip:
    return Call((x, weight, bias)) if weight.ndim > 1 else Skip("vector-as-weight")


def _einsum(operands: Any, equation: str) -> Call:
    operands = list(operands)
    return Call(
        (equation, *operands),
        theirs=torch.einsum,
    )


def _vecdot(x: Any, y: Any, dim: int = -1) -> Call | Skip:
    return Call((x, y), {"axis": dim}) if x.shape == y.shape else Skip("broadcast-vecdot")


PRODUCTS: dict[str, Operation] = {
    "matmul": Operation("matmul", same),
    "tensordot": Operation("tensordot", _tensordot),
    "linear": Operation("nn.functional.linear", _linear),
    "einsum": Operation("einsum", _einsum),
    "vecdot": Operation("linalg.vecdot", _vecdot),
}
