"""Losses of numbers and probabilities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn.functional._dtypes import require_floats
from seqloom.nn.functional._operands import as_operand, reduce_losses, to_target
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

# Lower limit of a logarithm, as in torch, so that a wrong probability has a finite loss.
_LEAST = -100.0
# Lower limit of p * (1 - p), by which torch divides.
_LEAST_SPREAD = 1e-12
_HALF_STEEPNESS = 3e4  # near the maximum of half precision


def mse_loss(x: Tensor, target: object, reduction: str = "mean") -> Tensor:
    """Computes the mean squared difference.

    Args:
        x: Predictions, of any shape.
        target: True values of the same shape; a tensor, array or list.
        reduction: ``"mean"``, ``"sum"`` or ``"none"`` of the losses.

    Returns:
        A scalar; a tensor of the shape of `x` for ``"none"``.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> mse_loss(sl.tensor.backend("numpy").tensor([[3.0]]), [[1.0]]).item()
        4.0
    """
    require_floats("mse_loss", x)
    return reduce_losses(apply("square", x - to_target(x, target)), reduction)


def l1_loss(x: Tensor, target: object, reduction: str = "mean") -> Tensor:
    """Computes the mean absolute difference.

    Args:
        x: Predictions, of any shape.
        target: True values of the same shape; a tensor, array or list.
        reduction: ``"mean"``, ``"sum"`` or ``"none"`` of the losses.

    Returns:
        A scalar; a tensor of the shape of `x` for ``"none"``.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> l1_loss(sl.tensor.backend("numpy").tensor([[3.0]]), [[1.0]]).item()
        2.0
    """
    require_floats("l1_loss", x)
    return reduce_losses(abs(x - to_target(x, target)), reduction)


def smooth_l1_loss(
    x: Tensor, target: object, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Computes a loss that is squared for small and absolute for large differences.

    See Girshick (2015).

    Args:
        x: Predictions, of any shape.
        target: True values of the same shape; a tensor, array or list.
        reduction: ``"mean"``, ``"sum"`` or ``"none"`` of the losses.
        beta: Difference where the loss changes from squared to absolute.

    Returns:
        A scalar; a tensor of the shape of `x` for ``"none"``.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ArgumentError: `beta` is below 0.
        ShapeError: `target` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> smooth_l1_loss(sl.tensor.backend("numpy").tensor([[3.0]]), [[1.0]]).item()
        1.5
    """
    if beta < 0:
        raise ArgumentError(f"beta must be 0 or more, got {beta}")
    require_floats("smooth_l1_loss", x)
    distance = abs(x - to_target(x, target))
    if beta == 0:
        return reduce_losses(distance, reduction)
    near = apply("square", distance) * (0.5 / beta)
    far = distance - 0.5 * beta
    return reduce_losses(apply("where", distance < beta, near, far), reduction)


def huber_loss(
    x: Tensor, target: object, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """Computes `smooth_l1_loss` times `delta`.

    Args:
        x: Predictions, of any shape.
        target: True values of the same shape; a tensor, array or list.
        reduction: ``"mean"``, ``"sum"`` or ``"none"`` of the losses.
        delta: Difference where the loss changes from squared to absolute.

    Returns:
        A scalar; a tensor of the shape of `x` for ``"none"``.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ArgumentError: `delta` is not above 0.
        ShapeError: `target` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> huber_loss(
        ...     sl.tensor.backend("numpy").tensor([[3.0]]), [[1.0]], delta=0.5
        ... ).item()
        0.875
    """
    if not delta > 0:
        raise ArgumentError(f"delta must be above 0, got {delta}")
    return smooth_l1_loss(x, target, reduction, delta) * delta


def binary_cross_entropy_with_logits(
    x: Tensor,
    target: object,
    pos_weight: object = None,
    *,
    weight: object = None,
    reduction: str = "mean",
) -> Tensor:
    """Computes the cross entropy of independent binary labels, from logits.

    Args:
        x: Logits ``(n, k)``.
        target: Labels ``(n, k)`` from 0 to 1; a tensor, array or list.
        pos_weight: ``(k,)``, weight of the label 1.
        weight: Weight of each label; broadcasts to ``(n, k)``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"`` of the losses.

    Returns:
        A scalar; a tensor of the shape of `x` for ``"none"``.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> logits = sl.tensor.backend("numpy").tensor([[0.0]])
        >>> round(binary_cross_entropy_with_logits(logits, [[1.0]]).item(), 4)
        0.6931
    """
    require_floats("binary_cross_entropy_with_logits", x)
    target = to_target(x, target)
    # log(1 + exp(-|x|)) never overflows; max(x, 0) - x y is what remains.
    tail = apply("log1p", apply("exp", -abs(x)))
    if pos_weight is None:
        losses = apply("maximum", x, 0.0) - x * target + tail
    else:
        scale = 1.0 + (as_operand(x, pos_weight, x.dtype) - 1.0) * target
        losses = (1.0 - target) * x + scale * (tail + apply("maximum", -x, 0.0))
    if weight is not None:
        losses = _weigh(losses, as_operand(x, weight, x.dtype))
    return reduce_losses(losses, reduction)


def binary_cross_entropy(
    x: Tensor, target: object, weight: object = None, reduction: str = "mean"
) -> Tensor:
    """Computes the cross entropy of independent binary labels, from probabilities.

    Args:
        x: Probabilities of the label 1, from 0 to 1.
        target: Labels from 0 to 1, of the same shape; a tensor, array or list.
        weight: Weight of each label.
        reduction: ``"mean"``, ``"sum"`` or ``"none"`` of the losses.

    Returns:
        A scalar; a tensor of the shape of `x` for ``"none"``.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> p = sl.tensor.backend("numpy").tensor([[0.5]])
        >>> round(binary_cross_entropy(p, [[1.0]]).item(), 4)
        0.6931
    """
    require_floats("binary_cross_entropy", x)
    target = to_target(x, target)
    # Near 0 and 1 the gradients of the logarithms are too large to be useful.
    near_end = (1.0 - x) * x < _LEAST_SPREAD
    inside = apply("where", near_end, 0.5, x)
    rest = (1.0 - target) * apply("log1p", -inside)
    losses = -(target * apply("log", inside) + rest)
    losses = apply("where", near_end, _loss_near_ends(x, target, near_end), losses)
    if weight is not None:
        losses = _weigh(losses, as_operand(x, weight, x.dtype))
    return reduce_losses(losses, reduction)


def _weigh(losses: Tensor, weight: Tensor) -> Tensor:
    """Multiplies losses by weights that broadcast to their shape."""
    weighted = losses * weight
    if weighted.shape != losses.shape:
        raise ShapeError(
            f"weight must broadcast to the shape of x, {losses.shape}, got {weight.shape}"
        )
    return weighted


def _loss_near_ends(x: Tensor, target: Tensor, near_end: Tensor) -> Tensor:
    """Computes the loss near 0 and 1, with the gradient ``(x - target) / 1e-12``."""
    # The gradient is that of a parabola, whose value is subtracted again.
    still = apply("stop_gradient", x)
    value = -(target * _log(still) + (1.0 - target) * _log(1.0 - still))
    steepness = _HALF_STEEPNESS if x.dtype.name == "float16" else 0.5 / _LEAST_SPREAD
    off = apply("where", near_end, x - apply("stop_gradient", target), 0.0)
    parabola = off * off * steepness
    return value + (parabola - apply("stop_gradient", parabola))


def _log(x: Tensor) -> Tensor:
    """Computes the logarithm, limited to -100, also of 0."""
    found = apply("log", apply("where", x > 0, x, 1.0))
    return apply("maximum", apply("where", x > 0, found, _LEAST), _LEAST)


def poisson_nll_loss(
    x: Tensor,
    target: object,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Computes the negative log likelihood of counts under a Poisson distribution.

    Args:
        x: Logarithm of the expected count, or the count itself without `log_input`.
        target: Counts of the same shape; a tensor, array or list.
        log_input: Whether `x` is a logarithm.
        full: Whether to add Stirling's approximation of the constant term, for counts
            above 1.
        eps: Number added to the expected count before its logarithm, without `log_input`.
        reduction: ``"mean"``, ``"sum"`` or ``"none"`` of the losses.

    Returns:
        A scalar; a tensor of the shape of `x` for ``"none"``.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0])
        >>> poisson_nll_loss(x, [3.0]).item()
        1.0
    """
    require_floats("poisson_nll_loss", x)
    target = to_target(x, target)
    if log_input:
        losses = apply("exp", x) - target * x
    else:
        losses = x - target * apply("log", x + eps)
    if full:
        some = target > 1
        safe = apply("where", some, target, 1.0)
        spread = apply("log", safe * (2 * math.pi)) * 0.5
        stirling = safe * apply("log", safe) - safe + spread
        losses = losses + apply("where", some, stirling, 0.0)
    return reduce_losses(losses, reduction)


def kl_div(
    x: Tensor, target: object, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """Computes the divergence from a target distribution (Kullback and Leibler 1951).

    Args:
        x: Logarithms of probabilities.
        target: Probabilities of the same shape; a tensor, array or list.
        reduction: ``"mean"`` over all elements, ``"batchmean"`` over the first axis only,
            ``"sum"`` or ``"none"``.
        log_target: Whether `target` has logarithms of probabilities.

    Returns:
        A scalar; a tensor of the shape of `x` for ``"none"``.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[-0.6931472, -0.6931472]])
        >>> abs(kl_div(x, [[0.5, 0.5]], "batchmean").item()) < 1e-6
        True
    """
    require_floats("kl_div", x)
    target = to_target(x, target)
    if log_target:
        losses = apply("exp", target) * (target - x)
    else:
        some = target > 0
        logarithm = apply("log", apply("where", some, target, 1.0))
        losses = apply("where", some, target * logarithm, 0.0) - target * x
    if reduction == "batchmean":
        return losses.sum() / x.shape[0]
    return reduce_losses(losses, reduction)
