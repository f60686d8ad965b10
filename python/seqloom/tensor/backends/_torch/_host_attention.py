"""Attention over packed sequences on a CPU: the Rust kernels, on torch's memory.

They are quicker than torch's kernels called for each sequence, in half precision too,
which is converted to float32 and back. Each is an operation of the
library ``seqloom`` with a fake form, so that ``torch.compile`` takes it as one node.
"""

from __future__ import annotations

import torch
from torch import Tensor

from seqloom.tensor.backends._torch._host import array_of, host, tensor_of
from seqloom.tensor.backends._torch._operation import operation


@operation("attention_varlen")
def attention_varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens: Tensor,
    max_seqlen: int,
    scale: float | None,
    causal: bool,
) -> tuple[Tensor, Tensor]:
    """The result ``(total, h, d)`` and the log-sum-exp ``(h, total)``."""
    arrays = [array_of(widen(array)) for array in (q, k, v, cu_seqlens)]
    rule = {"max_seqlen": max_seqlen, "scale": scale, "causal": causal}
    out, lse = host().attention_varlen(*arrays, **rule)
    return tensor_of(out).to(v.dtype), tensor_of(lse)


@operation("attention_varlen_grad")
def attention_varlen_grad(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens: Tensor,
    out: Tensor,
    lse: Tensor,
    max_seqlen: int,
    scale: float | None,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The derivatives of ``attention_varlen`` by q, k and v."""
    arrays = [array_of(widen(array)) for array in (grad, q, k, v, cu_seqlens, out, lse)]
    rule = {"max_seqlen": max_seqlen, "scale": scale, "causal": causal}
    by_q, by_k, by_v = map(tensor_of, host().attention_varlen_grad(*arrays, **rule))
    return by_q.to(q.dtype), by_k.to(k.dtype), by_v.to(v.dtype)


def serves(*arrays: Tensor) -> bool:
    """Whether the kernels take these arrays: on a CPU, all of one float type."""
    kinds = {array.dtype for array in arrays}
    on_cpu = all(array.device.type == "cpu" for array in arrays)
    return on_cpu and len(kinds) == 1 and kinds <= _TYPES


_HALF = frozenset({torch.float16, torch.bfloat16})
_TYPES = _HALF | {torch.float32, torch.float64}


def widen(x: Tensor) -> Tensor:
    """Half precision as float32, in which the kernels compute; other arrays as they are."""
    return x.float() if x.dtype in _HALF else x


@attention_varlen.register_fake
def result(q: Tensor, _k: Tensor, v: Tensor, *_rule: object) -> tuple[Tensor, Tensor]:
    """The shapes of the result and of its log-sum-exp."""
    sums = torch.float32 if q.dtype in _HALF else q.dtype
    return q.new_empty(v.shape), q.new_empty(q.shape[1::-1], dtype=sums)


@attention_varlen_grad.register_fake
def slopes(
    _grad: Tensor, q: Tensor, k: Tensor, v: Tensor, *_rule: object
) -> tuple[Tensor, Tensor, Tensor]:
    """The shapes of the derivatives."""
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)
