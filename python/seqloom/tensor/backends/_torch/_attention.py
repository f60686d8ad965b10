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
from seqloom.tensor.backends._torch._packed_attention import (
    attend_on_cpu,
    attend_on_cpu_grad,
    attend_on_cuda,
    attend_on_cuda_grad,
    cpu_kernel_takes,
    cuda_kernel_takes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom._key import Key
    from seqloom.tensor._backend import Backend

aten = torch.ops.aten
# A mask that is added, whether it is causal, and the factor of the scores.
Scoring = tuple[Tensor | None, bool, float | None]
_HALF = (torch.float16, torch.bfloat16)
_AXES = 4  # n, h, l, d


def attention(
    b: Backend,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    key: Key | Tensor | None = None,
    *,
    dropout: float = 0.0,
    **options: Any,  # scale and causal
) -> tuple[Tensor, Tensor]:
    """Return result ``(n, h, l, d)`` and the log-sum-exp of the scores ``(n, h, l)``."""
    kernels = _find_kernels(q, k, v, mask, dropped=bool(dropout) and key is not None)
    if kernels is None:
        return _attention.attention(b, q, k, v, mask, key, dropout=dropout, **options)
    scoring = _to_additive_mask(mask, q, k.shape[-2], **options)
    return kernels[0](*map(_with_unit_stride, (q, k, v)), scoring)


def attention_grad(
    b: Backend,
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    key: Key | Tensor | None,
    out: Tensor,
    lse: Tensor,
    *,
    dropout: float = 0.0,
    **options: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the derivatives of ``attention`` by q, k and v."""
    if grad.shape != out.shape or out.shape[:3] != q.shape[:3]:
        raise _unequal(q, k, v, grad)
    kernels = _find_kernels(q, k, v, mask, dropped=bool(dropout) and key is not None)
    if kernels is None:
        saved = q, k, v, mask, key, out, lse
        return _attention.attention_grad(b, grad, *saved, dropout=dropout, **options)
    scoring = _to_additive_mask(mask, q, k.shape[-2], **options)
    arrays = list(map(_with_unit_stride, (grad, q, k, v, out)))
    return kernels[1](arrays, lse, scoring)


def attention_varlen(
    b: Backend, q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor, **rule: Any
) -> tuple[Tensor, Tensor]:
    """Attention within each of several sequences that lie end to end."""
    options = rule["max_seqlen"], rule.get("scale"), rule.get("causal", False)
    if cpu_kernel_takes(q, k, v):
        return attend_on_cpu(q, k, v, cu_seqlens, *options)
    if cuda_kernel_takes(q, k, v, scale=rule.get("scale")):
        return attend_on_cuda(q, k, v, cu_seqlens, *options)
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
    **rule: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the derivatives of ``attention_varlen`` by q, k and v."""
    arrays = grad, q, k, v, cu_seqlens, out, lse
    options = rule["max_seqlen"], rule.get("scale"), rule.get("causal", False)
    if cpu_kernel_takes(grad, q, k, v, out):
        return attend_on_cpu_grad(*arrays, *options)
    if cuda_kernel_takes(q, k, v, grad, out, scale=rule.get("scale")):
        return attend_on_cuda_grad(*arrays, *options)
    return _packed_attention.attention_varlen_grad(b, *arrays, **rule)


def _find_kernels(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, dropped: bool
) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """Return the kernels that compute the case, forward and backward, if there are any."""
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
        return _cpu, _cpu_grad
    if q.device.type != "cuda" or q.dtype is torch.float64:
        return None
    is_flash = q.dtype in _HALF and mask is None
    return (_flash, _flash_grad) if is_flash else (_efficient, _efficient_grad)


def _unequal(*arrays: Tensor) -> ShapeError:
    """Return the error for arrays that do not go together."""
    shapes = ", ".join(str(list(array.shape)) for array in arrays)
    return ShapeError(
        "attention: expected q (n, h, l, d), k (n, h, s, d), v (n, h, s, e), and a "
        f"gradient (n, h, l, e), got {shapes}"
    )


def _with_unit_stride(x: Tensor) -> Tensor:
    """Return the array as the kernels read it: numbers of the last axis side by side."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _to_additive_mask(
    mask: Tensor | None,
    q: Tensor,
    columns: int,
    *,
    scale: float | None = None,
    causal: bool = False,
) -> Scoring:
    """Return mask as what is added to the scores, the causal one in it.

    And what is left.
    """
    if mask is None:
        return None, causal, scale
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
    return mask.expand(q.shape[0], q.shape[1], rows, columns), False, scale


# Each kernel, and its derivatives from [grad, q, k, v, out] -----------------------------


def _cpu(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring) -> tuple[Tensor, Tensor]:
    """Return the flash kernel of the CPU."""
    added, causal, scale = scoring
    return aten._scaled_dot_product_flash_attention_for_cpu(  # noqa: SLF001
        q, k, v, 0.0, causal, attn_mask=added, scale=scale
    )


def _cpu_grad(
    arrays: list[Tensor], lse: Tensor, scoring: Scoring
) -> tuple[Tensor, Tensor, Tensor]:
    """It reads the log-sum-exp in the order that the kernel wrote it."""
    added, causal, scale = scoring
    lse = lse.transpose(1, 2).contiguous().transpose(1, 2)
    return aten._scaled_dot_product_flash_attention_for_cpu_backward(  # noqa: SLF001
        *arrays, lse, 0.0, causal, attn_mask=added, scale=scale
    )


def _flash(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring) -> tuple[Tensor, Tensor]:
    """Return the flash kernel of CUDA; its random state is that of no dropout."""
    _, causal, scale = scoring
    out, lse, *_ = aten._scaled_dot_product_flash_attention(  # noqa: SLF001
        q, k, v, 0.0, causal, scale=scale
    )
    return out, lse


def _flash_grad(
    arrays: list[Tensor], lse: Tensor, scoring: Scoring
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the derivatives."""
    _, causal, scale = scoring
    _, q, k, *_ = arrays
    state = torch.zeros(2, dtype=torch.uint64, device=q.device)
    unused = torch.empty(0, dtype=torch.uint64, device=q.device)
    sizes = None, None, q.shape[-2], k.shape[-2]
    return aten._scaled_dot_product_flash_attention_backward(  # noqa: SLF001
        *arrays, lse, *sizes, 0.0, causal, state, unused, scale=scale
    )


def _efficient(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring) -> tuple[Tensor, Tensor]:
    """Return the memory-efficient kernel; it pads the rows of the log-sum-exp."""
    added, causal, scale = scoring
    out, lse, *_ = aten._scaled_dot_product_efficient_attention(  # noqa: SLF001
        q, k, v, _align_rows(added), True, 0.0, causal, scale=scale
    )
    return out, lse[..., : q.shape[-2]]


def _efficient_grad(
    arrays: list[Tensor], lse: Tensor, scoring: Scoring
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the derivatives."""
    added, causal, scale = scoring
    *inputs, out = arrays
    state = torch.zeros((), dtype=torch.int64)
    lse = torch.nn.functional.pad(lse, (0, -lse.shape[-1] % 32), value=math.inf)
    rest = lse, state, state, 0.0, [True, True, True, False], causal
    parts = aten._scaled_dot_product_efficient_attention_backward(  # noqa: SLF001
        *inputs, _align_rows(added), out, *rest, scale=scale
    )
    return parts[0], parts[1], parts[2]


def _align_rows(added: Tensor | None) -> Tensor | None:
    """Return a mask whose rows begin where the kernel can load them."""
    if added is None or added.shape[-1] % 16 == 0:
        return added
    columns = added.shape[-1]
    return torch.nn.functional.pad(added, (0, -columns % 16))[..., :columns]
