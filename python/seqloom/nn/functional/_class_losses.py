"""Losses of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn.functional._dtypes import require_floats
from seqloom.nn.functional._operands import (
    beside,
    reduced,
    refused_below_0,
    require_below,
)
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable


def cross_entropy(
    x: Tensor,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """``-log softmax(x)[target]``, weighted by class as torch weights it.

    Args:
        x: The logits ``(n, k)``, ``(n, k, ...)`` or ``(k,)``.
        target: Classes from 0 to k - 1, of the shape of `x` without the axis of classes, or
            a probability for each class, of the shape of `x`; a tensor, array or list.
        weight: ``(k,)``; the mean is divided by the sum of the labels' weights.
        ignore_index: A label that does not count.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        label_smoothing: The share of each label that is spread over all classes.

    Returns:
        A scalar; with ``"none"``, of the shape of the classes.

    Raises:
        ArgumentError: The labels are not integers, or the share is not from 0 to 1.
        DTypeError: `x` holds whole numbers.
        OutOfRangeError: A label is below 0, or no class of `x`.
        ShapeError: `target` or `weight` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> logits = sl.tensor.backend("numpy").tensor([[0.0, 0.0]])
        >>> round(cross_entropy(logits, [1]).item(), 4)
        0.6931
    """
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"label_smoothing must lie in [0, 1], got {label_smoothing}")
    require_floats("cross_entropy", x)
    rows = _rows(x)
    weights = None if weight is None else _weights(rows, weight)
    if _is_of_probabilities(x, target):
        shares = _rows(beside(x, target, x.dtype))
        losses = _of_shares(rows, shares, weights, label_smoothing)
        return reduced(_shaped(losses, x, reduction), reduction)

    def loss(labels: Tensor) -> Tensor:
        hard = apply("cross_entropy", rows, labels, weights)[0]
        return _smoothed(hard, rows, weights, label_smoothing)

    return _of_labels(loss, x, target, weights, ignore_index, reduction)


def nll_loss(
    x: Tensor,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """``-x[target]``: `cross_entropy` of logarithms of probabilities.

    Args:
        x: Logarithms of probabilities ``(n, k)``, ``(n, k, ...)`` or ``(k,)``.
        target: Classes, of the shape of `x` without the axis of classes.
        weight: ``(k,)``; the mean is divided by the sum of the labels' weights.
        ignore_index: A label that does not count.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; with ``"none"``, of the shape of the classes.

    Raises:
        ArgumentError: The labels are not integers.
        DTypeError: `x` holds whole numbers.
        OutOfRangeError: A label is below 0, or no class of `x`.
        ShapeError: `target` or `weight` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[-1.0, -2.0]])
        >>> nll_loss(x, [1]).item()
        2.0
    """
    require_floats("nll_loss", x)
    rows = _rows(x)
    weights = None if weight is None else _weights(rows, weight)

    def loss(labels: Tensor) -> Tensor:
        require_below("labels", labels, rows.shape[-1])
        labels = refused_below_0(labels, rows.shape[-1])
        places = apply("expand_dims", labels, axis=1)
        found = apply("squeeze", apply("take_along_axis", rows, places, axis=1), axis=1)
        return (
            -found if weights is None else -found * apply("take", weights, labels, axis=0)
        )

    return _of_labels(loss, x, target, weights, ignore_index, reduction)


def _of_labels(
    loss: Callable[[Tensor], Tensor],
    x: Tensor,
    target: Any,
    weights: Tensor | None,
    ignored: int,
    reduction: str,
) -> Tensor:
    """The losses of labels, without those that do not count, brought together."""
    labels, counted = _labels(x, target, ignored)
    losses = loss(labels)
    if counted is not None:
        losses = apply("where", counted, losses, 0.0)
    if reduction != "mean" or (weights is None and counted is None):
        return reduced(_shaped(losses, x, reduction), reduction)
    shares = None if weights is None else apply("take", weights, labels, axis=0)
    if counted is not None:
        shares = counted.astype(x.dtype) if shares is None else _where(counted, shares)
    return losses.sum() / _total(shares)


def _where(counted: Tensor, shares: Tensor) -> Tensor:
    """The shares of labels that count."""
    return apply("where", counted, shares, 0.0)


def _total(shares: Any) -> Tensor:
    """The sum of shares."""
    return shares.sum()


def _labels(x: Tensor, target: Any, ignored: int) -> tuple[Tensor, Tensor | None]:
    """Labels in one row, 0 where they do not count, and whether each counts."""
    if not isinstance(target, Tensor):
        target = np.asarray(target)
        # What lies on the host is looked at: nearly always every label counts.
        all_count = target.dtype.kind not in "iu" or not (target == ignored).any()
    else:
        all_count = False
    if target.dtype.kind not in "iu":
        raise ArgumentError(f"labels must be integers from 0 up, got {target.dtype}")
    _require_one_each(x, tuple(target.shape))
    labels = beside(x, target.reshape(-1) if target.ndim != 1 else target)
    if all_count:
        return labels, None
    counted: Tensor = apply("not_equal", labels, ignored)
    return apply("where", counted, labels, 0), counted


def _require_one_each(x: Tensor, found: tuple[int, ...]) -> None:
    """Refuses labels that are not one for each row of classes."""
    expected = (*x.shape[:1], *x.shape[2:]) if x.ndim > 1 else ()
    if found != expected:
        raise ShapeError(
            f"labels: expected shape {expected}, one for each row of classes in {x.shape}, "
            f"got {found}"
        )


def _weights(rows: Tensor, weight: Any) -> Tensor:
    """One number for each class."""
    weights = beside(rows, weight, rows.dtype)
    if weights.shape != rows.shape[-1:]:
        raise ShapeError(
            f"weight: expected shape {rows.shape[-1:]}, one for each class, got "
            f"{weights.shape}"
        )
    return weights


def _smoothed(hard: Tensor, rows: Tensor, weights: Tensor | None, share: float) -> Tensor:
    """A share of each label spread over all classes."""
    if share == 0:
        return hard
    logs = apply("log_softmax", rows)
    logs = logs if weights is None else logs * weights
    return hard * (1 - share) - logs.sum(axis=-1) * (share / rows.shape[-1])


def _of_shares(
    rows: Tensor, shares: Tensor, weights: Tensor | None, share: float
) -> Tensor:
    """The losses of probabilities."""
    if share:
        shares = shares * (1 - share) + share / rows.shape[-1]
    logs = apply("log_softmax", rows)
    logs = logs if weights is None else logs * weights
    return -(logs * shares).sum(axis=-1)


def _is_of_probabilities(x: Tensor, target: Any) -> bool:
    """Whether the target gives a number for each class."""
    found = target if isinstance(target, Tensor) else np.asarray(target)
    return found.dtype.kind not in "iub" and tuple(found.shape) == x.shape


def _rows(x: Tensor) -> Tensor:
    """One row of classes for each label."""
    if x.ndim == 2:  # noqa: PLR2004
        return x
    if not x.ndim:
        raise ShapeError("a loss of classes needs an axis of classes, got a single number")
    if x.ndim > 1:
        order = (0, *range(2, x.ndim), 1)
        x = apply("permute_dims", x, order)
    return apply("reshape", x, (-1, x.shape[-1]))


def _shaped(losses: Tensor, x: Tensor, reduction: str) -> Tensor:
    """Losses in the shape of the labels, where they are asked for one by one."""
    if reduction != "none" or x.ndim == 2:  # noqa: PLR2004
        return losses
    return apply("reshape", losses, (*x.shape[:1], *x.shape[2:]) if x.ndim > 1 else ())
