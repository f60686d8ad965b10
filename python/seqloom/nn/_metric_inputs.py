"""Checks of labels and predictions for metrics; ROC and precision-recall curves."""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom._arguments import check_aligned_columns
from seqloom.errors import DTypeError, NotFiniteError, OutOfRangeError, ShapeError

Floats: TypeAlias = NDArray[np.float64]
_STRING_KINDS = "US"  # kinds of NumPy's string dtypes
_SCORE_AXES = 2  # number of axes of scores with a column for each class


def read_classes(
    labels: ArrayLike, predicted: ArrayLike
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return true and predicted classes; for scores, the class with the highest score."""
    check_aligned_columns({"labels": labels, "predicted": predicted})
    true, guess = np.asarray(labels), np.asarray(predicted)
    if guess.ndim == true.ndim + 1 and guess.shape[1] > 1:
        require_no_nan("predicted", guess)
        _require_columns(true, guess.shape[1])
        guess = guess.argmax(axis=1)
    if true.shape != guess.shape:
        raise ShapeError(
            f"predicted must be classes in the shape of labels {true.shape}, or scores "
            f"with a column for each class, got shape {guess.shape}"
        )
    if (true.dtype.kind in _STRING_KINDS) != (guess.dtype.kind in _STRING_KINDS):
        name = "labels" if true.dtype.kind in _STRING_KINDS else "predicted"
        raise DTypeError(
            f"{name} are strings and the other classes are numbers; pass the indices "
            "of the classes for both"
        )
    for name, classes in (("labels", true), ("predicted", guess)):
        if classes.dtype.kind != "f":
            continue
        if np.isinf(classes).any():
            raise DTypeError(f"{name} must be classes, which are integers, got infinity")
        if (classes != np.floor(classes)).any():
            raise DTypeError(
                f"{name} must be classes, which are integers, got fractions; pass for "
                "example scores > 0.5 instead of scores"
            )
    return true, guess


def read_label_columns(labels: ArrayLike, scores: ArrayLike) -> tuple[Floats, Floats]:
    """Return 0/1 labels and scores as columns; classes are one-hot encoded."""
    true, guess = _read_numbers(labels, scores, "scores")
    if true.shape == guess.shape and true.ndim:
        wrong = true[(true != 0) & (true != 1)]
        if wrong.size:
            raise OutOfRangeError(
                f"labels must be 0 or 1, got {wrong[0]:g}; for several classes pass scores "
                "with a column for each"
            )
        return _to_columns(true), _to_columns(guess)
    if guess.ndim == _SCORE_AXES and guess.shape[1] > 1 and true.shape == guess.shape[:1]:
        count = guess.shape[1]
        columns = np.arange(count, dtype=np.float64)
        one_hot = np.equal(true[:, None], columns)
        if not (known := one_hot.any(axis=1)).all():
            raise OutOfRangeError(
                f"labels must be classes from 0 to {count - 1}, got {true[~known][0]:g}"
            )
        return one_hot.astype(np.float64), guess
    raise ShapeError(
        f"labels must have the shape of scores {guess.shape}, or be classes (n,) with "
        f"scores that have a column for each class, got {true.shape}"
        + _suggest_column("scores", guess, true)
    )


def read_values(labels: ArrayLike, predicted: ArrayLike) -> tuple[Floats, Floats]:
    """Return true and predicted values as columns."""
    true, guess = _read_numbers(labels, predicted, "predicted")
    if true.shape != guess.shape or not true.ndim:
        raise ShapeError(
            f"predicted must have the shape of labels {true.shape}, got shape "
            f"{guess.shape}" + _suggest_column("predicted", guess, true)
        )
    return _to_columns(true), _to_columns(guess)


def require_no_nan(name: str, values: NDArray[Any]) -> None:
    """Raise if a value is NaN, because NaN cannot be ranked."""
    if values.dtype.kind != "f" or not (missing := np.isnan(values)).any():
        return
    first = ", ".join(str(int(axis[0])) for axis in np.nonzero(np.atleast_1d(missing)))
    raise NotFiniteError(
        f"{name} holds {int(missing.sum())} NaN, the first at {first}; leave out such "
        "records, or find where the model's outputs become NaN"
    )


def _read_numbers(labels: ArrayLike, scores: ArrayLike, name: str) -> tuple[Floats, Floats]:
    """Return labels and scores as floats; raise on NaN."""
    check_aligned_columns({"labels": labels, name: scores})
    true, guess = np.asarray(labels, np.float64), np.asarray(scores, np.float64)
    require_no_nan("labels", true)
    require_no_nan(name, guess)
    return true, guess


def _to_columns(values: Floats) -> Floats:
    """Reshape to one row for each record."""
    return values.reshape(len(values), -1) if values.size else values.reshape(0, 1)


def _require_columns(labels: NDArray[Any], count: int) -> None:
    """Raise if a label is not the index of a column of the scores."""
    if labels.dtype.kind in "iuf" and labels.size:
        wrong = labels[(labels < 0) | (labels >= count)]
        if wrong.size:
            raise OutOfRangeError(
                f"labels must be classes from 0 to {count - 1}, got {wrong.flat[0]:g}"
            )


def _suggest_column(name: str, scores: Floats, labels: Floats) -> str:
    """Return a hint to select the only column of scores, or an empty string."""
    is_column = scores.shape == (*labels.shape, 1)
    return f"; pass {name}[:, 0]" if is_column and labels.ndim else ""


@dataclass(frozen=True, slots=True)
class RankCurve:
    """Cumulative counts of records by decreasing score, one count for each distinct score.

    Args:
        true_positives: Cumulative counts of records that belong to the class, from 0.
        false_positives: Cumulative counts of all other records.

    Examples:
        >>> curve = RankCurve.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> curve.auroc, round(curve.auprc, 4)
        (0.75, 0.8333)
    """

    true_positives: NDArray[np.int64]
    false_positives: NDArray[np.int64]

    @classmethod
    def from_scores(cls, labels: ArrayLike, scores: ArrayLike) -> "RankCurve":
        """Count records; a label above 0 marks a record of the class."""
        values = np.asarray(scores, float)
        order = np.argsort(-values)  # the order of equal scores does not matter
        ranked = values[order]
        # Compare instead of subtracting, because infinity minus infinity is NaN.
        is_last = np.append(ranked[1:] != ranked[:-1], True)[: ranked.size]
        last = np.flatnonzero(is_last)
        hits, records = np.cumsum(np.asarray(labels)[order] > 0)[last], last + 1
        return cls(np.append(0, hits), np.append(0, records - hits))

    @property
    def positives(self) -> int:
        """Number of records of the class."""
        return int(self.true_positives[-1])

    @property
    def negatives(self) -> int:
        """Number of records that are not of the class."""
        return int(self.false_positives[-1])

    @property
    def recall(self) -> Floats:
        """True positive rate: the y axis of the ROC curve."""
        return self.true_positives / self.positives

    @property
    def fpr(self) -> Floats:
        """False positive rate: the x axis of the ROC curve."""
        return self.false_positives / self.negatives

    @property
    def precision(self) -> Floats:
        """Precision: the fraction of the predicted records that belong to the class."""
        return self.true_positives[1:] / (self.true_positives + self.false_positives)[1:]

    @property
    def auroc(self) -> float:
        """Area under the ROC curve; NaN if all records, or no records, are of the class."""
        if not (self.positives and self.negatives):
            return math.nan
        # Count pairs of records as integers, because a sum of fractions might exceed 1.
        pairs = np.diff(self.false_positives) @ (
            self.true_positives[1:] + self.true_positives[:-1]
        )
        return int(pairs) / (2 * self.positives * self.negatives)

    @property
    def auprc(self) -> float:
        """Average precision; NaN if all records, or no records, are of the class."""
        if not (self.positives and self.negatives):
            return math.nan
        return float(self.precision @ np.diff(self.true_positives) / self.positives)
