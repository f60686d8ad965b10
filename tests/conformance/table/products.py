"""PyTorch samples for matrix products."""

from typing import Any

import torch
from torch.nn import functional

from conformance.call import Call, Operation, Skip, first, same


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


def _feed_forward(x: Any, weight: Any, bias: Any = None) -> Call | Skip:
    if weight.ndim < 2 or not x.shape[-1]:
        return Skip("vector-as-weight")
    norm = torch.ones_like(weight[0]), torch.zeros_like(weight[0])
    args = (x, *norm, weight, bias, weight.detach().T.contiguous(), None)
    theirs = _feed_forward_of_torch
    return Call(args, {"eps": 1e-5}, theirs=theirs, followed=(0, 3))


def _feed_forward_of_torch(x: Any, weight: Any, shift: Any, *layers: Any) -> Any:
    normal = functional.layer_norm(x, weight.shape, weight, shift, 1e-5)
    hidden = functional.gelu(functional.linear(normal, *layers[:2]))
    return x + functional.linear(hidden, *layers[2:])


def _rotary_linear(x: Any, weight: Any, bias: Any = None) -> Call | Skip:
    """Test rotary embeddings with heads of width 2, which need a single angle."""
    if weight.ndim < 2 or not x.shape[-1]:
        return Skip("vector-as-weight")
    six = None if bias is None else torch.cat([bias] * 6)
    angle = x.detach()[..., :1]
    args = (x, torch.cat([weight] * 6), six, angle.cos(), angle.sin())
    heads = weight.shape[0]
    return Call(args, {"heads": heads}, theirs=_queries, ours_out=first, followed=(0, 1))


def _queries(x: Any, weight: Any, bias: Any, cosine: Any, sine: Any) -> Any:
    rows = functional.linear(x, weight, bias)
    rows = rows.reshape(*x.shape[:-1], 3, weight.shape[0] // 6, 2)
    one, other = rows[..., 0, :, 0], rows[..., 0, :, 1]
    turned = one * cosine - other * sine, other * cosine + one * sine
    return torch.stack(turned, -1)


def _einsum(operands: Any, equation: str) -> Call:
    operands = list(operands)
    return Call(
        (equation, *operands),
        theirs=torch.einsum,
    )


def _vecdot(x: Any, y: Any, dim: int = -1) -> Call | Skip:
    return Call((x, y), {"axis": dim}) if x.shape == y.shape else Skip("broadcast-vecdot")


PRODUCT_OPERATIONS: dict[str, Operation] = {
    "matmul": Operation("matmul", same),
    "tensordot": Operation("tensordot", _tensordot),
    "linear": Operation("nn.functional.linear", _linear),
    "linear_by_row": Operation("nn.functional.linear", _linear),
    "feed_forward": Operation("nn.functional.linear", _feed_forward),
    "rotary_linear": Operation("nn.functional.linear", _rotary_linear),
    "einsum": Operation("einsum", _einsum),
    "vecdot": Operation("linalg.vecdot", _vecdot),
}
