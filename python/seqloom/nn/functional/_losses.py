"""Losses of numbers: squared, absolute, of probabilities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn.functional._dtypes import require_floats
from seqloom.nn.functional._operands import beside, reduced
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

# As in torch: a logarithm is never lower, so that a wrong certainty costs a finite loss.
_LEAST = -100.0
# Of a probability from 0 and from 1, multiplied: torch divides by no less.
_LEAST_SPREAD = 1e-12
_HALF_STEEPNESS = 3e4  # what half precision can hold


def mse_loss(x: Tensor, target: Any, reduction: str = "mean") -> Tensor:
    """The mean squared difference.

    Args:
        x: Predictions.
        target: What they should be, of the same shape; a tensor, array or list.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; with ``"none"``, of the shape of `x`.

    Raises:
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> mse_loss(sl.tensor.backend("numpy").tensor([[3.0]]), [[1.0]]).item()
        4.0
    """
    require_floats("mse_loss", x)
    return reduced(apply("square", x - beside(x, target, x.dtype)), reduction)


def l1_loss(x: Tensor, target: Any, reduction: str = "mean") -> Tensor:
    """The mean absolute difference; arguments as in `mse_loss`.

    Args:
        x: Predictions.
        target: What they should be, of the same shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; with ``"none"``, of the shape of `x`.

    Raises:
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> l1_loss(sl.tensor.backend("numpy").tensor([[3.0]]), [[1.0]]).item()
        2.0
    """
    require_floats("l1_loss", x)
    return reduced(abs(x - beside(x, target, x.dtype)), reduction)


def smooth_l1_loss(
    x: Tensor, target: Any, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Squared near the target, absolute away from it (Girshick 2015).

    Args:
        x: Predictions.
        target: What they should be, of the same shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        beta: The difference at which the one becomes the other.

    Returns:
        A scalar; with ``"none"``, of the shape of `x`.

    Raises:
        DTypeError: `x` holds whole numbers.
        ArgumentError: `beta` is below 0.

    Examples:
        >>> import seqloom as sl
        >>> smooth_l1_loss(sl.tensor.backend("numpy").tensor([[3.0]]), [[1.0]]).item()
        1.5
    """
    if beta < 0:
        raise ArgumentError(f"beta must not be below 0, got {beta}")
    require_floats("smooth_l1_loss", x)
    distance = abs(x - beside(x, target, x.dtype))
    if beta == 0:
        return reduced(distance, reduction)
    near = apply("square", distance) * (0.5 / beta)
    far = distance - 0.5 * beta
    return reduced(apply("where", distance < beta, near, far), reduction)


def huber_loss(
    x: Tensor, target: Any, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """Squared near the target, absolute away from it: `smooth_l1_loss` times `delta`.

    Args:
        x: Predictions.
        target: What they should be, of the same shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: The difference at which the one becomes the other.

    Returns:
        A scalar; with ``"none"``, of the shape of `x`.

    Raises:
        DTypeError: `x` holds whole numbers.
        ArgumentError: `delta` is not above 0.

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
    target: Any,
    pos_weight: Any = None,
    *,
    weight: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The loss of independent yes-or-no answers.

    Args:
        x: The logits ``(n, k)``.
        target: ``(n, k)``, 0 or 1, or between; a tensor, array or list.
        pos_weight: ``(k,)``, how much a 1 counts.
        weight: How much each answer counts; broadcasts to ``(n, k)``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; with ``"none"``, of the shape of `x`.

    Raises:
        DTypeError: `x` holds whole numbers.
        ShapeError: The target is of another shape.

    Examples:
        >>> import seqloom as sl
        >>> logits = sl.tensor.backend("numpy").tensor([[0.0]])
        >>> round(binary_cross_entropy_with_logits(logits, [[1.0]]).item(), 4)
        0.6931
    """
    require_floats("binary_cross_entropy_with_logits", x)
    target = _of_shape(x, target)
    # log(1 + exp(-|x|)) never overflows; max(x, 0) - x y is what remains.
    tail = apply("log1p", apply("exp", -abs(x)))
    if pos_weight is None:
        losses = apply("maximum", x, 0.0) - x * target + tail
    else:
        scale = 1.0 + (beside(x, pos_weight, x.dtype) - 1.0) * target
        losses = (1.0 - target) * x + scale * (tail + apply("maximum", -x, 0.0))
    if weight is not None:
        losses = losses * beside(x, weight, x.dtype)
    return reduced(losses, reduction)


def binary_cross_entropy(
    x: Tensor, target: Any, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """The loss of independent yes-or-no answers, from their probabilities.

    Args:
        x: The probabilities of yes, from 0 to 1.
        target: 0 or 1, or between, of the same shape; a tensor, array or list.
        weight: How much each answer counts.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; with ``"none"``, of the shape of `x`.

    Raises:
        DTypeError: `x` holds whole numbers.
        ShapeError: The target is of another shape.

    Examples:
        >>> import seqloom as sl
        >>> p = sl.tensor.backend("numpy").tensor([[0.5]])
        >>> round(binary_cross_entropy(p, [[1.0]]).item(), 4)
        0.6931
    """
    require_floats("binary_cross_entropy", x)
    target = _of_shape(x, target)
    # Near 0 and 1 the logarithms' own slopes are too steep to be of use.
    near_end = (1.0 - x) * x < _LEAST_SPREAD
    inside = apply("where", near_end, 0.5, x)
    rest = (1.0 - target) * apply("log1p", -inside)
    losses = -(target * apply("log", inside) + rest)
    losses = apply("where", near_end, _at_the_ends(x, target, near_end), losses)
    if weight is not None:
        losses = losses * beside(x, weight, x.dtype)
    return reduced(losses, reduction)


def _of_shape(x: Tensor, target: Any) -> Tensor:
    """The target, one number for each of `x`."""
    target = beside(x, target, x.dtype)
    if target.shape != x.shape:
        raise ShapeError(f"target: expected shape {x.shape}, got {target.shape}")
    return target


def _at_the_ends(x: Tensor, target: Tensor, near_end: Tensor) -> Tensor:
    """The loss of probabilities near 0 and 1, of the slope ``(x - target) / 1e-12``."""
    # It is that of a parabola, whose value is taken away again.
    still = apply("stop_gradient", x)
    value = -(target * _log(still) + (1.0 - target) * _log(1.0 - still))
    steepness = _HALF_STEEPNESS if x.dtype.name == "float16" else 0.5 / _LEAST_SPREAD
    off = apply("where", near_end, x - apply("stop_gradient", target), 0.0)
    parabola = off * off * steepness
    return value + (parabola - apply("stop_gradient", parabola))


def _log(x: Tensor) -> Tensor:
    """The logarithm, at least -100; of 0 too."""
    found = apply("log", apply("where", x > 0, x, 1.0))
    return apply("maximum", apply("where", x > 0, found, _LEAST), _LEAST)


def poisson_nll_loss(
    x: Tensor,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of counts under a Poisson distribution.

    Args:
        x: The logarithm of the expected count; the count itself without `log_input`.
        target: The counts, of the same shape; a tensor, array or list.
        log_input: Whether `x` is a logarithm.
        full: Add Stirling's approximation of what does not depend on `x`, for counts
            above 1.
        eps: Added to the expected count before its logarithm, without `log_input`.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; with ``"none"``, of the shape of `x`.

    Raises:
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0])
        >>> poisson_nll_loss(x, [3.0]).item()
        1.0
    """
    require_floats("poisson_nll_loss", x)
    target = beside(x, target, x.dtype)
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
    return reduced(losses, reduction)


def kl_div(
    x: Tensor, target: Any, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """How far a distribution is from a target (Kullback and Leibler 1951).

    Args:
        x: Logarithms of probabilities.
        target: Probabilities of the same shape; a tensor, array or list.
        reduction: ``"mean"`` over all numbers, ``"batchmean"`` over the first axis alone,
            ``"sum"`` or ``"none"``.
        log_target: Whether the target is of logarithms too.

    Returns:
        A scalar; with ``"none"``, of the shape of `x`.

    Raises:
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[-0.6931472, -0.6931472]])
        >>> abs(kl_div(x, [[0.5, 0.5]], "batchmean").item()) < 1e-6
        True
    """
    require_floats("kl_div", x)
    target = beside(x, target, x.dtype)
    if log_target:
        losses = apply("exp", target) * (target - x)
    else:
        some = target > 0
        logarithm = apply("log", apply("where", some, target, 1.0))
        losses = apply("where", some, target * logarithm, 0.0) - target * x
    if reduction == "batchmean":
        return losses.sum() / x.shape[0]
    return reduced(losses, reduction)
