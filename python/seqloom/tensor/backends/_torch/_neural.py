"""Convolutions, pooling, normalisation and losses, with PyTorch's native kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from seqloom.tensor._families import _norms
from seqloom.tensor._families._windows import Windows, crop_input, to_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._families._windows import Size

aten = torch.ops.aten
_RANK_1D = 3  # number of axes of an array (n, c, l)


def conv(x: Tensor, weight: Tensor, bias: Tensor | None = None, **geometry: Any) -> Tensor:
    """Return the cross-correlation along the last one or two axes."""
    function = functional.conv1d if x.ndim == _RANK_1D else functional.conv2d
    return function(x, weight, bias, **geometry)


def conv_transpose(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, **geometry: Any
) -> Tensor:
    """Return the transposed convolution."""
    is_row = x.ndim == _RANK_1D
    function = functional.conv_transpose1d if is_row else functional.conv_transpose2d
    return function(x, weight, bias, **geometry)


def conv_input_grad(
    grad: Tensor, weight: Tensor, shape: Sequence[int], **geometry: Any
) -> Tensor:
    """Return the gradient of `conv` with respect to its input, in the given shape."""
    x = _make_dummy(grad, shape)
    return _conv_backward(grad, x, weight, (True, False, False), **geometry)[0]


def conv_weight_grad(
    x: Tensor, grad: Tensor, shape: Sequence[int], **geometry: Any
) -> tuple[Tensor, Tensor]:
    """Return the gradients of `conv` with respect to its weight and its bias."""
    x, weight = crop_input(x, grad, shape, **geometry), _make_dummy(grad, shape)
    _, weight, bias = _conv_backward(grad, x, weight, (False, True, True), **geometry)
    return weight, bias


def conv_grads(
    grad: Tensor,
    x: Tensor,
    weight: Tensor | Sequence[int],
    *,
    wanted: Sequence[bool],
    **geometry: Any,
) -> Any:
    """Compute up to three gradients of a convolution in one call, selected by `wanted`."""
    # Without the gradient of the input, only the shape of the weight is needed.
    if not isinstance(weight, Tensor):
        x, weight = crop_input(x, grad, weight, **geometry), _make_dummy(grad, weight)
    found = _conv_backward(grad, x, weight, wanted, **geometry)
    made = [part for part, is_wanted in zip(found, wanted, strict=True) if is_wanted]
    return made if len(made) > 1 else made[0]


def _make_dummy(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """Return an array with the given shape that uses the memory of one element."""
    return grad.new_empty(1).expand(tuple(shape))


def _conv_backward(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    wanted: Sequence[bool],
    *,
    groups: int = 1,
    **geometry: Size,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the gradients of input, weight and bias that `wanted` selects."""
    kernel, *sizes, _ = Windows.make(weight.shape[2:], **geometry)
    none = [0] * len(kernel)
    biases = [weight.shape[0]]
    return aten.convolution_backward(
        grad, x, weight, biases, *sizes, False, none, groups, list(wanted)
    )


# One function implements the operations for both one and two axes.
conv1d = conv2d = conv
conv1d_input_grad = conv2d_input_grad = conv_input_grad
conv1d_weight_grad = conv2d_weight_grad = conv_weight_grad
conv_transpose1d = conv_transpose2d = conv_transpose


def max_pool(x: Tensor, *, kernel: Size, **geometry: Any) -> tuple[Tensor, Tensor]:
    """Return the maximum of each window, and its index in the row or flattened plane."""
    function: Any = functional.max_pool1d if x.ndim == _RANK_1D else functional.max_pool2d
    out, indices = function(_force_storage(x), kernel, **geometry, return_indices=True)
    return out, _force_storage(indices)


def max_pool_grad(grad: Tensor, indices: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the gradient of `max_pool` with respect to its input."""
    if grad.ndim == _RANK_1D:
        plane = (*shape[:2], 1, shape[2])
        return max_pool_grad(grad[:, :, None], indices[:, :, None], plane)[:, :, 0]
    kernel = [
        size - count + 1 for size, count in zip(shape[2:], grad.shape[2:], strict=True)
    ]
    if grad.is_cuda or min(kernel) < 1:
        zeros = grad.new_zeros((*shape[:2], torch.Size(shape[2:]).numel()))
        flat = zeros.scatter_add(-1, indices.flatten(2), grad.flatten(2))
        return flat.reshape(tuple(shape))
    # On a CPU, the kernel uses the indices, and the window size only has to be
    # consistent with the number of windows.
    x = grad.new_empty(1).expand(tuple(shape))
    return aten.max_pool2d_with_indices_backward(
        grad, x, kernel, [1, 1], [0, 0], [1, 1], False, indices
    )


def avg_pool(x: Tensor, *, kernel: Size, **options: Any) -> Tensor:
    """Return the mean of each window."""
    function: Any = functional.avg_pool1d if x.ndim == _RANK_1D else functional.avg_pool2d
    return function(x, kernel, **options)


def avg_pool_grad(
    grad: Tensor,
    shape: Sequence[int],
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    **options: Any,
) -> Tensor:
    """Return the gradient of `avg_pool` with respect to its input."""
    sizes = [to_sizes(size, len(shape) - 2) for size in (kernel, stride, padding)]
    if grad.ndim == _RANK_1D:
        names = {"kernel": (1, *sizes[0]), "stride": (1, *sizes[1])}
        options |= {**names, "padding": (0, *sizes[2])}
        plane = (*shape[:2], 1, shape[2])
        return avg_pool_grad(grad[:, :, None], plane, **options)[:, :, 0]
    x = grad.new_empty(1).expand(tuple(shape))
    known = {"ceil_mode": False, "count_include_pad": True, "divisor_override": None}
    return aten.avg_pool2d_backward(grad, x, *sizes, *(known | options).values())


def _force_storage(x: Tensor) -> Tensor:
    """Return the same array, but make torch.compile store it instead of recomputing it."""
    # torch.compile would recompute the input of pooling for each window, and again in
    # the backward pass. A strided view prevents the recomputation.
    if not torch.compiler.is_compiling() or x.device.type != "cpu":
        return x
    return x.as_strided(x.shape, x.stride())


# One function implements the operations for both one and two axes.
max_pool1d = max_pool2d = max_pool
max_pool1d_grad = max_pool2d_grad = max_pool_grad
avg_pool1d = avg_pool2d = avg_pool
avg_pool1d_grad = avg_pool2d_grad = avg_pool_grad


def layer_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, *, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the normalised rows, and the mean and 1 / deviation of each row."""
    out, mean, rstd = torch.native_layer_norm(x, x.shape[-1:], weight, bias, eps)
    return out, mean.squeeze(-1), rstd.squeeze(-1)


def layer_norm_grad(
    grad: Tensor, x: Tensor, weight: Tensor | None, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``layer_norm`` with respect to input, weight and bias."""
    if weight is None:
        weight = torch.ones(x.shape[-1], dtype=x.dtype, device=x.device)
    # The kernel only checks whether a bias exists, so pass the weight instead.
    statistics = mean.unsqueeze(-1), rstd.unsqueeze(-1)
    return aten.native_layer_norm_backward(
        grad, x, x.shape[-1:], *statistics, weight, weight, [True, True, True]
    )


def rms_norm(
    b: Backend, x: Tensor, weight: Tensor | None, *, eps: float
) -> tuple[Tensor, Tensor]:
    """Return the normalised rows, and 1 / root mean square of each row."""
    if not x.is_cuda:
        return _norms.rms_norm(b, x, weight, eps=eps)
    out, rstd = aten._fused_rms_norm(x, x.shape[-1:], weight, eps)  # noqa: SLF001
    return out, rstd.squeeze(-1)


def rms_norm_grad(
    grad: Tensor, x: Tensor, weight: Tensor | None, rstd: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of ``rms_norm`` with respect to input and weight."""
    rstd = rstd.unsqueeze(-1)
    if not x.is_cuda:
        scaled = x * rstd
        inward = grad if weight is None else grad * weight
        slope = torch.mean(inward * scaled, -1, keepdim=True)
        by_weight = torch.sum((grad * scaled).reshape(-1, x.shape[-1]), 0)
        return (inward - scaled * slope) * rstd, by_weight
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
    """Return the normalised array, and the means and biased variances ``(c,)``."""
    if mask is not None:
        return _norms.batch_norm(b, x, weight, bias, mask, eps=eps)
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
    """Return the gradients of ``batch_norm`` with respect to input, weight and bias."""
    if mask is not None:
        return _norms.batch_norm_grad(b, grad, x, weight, mask, mean, variance, eps=eps)
    rstd = (variance + eps).rsqrt()
    return aten.native_batch_norm_backward(
        grad, x, weight, None, None, mean, rstd, True, eps, [True, True, True]
    )


def cross_entropy(
    logits: Tensor, labels: Tensor, weights: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the weighted losses of the rows ``(n,)``, and their derivatives ``(n, k)``."""
    column = labels.long().unsqueeze(-1)
    scores = torch.log_softmax(logits, -1)
    losses = -scores.gather(-1, column).squeeze(-1)
    slope = scores.exp()
    slope = slope.scatter_add(-1, column, slope.new_full((), -1.0).expand(column.shape))
    if weights is None:
        return losses, slope
    factor = weights[labels.long()]
    return losses * factor, slope * factor.unsqueeze(-1)


def cross_entropy_grad(
    grad: Tensor, logits: Tensor, labels: Tensor, weights: Tensor | None, fused: Tensor
) -> Tensor:
    """Return the gradient of ``cross_entropy`` with respect to the logits."""
    del logits, labels, weights
    return fused * grad.unsqueeze(-1)
