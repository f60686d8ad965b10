"""Losses: means over a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from numpy.typing import NDArray


def cross_entropy(
    logits: Tensor, labels: Any, weight: NDArray[Any] | None = None
) -> Tensor:
    """The mean of ``-log softmax(logits)[label]``, weighted by class as torch weights it.

    Args:
        logits: ``(n, k)``.
        labels: ``(n,)``, integers from 0 to k - 1.
        weight: ``(k,)``; the mean is divided by the sum of the labels' weights.

    Returns:
        A scalar.

    Raises:
        ArgumentError: The labels are not integers.

    Examples:
        >>> import seqloom as sl
        >>> logits = sl.tensor.backend("numpy").tensor([[0.0, 0.0]])
        >>> round(cross_entropy(logits, [1]).item(), 4)
        0.6931
    """
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu":
        raise ArgumentError(f"labels must be integers from 0 up, got {labels.dtype}")
    if weight is None:
        return apply("cross_entropy", logits, labels, None)[0].mean()
    weight = np.asarray(weight, logits.dtype)
    return apply("cross_entropy", logits, labels, weight)[0].sum() / float(
        weight[labels].sum()
    )


def binary_cross_entropy_with_logits(
    logits: Tensor, targets: Any, pos_weight: NDArray[Any] | None = None
) -> Tensor:
    """The mean over all outputs of the loss of independent yes-or-no answers.

    Args:
        logits: ``(n, k)``.
        targets: ``(n, k)``, 0 or 1.
        pos_weight: ``(k,)``, how much a 1 counts.

    Returns:
        A scalar.

    Examples:
        >>> import seqloom as sl
        >>> logits = sl.tensor.backend("numpy").tensor([[0.0]])
        >>> round(binary_cross_entropy_with_logits(logits, [[1.0]]).item(), 4)
        0.6931
    """
    targets = np.asarray(targets, logits.dtype)
    # log(1 + exp(-|x|)) never overflows; max(x, 0) - x y is what remains.
    tail = apply("log1p", apply("exp", -abs(logits)))
    if pos_weight is None:
        return (apply("maximum", logits, 0.0) - logits * targets + tail).mean()
    scale = 1.0 + (np.asarray(pos_weight, logits.dtype) - 1.0) * targets
    return (
        (1.0 - targets) * logits + scale * (tail + apply("maximum", -logits, 0.0))
    ).mean()


def mse_loss(predictions: Tensor, targets: Any) -> Tensor:
    """The mean squared difference.

    Args:
        predictions: ``(n, k)``.
        targets: ``(n, k)``.

    Returns:
        A scalar.

    Examples:
        >>> import seqloom as sl
        >>> mse_loss(sl.tensor.backend("numpy").tensor([[3.0]]), [[1.0]]).item()
        4.0
    """
    return apply("square", predictions - np.asarray(targets, predictions.dtype)).mean()
