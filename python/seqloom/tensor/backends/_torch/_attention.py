"""Attention with the fused kernels of PyTorch, for the arguments that they support.

On a CPU, attention uses the flash kernel. On CUDA, attention uses the flash kernel in
half precision without a mask, and the memory-efficient kernel in all other cases. Empty
arrays and dropout with a seqloom key use the default implementation. The kernels do not
check shapes, so this module does.
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
    has_cpu_kernel,
    has_cuda_kernel,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom._key import Key
    from seqloom.tensor._backend import Backend

aten = torch.ops.aten
# additive mask, True if causal, factor of the scores
Scoring = tuple[Tensor | None, bool, float | None]
_HALF_DTYPES = (torch.float16, torch.bfloat16)
_ATTENTION_AXES = 4  # number of axes of an array (n, h, l, d)


def attention(
    b: Backend,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    key: Key | Tensor | None = None,
    *,
    dropout: float = 0.0,
    **options: Any,  # the options are `scale` and `causal`
) -> tuple[Tensor, Tensor]:
    """Return the attention output ``(n, h, l, d)`` and the log-sum-exp ``(n, h, l)``."""
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
    """Return the gradients of ``attention`` with respect to q, k and v."""
    if grad.shape != out.shape or out.shape[:3] != q.shape[:3]:
        raise _make_shape_error(q, k, v, grad)
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
    """Return attention over packed sequences; each position attends to its own sequence."""
    options = rule["max_seqlen"], rule.get("scale"), rule.get("causal", False)
    if has_cpu_kernel(q, k, v):
        return attend_on_cpu(q, k, v, cu_seqlens, *options)
    if has_cuda_kernel(q, k, v, scale=rule.get("scale")):
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
    """Return the gradients of ``attention_varlen`` with respect to q, k and v."""
    arrays = grad, q, k, v, cu_seqlens, out, lse
    options = rule["max_seqlen"], rule.get("scale"), rule.get("causal", False)
    if has_cpu_kernel(grad, q, k, v, out):
        return attend_on_cpu_grad(*arrays, *options)
    if has_cuda_kernel(q, k, v, grad, out, scale=rule.get("scale")):
        return attend_on_cuda_grad(*arrays, *options)
    return _packed_attention.attention_varlen_grad(b, *arrays, **rule)


def _find_kernels(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, dropped: bool
) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """Return the forward and backward kernel for these arrays; None if no kernel fits."""
    rows, columns, values = q.shape, k.shape, v.shape
    if (
        columns[:-1] != values[:-1]
        or rows[:-2] != columns[:-2]
        or rows[-1] != columns[-1]
        or len(rows) != _ATTENTION_AXES
    ):
        raise _make_shape_error(q, k, v)
    plain = dropped or not q.dtype.is_floating_point or rows[-1] != values[-1]
    if plain or 0 in rows or 0 in columns:
        return None
    if q.device.type == "cpu":
        return _flash_cpu, _flash_cpu_grad
    if q.device.type != "cuda" or q.dtype is torch.float64:
        return None
    is_flash = q.dtype in _HALF_DTYPES and mask is None
    return (_flash_cuda, _flash_cuda_grad) if is_flash else (_efficient, _efficient_grad)


def _make_shape_error(*arrays: Tensor) -> ShapeError:
    """Return the error for arrays whose shapes do not match."""
    shapes = ", ".join(str(list(array.shape)) for array in arrays)
    return ShapeError(
        "attention: expected q (n, h, l, d), k (n, h, s, d), v (n, h, s, e), and a "
        f"gradient (n, h, l, e), got {shapes}"
    )


def _with_unit_stride(x: Tensor) -> Tensor:
    """Return an array that is contiguous along its last axis, as the kernels require."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _to_additive_mask(
    mask: Tensor | None,
    q: Tensor,
    columns: int,
    *,
    scale: float | None = None,
    causal: bool = False,
) -> Scoring:
    """Convert a mask to numbers that are added to the scores; return further options."""
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
    # The kernels require a stride of 1 along the last axis, or a length of 1.
    mask = mask if not mask.ndim or mask.shape[-1] == 1 else _with_unit_stride(mask)
    return mask.expand(q.shape[0], q.shape[1], rows, columns), False, scale


# Forward kernels, and backward kernels, whose arrays are [grad, q, k, v, out] ---


def _flash_cpu(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring) -> tuple[Tensor, Tensor]:
    """Run the flash kernel for CPUs."""
    added, causal, scale = scoring
    return aten._scaled_dot_product_flash_attention_for_cpu(  # noqa: SLF001
        q, k, v, 0.0, causal, attn_mask=added, scale=scale
    )


def _flash_cpu_grad(
    arrays: list[Tensor], lse: Tensor, scoring: Scoring
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the backward kernel of `_flash_cpu`, which needs `lse` in its memory order."""
    added, causal, scale = scoring
    lse = lse.transpose(1, 2).contiguous().transpose(1, 2)
    return aten._scaled_dot_product_flash_attention_for_cpu_backward(  # noqa: SLF001
        *arrays, lse, 0.0, causal, attn_mask=added, scale=scale
    )


def _flash_cuda(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring) -> tuple[Tensor, Tensor]:
    """Run the flash kernel for CUDA, without dropout."""
    _, causal, scale = scoring
    out, lse, *_ = aten._scaled_dot_product_flash_attention(  # noqa: SLF001
        q, k, v, 0.0, causal, scale=scale
    )
    return out, lse


def _flash_cuda_grad(
    arrays: list[Tensor], lse: Tensor, scoring: Scoring
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the backward kernel of `_flash_cuda`."""
    _, causal, scale = scoring
    _, q, k, *_ = arrays
    state = torch.zeros(2, dtype=torch.uint64, device=q.device)
    unused = torch.empty(0, dtype=torch.uint64, device=q.device)
    sizes = None, None, q.shape[-2], k.shape[-2]
    return aten._scaled_dot_product_flash_attention_backward(  # noqa: SLF001
        *arrays, lse, *sizes, 0.0, causal, state, unused, scale=scale
    )


def _efficient(q: Tensor, k: Tensor, v: Tensor, scoring: Scoring) -> tuple[Tensor, Tensor]:
    """Run the memory-efficient kernel, and remove the padding of the log-sum-exp."""
    added, causal, scale = scoring
    out, lse, *_ = aten._scaled_dot_product_efficient_attention(  # noqa: SLF001
        q, k, v, _align_mask_rows(added), True, 0.0, causal, scale=scale
    )
    return out, lse[..., : q.shape[-2]]


def _efficient_grad(
    arrays: list[Tensor], lse: Tensor, scoring: Scoring
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the backward kernel of `_efficient`."""
    added, causal, scale = scoring
    *inputs, out = arrays
    state = torch.zeros((), dtype=torch.int64)
    lse = torch.nn.functional.pad(lse, (0, -lse.shape[-1] % 32), value=math.inf)
    rest = lse, state, state, 0.0, [True, True, True, False], causal
    parts = aten._scaled_dot_product_efficient_attention_backward(  # noqa: SLF001
        *inputs, _align_mask_rows(added), out, *rest, scale=scale
    )
    return parts[0], parts[1], parts[2]


def _align_mask_rows(added: Tensor | None) -> Tensor | None:
    """Align the rows of a mask in memory, as the memory-efficient kernel requires."""
    if added is None or added.shape[-1] % 16 == 0:
        return added
    columns = added.shape[-1]
    return torch.nn.functional.pad(added, (0, -columns % 16))[..., :columns]
