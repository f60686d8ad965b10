"""Attention over packed sequences on a CPU: the Rust kernels, on torch's memory.

They are quicker than torch's kernels called for each sequence. Each is an operation of the
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
    arrays = [array_of(array) for array in (q, k, v, cu_seqlens)]
    rule = {"max_seqlen": max_seqlen, "scale": scale, "causal": causal}
    out, lse = host().attention_varlen(*arrays, **rule)
    return tensor_of(out), tensor_of(lse)


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
    arrays = [array_of(array) for array in (grad, q, k, v, cu_seqlens, out, lse)]
    rule = {"max_seqlen": max_seqlen, "scale": scale, "causal": causal}
    by_q, by_k, by_v = host().attention_varlen_grad(*arrays, **rule)
    return tensor_of(by_q), tensor_of(by_k), tensor_of(by_v)


def serves(*arrays: Tensor) -> bool:
    """Whether the kernels take these arrays: on a CPU, all of 32 or all of 64 bits."""
    kinds = {array.dtype for array in arrays}
    on_cpu = all(array.device.type == "cpu" for array in arrays)
    return on_cpu and len(kinds) == 1 and kinds <= {torch.float32, torch.float64}


@attention_varlen.register_fake
def _result(q: Tensor, _k: Tensor, v: Tensor, *_rule: object) -> tuple[Tensor, Tensor]:
    """The shapes of the result and of its log-sum-exp."""
    return q.new_empty(v.shape), q.new_empty(q.shape[1::-1])


@attention_varlen_grad.register_fake
def _slopes(
    _grad: Tensor, q: Tensor, k: Tensor, v: Tensor, *_rule: object
) -> tuple[Tensor, Tensor, Tensor]:
    """The shapes of the derivatives."""
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)
