"""Losses for classification."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._binary_losses import compute_focal_factor
from seqloom.nn._losses import reduce_losses
from seqloom.nn._operands import as_operand, replace_negative, require_floats, require_index
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable


def cross_entropy(
    x: Tensor,
    target: object,
    weight: object = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Compute the cross entropy of logits and classes: ``-log softmax(x)[target]``.

    Arguments and class weights have the same meaning as in
    ``torch.nn.functional.cross_entropy``.

    Args:
        x: Logits ``(n, k)``, ``(n, k, ...)`` or ``(k,)``.
        target: Classes from 0 to k - 1, in the shape of `x` without the class axis; or a
            probability for each class, in the shape of `x`. The target may be a tensor,
            array or list.
        weight: Class weights ``(k,)``; the mean is the sum of the losses, divided by the
            sum of the weights of the labels.
        ignore_index: Label that is excluded from the loss.
        reduction: Reduction of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        label_smoothing: Fraction of a label's probability, from 0 to 1, that is
            distributed evenly over all classes.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of the labels.

    Raises:
        ArgumentError: The labels are not integers, or `label_smoothing` is not in [0, 1].
        DTypeError: `x` has an integer or boolean type.
        OutOfRangeError: A label is not a class of `x`.
        ShapeError: `target` or `weight` has a wrong shape.

    Examples:
        >>> import seqloom as sl
        >>> logits = sl.tensor.backend("numpy").tensor([[0.0, 0.0]])
        >>> round(cross_entropy(logits, [1]).item(), 4)
        0.6931
    """
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"label_smoothing must be in [0, 1], got {label_smoothing}")
    require_floats("cross_entropy", x)
    rows = _flatten_logits(x)
    weights = None if weight is None else _convert_weights(rows, weight)
    labels = target if isinstance(target, Tensor) else np.asarray(target)
    if labels.dtype.kind not in "iub" and tuple(labels.shape) == x.shape:
        shares = _flatten_logits(as_operand(x, target, x.dtype))
        if label_smoothing:
            shares = shares * (1 - label_smoothing) + label_smoothing / rows.shape[-1]
        losses = -(_weigh_classes(rows, weights) * shares).sum(axis=-1)
        return reduce_losses(_reshape_losses(losses, x, reduction), reduction)

    def compute_loss(labels: Tensor) -> Tensor:
        hard = apply("cross_entropy", rows, labels, weights)[0]
        if label_smoothing == 0:
            return hard
        sums = _weigh_classes(rows, weights).sum(axis=-1)
        return hard * (1 - label_smoothing) - sums * (label_smoothing / rows.shape[-1])

    return _reduce_labels(compute_loss, x, target, weights, ignore_index, reduction)


def nll_loss(
    x: Tensor,
    target: object,
    weight: object = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Compute the negative log-likelihood of log-probabilities: ``-x[target]``.

    Args:
        x: Log-probabilities ``(n, k)``, ``(n, k, ...)`` or ``(k,)``.
        target: Classes from 0 to k - 1, in the shape of `x` without the class axis.
        weight: Class weights ``(k,)``; the mean is the sum of the losses, divided by the
            sum of the weights of the labels.
        ignore_index: Label that is excluded from the loss.
        reduction: Reduction of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of the labels.

    Raises:
        ArgumentError: The labels are not integers.
        DTypeError: `x` has an integer or boolean type.
        OutOfRangeError: A label is not a class of `x`.
        ShapeError: `target` or `weight` has a wrong shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[-1.0, -2.0]])
        >>> nll_loss(x, [1]).item()
        2.0
    """
    require_floats("nll_loss", x)
    rows = _flatten_logits(x)
    weights = None if weight is None else _convert_weights(rows, weight)

    def compute_loss(labels: Tensor) -> Tensor:
        require_index("labels", labels, rows.shape[-1])
        labels = replace_negative(labels, rows.shape[-1])
        index = apply("expand_dims", labels, axis=1)
        logs = apply("squeeze", apply("take_along_axis", rows, index, axis=1), axis=1)
        return -logs if weights is None else -logs * apply("take", weights, labels, axis=0)

    return _reduce_labels(compute_loss, x, target, weights, ignore_index, reduction)


def _reduce_labels(
    loss: Callable[[Tensor], Tensor],
    x: Tensor,
    target: object,
    weights: Tensor | None,
    ignored: int,
    reduction: str,
) -> Tensor:
    """Compute and reduce the losses of the labels, excluding ignored labels."""
    labels, counted = _convert_labels(x, target, ignored)
    losses = loss(labels)
    shares = None if weights is None else apply("take", weights, labels, axis=0)
    if counted is not None:
        losses = apply("where", counted, losses, 0.0)
        real = counted.astype(x.dtype)
        shares = real if shares is None else apply("where", counted, shares, 0.0)
    if reduction != "mean" or shares is None:
        return reduce_losses(_reshape_losses(losses, x, reduction), reduction)
    return losses.sum() / shares.sum()


def _convert_labels(
    x: Tensor, target: object, ignored: int
) -> tuple[Tensor, Tensor | None]:
    """Return flat labels, 0 where ignored, and a mask that is false for ignored labels."""
    if not isinstance(target, Tensor):
        target = np.asarray(target)
        # Labels in host memory can be checked, and usually no label is ignored.
        all_count = target.dtype.kind not in "iu" or not (target == ignored).any()
    else:
        all_count = False
    if target.dtype.kind not in "iu":
        raise ArgumentError(
            f"target must contain integers, the classes from 0 up, or a probability for "
            f"each class, got {target.dtype} of shape {tuple(target.shape)}"
        )
    expected = _find_label_shape(x)
    if tuple(target.shape) != expected:
        raise ShapeError(
            f"target must have shape {expected}, one label for each row of classes in x of "
            f"shape {x.shape}, got {tuple(target.shape)}"
        )
    labels = as_operand(x, target.reshape(-1) if target.ndim != 1 else target)
    if all_count:
        return labels, None
    counted: Tensor = apply("not_equal", labels, ignored)
    return apply("where", counted, labels, 0), counted


def _find_label_shape(x: Tensor) -> tuple[int, ...]:
    """Return the shape of the logits without the class axis."""
    return (*x.shape[:1], *x.shape[2:]) if x.ndim > 1 else ()


def _convert_weights(rows: Tensor, weight: object) -> Tensor:
    """Return the class weights as a tensor."""
    weights = as_operand(rows, weight, rows.dtype)
    if weights.shape != rows.shape[-1:]:
        raise ShapeError(
            f"weight must have shape {rows.shape[-1:]}, one number for each class, got "
            f"{weights.shape}"
        )
    return weights


def _weigh_classes(rows: Tensor, weights: Tensor | None) -> Tensor:
    """Return the log-probabilities times the class weights."""
    logs = apply("log_softmax", rows)
    return logs if weights is None else logs * weights


def _flatten_logits(x: Tensor) -> Tensor:
    """Reshape logits to one row for each label."""
    if x.ndim == 2:  # noqa: PLR2004
        return x
    if not x.ndim:
        raise ShapeError("x must have an axis of classes, got a tensor without axes")
    if x.ndim > 1:
        order = (0, *range(2, x.ndim), 1)
        x = apply("permute_dims", x, order)
    return apply("reshape", x, (-1, x.shape[-1]))


def _reshape_losses(losses: Tensor, x: Tensor, reduction: str) -> Tensor:
    """Reshape unreduced losses to the shape of the labels."""
    if reduction != "none" or x.ndim == 2:  # noqa: PLR2004
        return losses
    return apply("reshape", losses, _find_label_shape(x))


def focal_loss(
    x: Tensor,
    target: object,
    alpha: object = None,
    gamma: float = 2.0,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Compute the focal loss of classes (Lin et al. 2017).

    The loss is the `cross_entropy` times ``(1 - p) ** gamma``, where p is the probability
    of the true class.

    Args:
        x: Logits ``(n, k)``, ``(n, k, ...)`` or ``(k,)``.
        target: Classes from 0 to k - 1, in the shape of `x` without the class axis.
        alpha: Class weights ``(k,)``. The mean is the sum of the losses, divided by the
            number of labels, not by the sum of their weights.
        gamma: Exponent of the factor; with 0, the loss is the cross entropy.
        ignore_index: Label that is excluded from the loss.
        reduction: Reduction of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of the labels.

    Raises:
        ArgumentError: The labels are not integers, or `gamma` is negative.
        DTypeError: `x` has an integer or boolean type.
        OutOfRangeError: A label is not a class of `x`.
        ShapeError: `target` or `alpha` has a wrong shape.

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
    losses = losses * compute_focal_factor(-apply("expm1", -plain), gamma)
    if reduction != "mean":
        return reduce_losses(losses, reduction)
    counted = apply("not_equal", as_operand(x, target), ignore_index)
    return losses.sum() / counted.astype(x.dtype).sum()
