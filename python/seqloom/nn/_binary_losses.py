"""Losses of labels that are 0 or 1, or probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._losses import reduce_losses, to_target
from seqloom.nn._operands import as_operand, require_floats
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

# Lower limit of a logarithm, as in torch, so that a wrong probability has a finite loss.
_LEAST = -100.0
# Lower limit of p * (1 - p), by which torch divides.
_LEAST_SPREAD = 1e-12
_HALF_STEEPNESS = 3e4  # near the maximum of half precision


def binary_cross_entropy_with_logits(
    x: Tensor,
    target: object,
    pos_weight: object = None,
    *,
    weight: object = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the cross entropy of independent binary labels, from logits.

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
    """Compute the cross entropy of independent binary labels, from probabilities.

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
    """Multiply losses by weights that broadcast to their shape."""
    weighted = losses * weight
    if weighted.shape != losses.shape:
        raise ShapeError(
            f"weight must broadcast to the shape of x, {losses.shape}, got {weight.shape}"
        )
    return weighted


def _loss_near_ends(x: Tensor, target: Tensor, near_end: Tensor) -> Tensor:
    """Compute the loss near 0 and 1, with the gradient ``(x - target) / 1e-12``."""
    # The gradient is that of a parabola, whose value is subtracted again.
    still = apply("stop_gradient", x)
    value = -(target * _log(still) + (1.0 - target) * _log(1.0 - still))
    steepness = _HALF_STEEPNESS if x.dtype.name == "float16" else 0.5 / _LEAST_SPREAD
    off = apply("where", near_end, x - apply("stop_gradient", target), 0.0)
    parabola = off * off * steepness
    return value + (parabola - apply("stop_gradient", parabola))


def _log(x: Tensor) -> Tensor:
    """Compute the logarithm, limited to -100, also of 0."""
    found = apply("log", apply("where", x > 0, x, 1.0))
    return apply("maximum", apply("where", x > 0, found, _LEAST), _LEAST)


def sigmoid_focal_loss(
    x: Tensor,
    target: object,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "none",
) -> Tensor:
    """Compute the focal loss of independent binary labels (Lin et al. 2017).

    It is torchvision's function of that name: the cross entropy times
    ``(1 - p) ** gamma``, where p is the probability of the true label, so that examples
    which are right already weigh little.

    Args:
        x: Logits, of any shape.
        target: Labels 0 or 1, of the same shape; a tensor, array or list.
        alpha: Weight of the label 1, from 0 to 1, and 1 minus that of the label 0; a
            negative number for no weights.
        gamma: Exponent of the factor; 0 gives the cross entropy.
        reduction: ``"none"``, ``"mean"`` or ``"sum"`` of the losses.

    Returns:
        A tensor of the shape of `x` for ``"none"``, else a scalar.

    Raises:
        ArgumentError: `alpha` is above 1, or `gamma` is negative.
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0])
        >>> round(sigmoid_focal_loss(x, [1.0]).item(), 4)
        0.0433
    """
    if alpha > 1:
        raise ArgumentError(f"alpha must be at most 1, got {alpha}")
    require_floats("sigmoid_focal_loss", x)
    target = as_operand(x, target, x.dtype)
    losses = binary_cross_entropy_with_logits(x, target, reduction="none")
    wrong = apply("sigmoid", x * (1.0 - 2.0 * target))
    losses = losses * raise_wrong(wrong, gamma)
    if alpha >= 0:
        losses = losses * (alpha * target + (1.0 - alpha) * (1.0 - target))
    return reduce_losses(losses, reduction)


def raise_wrong(wrong: Tensor, gamma: float) -> Tensor:
    """Raise the probability of a wrong label to a power."""
    if gamma < 0:
        raise ArgumentError(f"gamma must be 0 or more, got {gamma}")
    if gamma == 0:
        return apply("ones_like", wrong)
    return apply("square", wrong) if gamma == 2 else wrong**gamma  # noqa: PLR2004
