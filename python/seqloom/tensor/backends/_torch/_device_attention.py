"""Attention over packed sequences on CUDA: torch's kernels, which wait for nothing.

Half precision takes ``torch.nn.attention.varlen`` on cards since Ampere: flash attention
over all keys in a row, so that no neighbour changes the order of a sequence's sums. Float32
and older cards take the memory-efficient kernel. Both read no row beyond a sequence's end.
"""

from __future__ import annotations

import math
from functools import cache
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from seqloom.tensor.backends._torch._host_attention import result, slopes
from seqloom.tensor.backends._torch._operation import operation

aten = torch.ops.aten
_HALF = (torch.float16, torch.bfloat16)
_ALIGNED = 16  # bytes
_FLASH_WIDTH = 256  # the widest head
_AMPERE = (8, 0)


def serves(q: Tensor, k: Tensor, v: Tensor, *others: Tensor, scale: float | None) -> bool:
    """Whether a kernel takes these arrays: on one CUDA device, of a width that it loads."""
    arrays = q, k, v, *others
    alike = all((x.dtype, x.device) == (q.dtype, q.device) for x in arrays)
    if not alike or q.device.type != "cuda" or torch.version.hip is not None:
        return False
    is_known = q.dtype in _HALF or q.dtype is torch.float32
    widths = q.shape[-1], v.shape[-1]
    whole = all(width and width * q.itemsize % _ALIGNED == 0 for width in widths)
    return is_known and whole and 0 not in q.shape and (scale is None or scale > 0)


@operation("attention_varlen_cuda")
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
    forward = _flash if takes_flash(q, v) else _efficient
    arrays = _align(q), _align(k), _align(v), cu_seqlens.int()
    out, lse = forward(*arrays, _longest(max_seqlen, q), scale, causal)
    # What lies beyond `max_seqlen` in a sequence was never written.
    is_longer = cu_seqlens.diff().max() > max_seqlen
    return torch.where(is_longer, math.nan, out), lse


@operation("attention_varlen_cuda_grad")
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
    backward: Any = _flash_grad if takes_flash(q, v) else _efficient_grad
    arrays = [_align(array) for array in (grad, q, k, v, out, lse)]
    rule = _longest(max_seqlen, q), scale, causal
    return backward(*arrays, cu_seqlens.int(), *rule)


attention_varlen.register_fake(result)
attention_varlen_grad.register_fake(slopes)


def _longest(max_seqlen: int, q: Tensor) -> int:
    """What a kernel is told of the longest sequence, which it counts threads by."""
    return max(min(max_seqlen, q.shape[0]), 1)


def _align(x: Tensor) -> Tensor:
    """An array whose rows follow each other, from a position where kernels can load."""
    x = x.contiguous()
    return x if x.data_ptr() % _ALIGNED == 0 else x.clone()


def takes_flash(q: Tensor, v: Tensor) -> bool:
    """Whether flash attention computes these arrays."""
    width = q.shape[-1]
    if q.dtype not in _HALF or width != v.shape[-1] or width > _FLASH_WIDTH:
        return False
    allowed = torch.backends.cuda.flash_sdp_enabled() and has_varlen()
    return allowed and torch.cuda.get_device_capability(q.device) >= _AMPERE


@cache
def has_varlen() -> bool:
    """Whether this torch has attention of varying lengths with all keys in a row."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return False
    return "num_splits" in signature(varlen_attn).parameters


def _flash(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens: Tensor,
    longest: int,
    scale: float | None,
    causal: bool,
) -> tuple[Tensor, Tensor]:
    """Flash attention."""
    from torch.nn.attention import varlen

    attend: Any = varlen.varlen_attn
    window, aux = (-1, 0 if causal else -1), varlen.AuxRequest(lse=True)
    sizes = cu_seqlens, cu_seqlens, longest, longest
    return attend(
        q, k, v, *sizes, return_aux=aux, scale=scale, window_size=window, num_splits=1
    )


def _flash_grad(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    cu_seqlens: Tensor,
    longest: int,
    scale: float | None,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Its derivative; the random state is that of no dropout."""
    state = torch.zeros(2, dtype=torch.uint64, device=q.device)
    unused = torch.empty(0, dtype=torch.uint64, device=q.device)
    sizes = cu_seqlens, cu_seqlens, longest, longest
    return aten._flash_attention_backward(  # noqa: SLF001
        grad, q, k, v, out, lse, *sizes, 0.0, causal, state, unused, scale=scale
    )


def _efficient(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens: Tensor,
    longest: int,
    scale: float | None,
    causal: bool,
) -> tuple[Tensor, Tensor]:
    """The memory-efficient kernel, whose log-sum-exp has a row for each sequence."""
    sizes = cu_seqlens, cu_seqlens, longest, longest
    out, lse, *_ = aten._efficient_attention_forward(  # noqa: SLF001
        q[None], k[None], v[None], None, *sizes, 0.0, int(causal), True, scale=scale
    )
    owner, at = _positions(cu_seqlens, q.shape[0], longest)
    return out[0], lse[owner, :, at].T.contiguous()


def _efficient_grad(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    cu_seqlens: Tensor,
    longest: int,
    scale: float | None,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Its derivative, by one block of threads for all keys: the order of sums is fixed."""
    owner, at = _positions(cu_seqlens, q.shape[0], longest)
    shape = cu_seqlens.shape[0] - 1, q.shape[1], longest + -longest % 32
    rows = lse.new_full(shape, math.inf)
    rows[owner, :, at] = lse.T
    state = torch.zeros((), dtype=torch.int64, device=q.device)
    arrays = grad[None], q[None], k[None], v[None], None, out[None]
    sizes = cu_seqlens, cu_seqlens, longest, longest
    by_q, by_k, by_v, _ = aten._efficient_attention_backward(  # noqa: SLF001
        *(*arrays, *sizes, rows, 0.0, state, state, int(causal), False),
        scale=scale,
        num_splits_key=1,
    )
    return by_q[0], by_k[0], by_v[0]


def _positions(cu_seqlens: Tensor, total: int, longest: int) -> tuple[Tensor, Tensor]:
    """Each row's sequence, and its position in there."""
    rows = torch.arange(total, dtype=cu_seqlens.dtype, device=cu_seqlens.device)
    owner = torch.searchsorted(cu_seqlens[1:], rows, right=True)
    owner = owner.clamp(max=cu_seqlens.shape[0] - 2)
    return owner, (rows - cu_seqlens[owner]).clamp(max=longest - 1)
