"""Attention: torch's fused kernels, where the case is one of theirs.

On a CPU the flash kernel; on CUDA flash in half precision without a mask, else the
memory-efficient one. Weights that are dropped by our key take the default body, and so do
arrays without numbers. The kernels look at no shape themselves: it is done here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from seqloom.errors import ShapeError
from seqloom.tensor._families import _attention, _packed_attention
from seqloom.tensor.backends._torch import (
    _device_attention as device,
    _host_attention as host,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._backend import Backend

aten = torch.ops.aten
_HALF = (torch.float16, torch.bfloat16)
_AXES = 4  # n, h, l, d


def attention(
    b: Backend,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    key: Any = None,
    *,
    scale: float | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """The result ``(n, h, l, d)`` and the log-sum-exp of the scores ``(n, h, l)``."""
    forward = _forward(q, k, v, mask, dropped=bool(dropout) and key is not None)
    if forward is None:
        return _attention.attention(
            b, q, k, v, mask, key, scale=scale, causal=causal, dropout=dropout
        )
    added = _to_additive_mask(mask, q, k.shape[-2], causal=causal)
    laid = _with_unit_stride(q), _with_unit_stride(k), _with_unit_stride(v)
    return forward(*laid, added, causal and mask is None, scale)


def attention_grad(
    b: Backend,
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    key: Any,
    out: Tensor,
    lse: Tensor,
    *,
    scale: float | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """The derivatives of ``attention`` by q, k and v."""
    if grad.shape != out.shape or out.shape[:3] != q.shape[:3]:
        raise _unequal(q, k, v, grad)
    forward = _forward(q, k, v, mask, dropped=bool(dropout) and key is not None)
    if forward is None:
        return _attention.attention_grad(
            b,
            grad,
            q,
            k,
            v,
            mask,
            key,
            out,
            lse,
            scale=scale,
            causal=causal,
            dropout=dropout,
        )
    added = _to_additive_mask(mask, q, k.shape[-2], causal=causal)
    saved = (
        _with_unit_stride(q),
        _with_unit_stride(k),
        _with_unit_stride(v),
        added,
        _with_unit_stride(out),
        lse,
    )
    return _BACKWARD[forward](
        _with_unit_stride(grad), *saved, causal and mask is None, scale
    )


def attention_varlen(
    b: Backend,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens: Tensor,
    *,
    max_seqlen: int,
    scale: float | None = None,
    causal: bool = False,
) -> tuple[Tensor, Tensor]:
    """Attention within each of several sequences that lie end to end."""
    given = q, k, v, cu_seqlens, max_seqlen, scale, causal
    if host.serves(q, k, v):
        return host.attention_varlen(*given)
    if device.serves(q, k, v, scale=scale):
        return device.attention_varlen(*given)
    rule: Any = {"max_seqlen": max_seqlen, "scale": scale, "causal": causal}
    return _packed_attention.attention_varlen(b, q, k, v, cu_seqlens, **rule)


def attention_varlen_grad(
    b: Backend,
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens: Tensor,
    out: Tensor,
    lse: Tensor,
    *,
    max_seqlen: int,
    scale: float | None = None,
    causal: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """The derivatives of ``attention_varlen`` by q, k and v."""
    given = q, k, v, cu_seqlens, out, lse
    if host.serves(grad, q, k, v, out):
        return host.attention_varlen_grad(grad, *given, max_seqlen, scale, causal)
    if device.serves(q, k, v, grad, out, scale=scale):
        return device.attention_varlen_grad(grad, *given, max_seqlen, scale, causal)
    rule: Any = {"max_seqlen": max_seqlen, "scale": scale, "causal": causal}
    return _packed_attention.attention_varlen_grad(b, grad, *given, **rule)


def _forward(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, dropped: bool
) -> Callable[..., Any] | None:
    """The kernel that serves, if one does."""
    rows, columns, values = q.shape, k.shape, v.shape
    if (
        columns[:-1] != values[:-1]
        or rows[:-2] != columns[:-2]
        or rows[-1] != columns[-1]
        or len(rows) != _AXES
    ):
        raise _unequal(q, k, v)
    plain = dropped or not q.dtype.is_floating_point or rows[-1] != values[-1]
    if plain or 0 in rows or 0 in columns:
        return None
    if q.device.type == "cpu":
        return _cpu
    if q.device.type != "cuda" or q.dtype is torch.float64:
        return None
    return _flash if q.dtype in _HALF and mask is None else _efficient


def _unequal(*arrays: Tensor) -> ShapeError:
    """The error for arrays that do not go together."""
    shapes = ", ".join(str(list(array.shape)) for array in arrays)
    return ShapeError(
        "attention: expected q (n, h, l, d), k (n, h, s, d), v (n, h, s, e), and a "
        f"gradient (n, h, l, e), got {shapes}"
    )


def _with_unit_stride(x: Tensor) -> Tensor:
    """The array as the kernels read it: numbers of the last axis side by side."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _to_additive_mask(
    mask: Tensor | None, q: Tensor, columns: int, *, causal: bool
) -> Tensor | None:
    """A mask as what is added to the scores, of four axes; with the causal one in it."""
    if mask is None:
        return None
    rows = q.shape[-2]
    if mask.dtype is torch.bool:
        zeros = torch.zeros((), dtype=q.dtype, device=q.device)
        mask = torch.where(mask, zeros, -math.inf)
    if causal:
        ones = torch.ones(rows, columns, dtype=torch.bool, device=q.device)
        mask = mask.masked_fill(ones.triu(1), -math.inf)
    mask = mask.to(q.dtype)
    # The kernels step along the last axis by one number, or stay.
    mask = mask if not mask.ndim or mask.shape[-1] == 1 else _with_unit_stride(mask)
    return mask.expand(q.shape[0], q.shape[1], rows, columns)


def _cpu(
    q: Tensor, k: Tensor, v: Tensor, added: Any, causal: bool, scale: Any
) -> tuple[Tensor, Tensor]:
    """The flash kernel of the CPU."""
    return aten._scaled_dot_product_flash_attention_for_cpu(  # noqa: SLF001
        q, k, v, 0.0, causal, attn_mask=added, scale=scale
    )


def _cpu_grad(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    added: Any,
    out: Tensor,
    lse: Tensor,
    causal: bool,
    scale: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Its derivative; it reads the log-sum-exp in the order that the kernel wrote it."""
    lse = lse.transpose(1, 2).contiguous().transpose(1, 2)
    return aten._scaled_dot_product_flash_attention_for_cpu_backward(  # noqa: SLF001
        grad, q, k, v, out, lse, 0.0, causal, attn_mask=added, scale=scale
    )


def _flash(
    q: Tensor, k: Tensor, v: Tensor, _added: Any, causal: bool, scale: Any
) -> tuple[Tensor, Tensor]:
    """The flash kernel of CUDA; its random state is that of no dropout."""
    out, lse, *_ = aten._scaled_dot_product_flash_attention(  # noqa: SLF001
        q, k, v, 0.0, causal, scale=scale
    )
    return out, lse


def _flash_grad(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    _added: Any,
    out: Tensor,
    lse: Tensor,
    causal: bool,
    scale: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Its derivative."""
    state = torch.zeros(2, dtype=torch.uint64, device=q.device)
    unused = torch.empty(0, dtype=torch.uint64, device=q.device)
    sizes = None, None, q.shape[-2], k.shape[-2]
    return aten._scaled_dot_product_flash_attention_backward(  # noqa: SLF001
        grad, q, k, v, out, lse, *sizes, 0.0, causal, state, unused, scale=scale
    )


def _efficient(
    q: Tensor, k: Tensor, v: Tensor, added: Any, causal: bool, scale: Any
) -> tuple[Tensor, Tensor]:
    """The memory-efficient kernel; it pads the rows of the log-sum-exp."""
    out, lse, *_ = aten._scaled_dot_product_efficient_attention(  # noqa: SLF001
        q, k, v, _align_rows(added), True, 0.0, causal, scale=scale
    )
    return out, lse[..., : q.shape[-2]]


def _efficient_grad(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    added: Any,
    out: Tensor,
    lse: Tensor,
    causal: bool,
    scale: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Its derivative."""
    state = torch.zeros((), dtype=torch.int64)
    lse = torch.nn.functional.pad(lse, (0, -lse.shape[-1] % 32), value=math.inf)
    wanted = [True, True, True, False]
    parts = aten._scaled_dot_product_efficient_attention_backward(  # noqa: SLF001
        grad,
        q,
        k,
        v,
        _align_rows(added),
        out,
        lse,
        state,
        state,
        0.0,
        wanted,
        causal,
        scale=scale,
    )
    return parts[0], parts[1], parts[2]


def _align_rows(added: Tensor | None) -> Tensor | None:
    """A mask whose rows begin where the kernel can load them."""
    if added is None or added.shape[-1] % 16 == 0:
        return added
    columns = added.shape[-1]
    return torch.nn.functional.pad(added, (0, -columns % 16))[..., :columns]


_BACKWARD = {_cpu: _cpu_grad, _flash: _flash_grad, _efficient: _efficient_grad}
