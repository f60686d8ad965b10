"""Losses for binary labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._losses import convert_target, reduce_losses
from seqloom.nn._operands import as_operand, require_floats
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

# Lower limit of logarithms, as in PyTorch, so a wrong probability has a finite loss.
_MIN_LOG = -100.0
# Lower limit of p * (1 - p), the divisor of the gradient in PyTorch.
_MIN_VARIANCE = 1e-12
_MAX_FLOAT16_SLOPE = 3e4  # close to the largest float16 number


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
        pos_weight: Weight of the label 1, ``(k,)``.
        weight: Weight of each label; broadcasts to ``(n, k)``.
        reduction: Reduction of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` does not have the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> logits = sl.tensor.backend("numpy").tensor([[0.0]])
        >>> round(binary_cross_entropy_with_logits(logits, [[1.0]]).item(), 4)
        0.6931
    """
    require_floats("binary_cross_entropy_with_logits", x)
    target = convert_target(x, target)
    # loss = max(x, 0) - x * y + log(1 + exp(-|x|)); the exponential never overflows.
    tail = apply("log1p", apply("exp", -abs(x)))
    if pos_weight is None:
        losses = apply("maximum", x, 0.0) - x * target + tail
    else:
        scale = 1.0 + (as_operand(x, pos_weight, x.dtype) - 1.0) * target
        losses = (1.0 - target) * x + scale * (tail + apply("maximum", -x, 0.0))
    if weight is not None:
        losses = _multiply_weights(losses, as_operand(x, weight, x.dtype))
    return reduce_losses(losses, reduction)


def binary_cross_entropy(
    x: Tensor, target: object, weight: object = None, reduction: str = "mean"
) -> Tensor:
    """Compute the cross entropy of independent binary labels, from probabilities.

    Args:
        x: Probabilities of the label 1, from 0 to 1.
        target: Labels from 0 to 1, with the shape of `x`; a tensor, array or list.
        weight: Weight of each label.
        reduction: Reduction of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` does not have the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> p = sl.tensor.backend("numpy").tensor([[0.5]])
        >>> round(binary_cross_entropy(p, [[1.0]]).item(), 4)
        0.6931
    """
    require_floats("binary_cross_entropy", x)
    target = convert_target(x, target)
    # For probabilities near 0 or 1, gradients of the logarithms would be too large.
    near_end = (1.0 - x) * x < _MIN_VARIANCE
    inside = apply("where", near_end, 0.5, x)
    rest = (1.0 - target) * apply("log1p", -inside)
    losses = -(target * apply("log", inside) + rest)
    losses = apply("where", near_end, _loss_near_zero_or_one(x, target, near_end), losses)
    if weight is not None:
        losses = _multiply_weights(losses, as_operand(x, weight, x.dtype))
    return reduce_losses(losses, reduction)


def _multiply_weights(losses: Tensor, weight: Tensor) -> Tensor:
    """Multiply losses by weights that broadcast to the shape of the losses."""
    weighted = losses * weight
    if weighted.shape != losses.shape:
        raise ShapeError(
            f"weight must broadcast to the shape of x, {losses.shape}, got {weight.shape}"
        )
    return weighted


def _loss_near_zero_or_one(x: Tensor, target: Tensor, near_end: Tensor) -> Tensor:
    """Compute the loss for x near 0 or 1, with the gradient ``(x - target) / 1e-12``."""
    # The parabola adds only its gradient to the loss, because its value is subtracted.
    still = apply("stop_gradient", x)
    value = -(target * _bounded_log(still) + (1.0 - target) * _bounded_log(1.0 - still))
    steepness = _MAX_FLOAT16_SLOPE if x.dtype.name == "float16" else 0.5 / _MIN_VARIANCE
    off = apply("where", near_end, x - apply("stop_gradient", target), 0.0)
    parabola = off * off * steepness
    return value + (parabola - apply("stop_gradient", parabola))


def _bounded_log(x: Tensor) -> Tensor:
    """Compute the logarithm, limited to at least -100."""
    logs = apply("log", apply("where", x > 0, x, 1.0))
    return apply("maximum", apply("where", x > 0, logs, _MIN_LOG), _MIN_LOG)


def sigmoid_focal_loss(
    x: Tensor,
    target: object,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "none",
) -> Tensor:
    """Compute the focal loss of independent binary labels (Lin et al. 2017).

    As in ``torchvision.ops.sigmoid_focal_loss``, the loss is the binary cross entropy
    times ``(1 - p) ** gamma``, where p is the predicted probability of the true label.
    The power reduces the weight of examples that are already predicted well.

    Args:
        x: Logits, of any shape.
        target: Labels 0 or 1, with the shape of `x`; a tensor, array or list.
        alpha: Weight of the label 1, from 0 to 1; the label 0 has the weight ``1 -
            alpha``. If `alpha` is negative, the labels are not weighted.
        gamma: Exponent of the factor; with 0, the loss is the cross entropy.
        reduction: Reduction of the losses: ``"none"``, ``"mean"`` or ``"sum"``.

    Returns:
        For ``"none"``, a tensor in the shape of `x`; otherwise a scalar.

    Raises:
        ArgumentError: `alpha` is above 1, or `gamma` is negative.
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` does not have the shape of `x`.

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
    losses = losses * compute_focal_factor(wrong, gamma)
    if alpha >= 0:
        losses = losses * (alpha * target + (1.0 - alpha) * (1.0 - target))
    return reduce_losses(losses, reduction)


def compute_focal_factor(wrong: Tensor, gamma: float) -> Tensor:
    """Return the focal factor: the probability of the wrong label, to the power `gamma`."""
    if gamma < 0:
        raise ArgumentError(f"gamma must be 0 or more, got {gamma}")
    if gamma == 0:
        return apply("ones_like", wrong)
    return apply("square", wrong) if gamma == 2 else wrong**gamma  # noqa: PLR2004
