"""Normalisation: torch's native kernels, forward and backward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from seqloom.tensor._families import _batch_norm, _layer_norms

aten = torch.ops.aten

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend


def layer_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, *, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, and the mean and 1 / deviation of each row."""
    out, mean, rstd = torch.native_layer_norm(x, x.shape[-1:], weight, bias, eps)
    return out, mean.squeeze(-1), rstd.squeeze(-1)


def layer_norm_grad(
    grad: Tensor, x: Tensor, weight: Tensor | None, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Any, Any]:
    """The derivatives of ``layer_norm`` by its input, weight and bias."""
    if weight is None:
        weight = torch.ones(x.shape[-1], dtype=x.dtype, device=x.device)
    # Of the bias only that there is one is looked at.
    return aten.native_layer_norm_backward(
        grad,
        x,
        x.shape[-1:],
        mean.unsqueeze(-1),
        rstd.unsqueeze(-1),
        weight,
        weight,
        [True, True, True],
    )


def rms_norm(
    b: Backend, x: Tensor, weight: Tensor | None, *, eps: float
) -> tuple[Tensor, Tensor]:
    """The result and 1 / root mean square of each row."""
    if not x.is_cuda:
        return _layer_norms.rms_norm(b, x, weight, eps=eps)
    out, rstd = aten._fused_rms_norm(x, x.shape[-1:], weight, eps)  # noqa: SLF001
    return out, rstd.squeeze(-1)


def rms_norm_grad(
    grad: Tensor, x: Tensor, weight: Tensor | None, rstd: Tensor
) -> tuple[Tensor, Any]:
    """The derivatives of ``rms_norm`` by its input and weight."""
    rstd = rstd.unsqueeze(-1)
    if not x.is_cuda:
        return _rms_norm_grad(grad, x, weight, rstd)
    if weight is None:
        weight = torch.ones(x.shape[-1], dtype=x.dtype, device=x.device)
    return aten._fused_rms_norm_backward(  # noqa: SLF001
        grad, x, x.shape[-1:], rstd, weight, [True, True]
    )


def batch_norm(
    b: Backend,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    mask: Tensor | None = None,
    *,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, the means and the biased variances ``(c,)``."""
    if mask is not None:
        return _batch_norm.batch_norm(b, x, weight, bias, mask, eps=eps)
    out, mean, rstd = torch.native_batch_norm(x, weight, bias, None, None, True, 0.0, eps)
    return out, mean, rstd.square().reciprocal() - eps


def batch_norm_grad(
    b: Backend,
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    mask: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    *,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The derivatives of ``batch_norm`` by its input, weight and bias."""
    if mask is not None:
        return _batch_norm.batch_norm_grad(
            b, grad, x, weight, mask, mean, variance, eps=eps
        )
    rstd = (variance + eps).rsqrt()
    return aten.native_batch_norm_backward(
        grad, x, weight, None, None, mean, rstd, True, eps, [True, True, True]
    )


def _rms_norm_grad(
    grad: Tensor, x: Tensor, weight: Tensor | None, rstd: Tensor
) -> tuple[Tensor, Tensor]:
    """The derivatives, where torch has a kernel for CUDA only."""
    scaled = x * rstd
    inward = grad if weight is None else grad * weight
    slope = torch.mean(inward * scaled, -1, keepdim=True)
    by_weight = torch.sum((grad * scaled).reshape(-1, x.shape[-1]), 0)
    return (inward - scaled * slope) * rstd, by_weight
