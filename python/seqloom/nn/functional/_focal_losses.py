"""Focal losses, where most examples are easy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError
from seqloom.nn.functional._class_losses import cross_entropy
from seqloom.nn.functional._dtypes import require_floats
from seqloom.nn.functional._losses import binary_cross_entropy_with_logits
from seqloom.nn.functional._operands import as_operand, reduce_losses
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


def sigmoid_focal_loss(
    x: Tensor,
    target: object,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "none",
) -> Tensor:
    """Computes the focal loss of independent binary labels (Lin et al. 2017).

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
    losses = losses * _raise_to(wrong, gamma)
    if alpha >= 0:
        losses = losses * (alpha * target + (1.0 - alpha) * (1.0 - target))
    return reduce_losses(losses, reduction)


def focal_loss(
    x: Tensor,
    target: object,
    alpha: object = None,
    gamma: float = 2.0,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Computes the focal loss of classes: `cross_entropy` times ``(1 - p) ** gamma``.

    See Lin et al. (2017); p is the probability of the true class.

    Args:
        x: Logits ``(n, k)``, ``(n, k, ...)`` or ``(k,)``.
        target: Classes from 0 to k - 1, of the shape of `x` without the class axis.
        alpha: Weights of the classes ``(k,)``. The mean is over the labels that count, not
            divided by the sum of their weights.
        gamma: Exponent of the factor; 0 gives the cross entropy.
        ignore_index: Label that does not count.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; a tensor of the shape of the labels for ``"none"``.

    Raises:
        ArgumentError: The labels are not integers, or `gamma` is negative.
        DTypeError: `x` has an integer or boolean type.
        OutOfRangeError: A label is not a class of `x`.
        ShapeError: `target` or `alpha` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[0.0, 0.0]])
        >>> round(focal_loss(x, [1]).item(), 4)
        0.1733
    """
    plain = cross_entropy(x, target, ignore_index=ignore_index, reduction="none")
    losses = plain
    if alpha is not None:
        losses = cross_entropy(
            x, target, alpha, ignore_index=ignore_index, reduction="none"
        )
    losses = losses * _raise_to(-apply("expm1", -plain), gamma)
    if reduction != "mean":
        return reduce_losses(losses, reduction)
    counted = apply("not_equal", as_operand(x, target), ignore_index)
    return losses.sum() / counted.astype(x.dtype).sum()


def _raise_to(wrong: Tensor, gamma: float) -> Tensor:
    """Raises the probability of a wrong label to a power."""
    if gamma < 0:
        raise ArgumentError(f"gamma must be 0 or more, got {gamma}")
    if gamma == 0:
        return apply("ones_like", wrong)
    return apply("square", wrong) if gamma == 2 else wrong**gamma  # noqa: PLR2004
