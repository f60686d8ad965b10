"""Metrics: NumPy functions of true labels and predictions."""

import math
import operator
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.errors import ArgumentError, OutOfRangeError
from seqloom.nn._metric_inputs import (
    Floats,
    RankCurve,
    read_classes,
    read_label_columns,
    read_values,
)


def confusion_matrix(
    labels: ArrayLike, predicted: ArrayLike, *, size: int
) -> NDArray[np.int64]:
    """Count each pair of a true and a predicted class.

    Args:
        labels: True classes, from 0 to ``size - 1``.
        predicted: Predicted classes in the shape of the labels; or scores with a column
            for each class, where the highest score determines the class.
        size: Number of classes.

    Returns:
        Array of shape ``(size, size)``: rows are true classes, columns are predicted
        classes.

    Raises:
        DTypeError: A class is not an integer.
        OutOfRangeError: A class is not in the range 0 to ``size - 1``.
        NotFiniteError: A score is NaN.
        ShapeError: `predicted` does not have the shape of `labels`, with or without a
            column for each class.

    Examples:
        >>> confusion_matrix([0, 0, 1], [0, 1, 1], size=2).tolist()
        [[1, 1], [0, 1]]
    """
    true, guess = (classes.astype(np.int64) for classes in read_classes(labels, predicted))
    for name, classes in (("labels", true), ("predicted", guess)):
        if classes.size and not 0 <= classes.min() <= classes.max() < size:
            wrong = classes.min() if classes.min() < 0 else classes.max()
            raise OutOfRangeError(
                f"{name} must be classes from 0 to {size - 1}, got {wrong}; pass size= the "
                "number of classes"
            )
    pairs = (true * size + guess).ravel()
    return np.bincount(pairs, minlength=size * size).reshape(size, size)


def accuracy(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Compute the fraction of correct predictions.

    Args:
        labels: True classes, or a 0/1 table of labels.
        predicted: Predicted classes in the shape of the labels; or scores with a column
            for each class, where the highest score determines the class.

    Returns:
        A number from 0 to 1; NaN if there are no labels.

    Examples:
        >>> accuracy([0, 1, 1, 2], [0, 1, 1, 1])
        0.75
    """
    true, guess = read_classes(labels, predicted)
    return float((true == guess).mean()) if true.size else float("nan")


def balanced_accuracy(labels: ArrayLike, predicted: ArrayLike, *, size: int) -> float:
    """Compute the mean recall of the classes.

    Args:
        labels: True classes, from 0 to ``size - 1``.
        predicted: Predicted classes in the shape of the labels; or scores with a column
            for each class, where the highest score determines the class.
        size: Number of classes; a class without labels is ignored.

    Returns:
        A number from 0 to 1; NaN if there are no labels.

    Examples:
        >>> balanced_accuracy([0, 0, 0, 1], [0, 0, 0, 0], size=2)
        0.5
    """
    return balanced_accuracy_from_counts(confusion_matrix(labels, predicted, size=size))


def balanced_accuracy_from_counts(counts: NDArray[np.int64]) -> float:
    """Compute the mean recall from a confusion matrix."""
    totals = counts.sum(axis=1)
    hits = counts.diagonal()[totals > 0] / totals[totals > 0]
    return float(hits.mean()) if hits.size else float("nan")


def mcc(labels: ArrayLike, predicted: ArrayLike, *, size: int) -> float:
    """Compute the Matthews correlation coefficient for any number of classes.

    Args:
        labels: True classes, from 0 to ``size - 1``.
        predicted: Predicted classes in the shape of the labels; or scores with a column
            for each class, where the highest score determines the class.
        size: Number of classes.

    Returns:
        A number from -1 to 1; 0 if `labels` or `predicted` contains only one class, NaN
        if there are no labels.

    Examples:
        >>> mcc([0, 1, 2, 2], [0, 1, 2, 2], size=3)
        1.0
    """
    return mcc_from_counts(confusion_matrix(labels, predicted, size=size))


def mcc_from_counts(matrix: NDArray[np.int64]) -> float:
    """Compute the Matthews correlation coefficient from a confusion matrix."""
    # Python integers: products of large counts are exact.
    true, guess = (matrix.sum(axis=axis).tolist() for axis in (1, 0))
    total, right = sum(true), sum(matrix.diagonal().tolist())
    if not total:
        return float("nan")
    both = right * total - sum(map(operator.mul, true, guess))
    scale = math.prod(
        total * total - sum(count * count for count in counts) for counts in (true, guess)
    )
    return _clip_correlation(both / math.sqrt(scale)) if scale else 0.0


def f1(
    labels: ArrayLike, predicted: ArrayLike, *, size: int = 2, average: str = "binary"
) -> float:
    """Compute the F1 score: the harmonic mean of precision and recall.

    Args:
        labels: True classes, from 0 to ``size - 1``.
        predicted: Predicted classes in the shape of the labels; or scores with a column
            for each class, where the highest score determines the class.
        size: Number of classes.
        average: ``"binary"``: F1 score of class 1, for two classes. ``"macro"``: mean
            over the classes that occur in the labels or predictions. ``"weighted"``:
            mean weighted by the number of labels. ``"micro"``: score of all classes
            together.

    Returns:
        A number from 0 to 1; 0 without true positives, NaN if there are no labels.

    Raises:
        ArgumentError: `average` is unknown, or is ``"binary"`` and `size` is not 2.

    Examples:
        >>> f1([0, 1, 1, 1], [0, 0, 1, 1])
        0.8
        >>> round(f1([0, 1, 2, 2], [0, 1, 1, 2], size=3, average="macro"), 4)
        0.7778
    """
    require_average(average, size)
    return f1_from_counts(confusion_matrix(labels, predicted, size=size), average)


def require_average(average: str, size: int) -> None:
    """Raise if the average is unknown, or "binary" although there are not two classes."""
    ways = ("binary", "macro", "micro", "weighted")
    if average not in ways:
        raise ArgumentError(f"average must be one of {ways}, got {average!r}")
    if average == "binary" and size != 2:  # noqa: PLR2004
        raise ArgumentError(
            f'average="binary" needs size=2, got {size}; pass average="macro", "micro" or '
            '"weighted"'
        )


def f1_from_counts(counts: NDArray[np.int64], average: str) -> float:
    """Compute the F1 score from a confusion matrix."""
    labels, hits = counts.sum(axis=1), counts.diagonal()
    both = labels + counts.sum(axis=0)
    if not counts.sum():
        return float("nan")
    scores = 2 * hits / np.maximum(both, 1)
    averages = {
        "binary": scores[min(1, len(scores) - 1)],
        "micro": 2 * hits.sum() / both.sum(),
        "macro": scores[both > 0].mean(),
        "weighted": (scores * labels).sum() / labels.sum(),
    }
    return float(averages[average])


def auroc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Compute the area under the receiver operating characteristic (ROC) curve.

    Args:
        labels: 0/1 labels ``(n,)`` for scores ``(n,)``, classes ``(n,)`` for scores
            ``(n, classes)``, or a 0/1 table in the scores' shape.
        scores: Predicted scores; a higher score means that the class is more likely.

    Returns:
        A number from 0 to 1: the mean over the columns that contain both 0 and 1 as
        labels; NaN if there is no such column.

    Raises:
        NotFiniteError: A label or a score is NaN.
        OutOfRangeError: A label is neither 0 nor 1, or the scores have no column for a
            class.
        ShapeError: The shapes of labels and scores do not match, for example ``(n,)``
            and ``(n, 1)``.

    Examples:
        >>> auroc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        0.75
    """
    curves = _rank_columns(*read_label_columns(labels, scores))
    return _mean_without_nan(curve.auroc for curve in curves)


def auprc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Compute the area under the precision-recall curve as average precision.

    Args:
        labels: Labels, in any form that `auroc` accepts.
        scores: Predicted scores; a higher score means that the class is more likely.

    Returns:
        A number from 0 to 1: the mean over the columns that contain both 0 and 1 as
        labels; NaN if there is no such column.

    Raises:
        NotFiniteError: A label or a score is NaN.
        OutOfRangeError: A label is neither 0 nor 1, or the scores have no column for a
            class.
        ShapeError: The shapes of labels and scores do not match, for example ``(n,)``
            and ``(n, 1)``.

    Examples:
        >>> round(auprc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
        0.8333
    """
    curves = _rank_columns(*read_label_columns(labels, scores))
    return _mean_without_nan(curve.auprc for curve in curves)


def r2(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Compute R2: the fraction of the labels' variance that the predictions explain.

    Args:
        labels: True values, ``(n,)`` or ``(n, columns)``.
        predicted: Predicted values with the shape of `labels`.

    Returns:
        A number of at most 1: the mean over the columns in which the labels vary; NaN if
            the labels are constant or infinite.

    Raises:
        NotFiniteError: A value is NaN.
        ShapeError: The shapes differ.

    Examples:
        >>> r2([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
        0.5
    """
    return _mean_over_columns(_column_r2, *read_values(labels, predicted))


def pearson(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Compute the Pearson correlation coefficient.

    Args:
        labels: True values, ``(n,)`` or ``(n, columns)``.
        predicted: Predicted values with the shape of `labels`.

    Returns:
        A number from -1 to 1: the mean over the columns in which labels and predictions
        vary; NaN if either is constant or infinite.

    Raises:
        NotFiniteError: A value is NaN.
        ShapeError: The shapes differ.

    Examples:
        >>> round(pearson([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]), 6)
        1.0
    """
    return _mean_over_columns(_correlate, *read_values(labels, predicted))


def spearman(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Compute the Spearman rank correlation; tied values have their mean rank.

    Args:
        labels: True values, ``(n,)`` or ``(n, columns)``.
        predicted: Predicted values with the shape of `labels`.

    Returns:
        A number from -1 to 1: the mean over the columns in which labels and predictions
        vary; NaN if either is constant.

    Raises:
        NotFiniteError: A value is NaN.
        ShapeError: The shapes differ.

    Examples:
        >>> round(spearman([1.0, 2.0, 3.0], [1.0, 8.0, 9.0]), 6)
        1.0
    """
    return _mean_over_columns(
        lambda true, guess: _correlate(_rank_values(true), _rank_values(guess)),
        *read_values(labels, predicted),
    )


def _rank_columns(labels: Floats, scores: Floats) -> Iterator[RankCurve]:
    """Rank the records of each column by score."""
    return map(RankCurve.from_scores, labels.T, scores.T)


def _mean_over_columns(
    measure: Callable[[Floats, Floats], float], true: Floats, guess: Floats
) -> float:
    """Return the mean of a metric over the columns."""
    return _mean_without_nan(map(measure, true.T, guess.T))


def _mean_without_nan(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


def _column_r2(labels: Floats, predicted: Floats) -> float:
    """Compute 1 minus the squared error divided by the squared distance from the mean."""
    if _is_without_variance(labels):
        return float("nan")
    if not np.isfinite(predicted).all():
        return -math.inf
    unit = _find_scale(labels, predicted)
    labels, predicted = labels / unit, predicted / unit
    centred, errors = _subtract_mean(labels), labels - predicted
    # Scale variance and errors separately, so that a small variance does not become 0.
    small, large = _find_scale(centred), _find_scale(errors)
    ratio = _exact_sum(np.square(errors / large)) / _exact_sum(np.square(centred / small))
    return 1 - ratio * (large / small) * (large / small)


def _correlate(labels: Floats, predicted: Floats) -> float:
    """Compute the correlation of two columns as the cosine of the centred columns."""
    if _is_without_variance(labels) or _is_without_variance(predicted):
        return float("nan")
    left, right = (_subtract_mean(it / _find_scale(it)) for it in (labels, predicted))
    left, right = left / _find_scale(left), right / _find_scale(right)
    scale = math.sqrt(_exact_sum(left * left) * _exact_sum(right * right))
    return _clip_correlation(_exact_sum(left * right) / scale)


def _is_without_variance(values: Floats) -> bool:
    """Return whether the variance of the values is zero or undefined."""
    # Compare the values, because rounding may give equal values a variance above 0.
    return not len(values) or bool(
        values.min() == values.max() or not np.isfinite(values).all()
    )


def _find_scale(*arrays: Floats) -> float:
    """Return a power of two that scales values exactly so that squares do not overflow."""
    largest = max(float(np.abs(values).max()) for values in arrays)
    return math.ldexp(1.0, min(math.frexp(largest)[1], 1023))  # largest float64 exponent


def _clip_correlation(correlation: float) -> float:
    """Clip values that are beyond -1 or 1 because of rounding errors."""
    return max(-1.0, min(1.0, correlation))


def _subtract_mean(values: Floats) -> Floats:
    """Subtract the mean twice, because the mean of large, close values is rounded."""
    once = values - _exact_sum(values) / len(values)
    return once - _exact_sum(once) / len(once)


def _exact_sum(values: Floats) -> float:
    """Return the exact sum, rounded once; the order of the values does not matter."""
    return math.fsum(values.tolist())


def _rank_values(values: Floats) -> Floats:
    """Return ranks from 1; equal values share their mean rank."""
    _, index, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return ((2 * last - count + 1) / 2)[index]
