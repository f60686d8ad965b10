"""The Jensen-Shannon distance of profiles, which are counts at each position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom._arguments import check_aligned_columns
from seqloom.errors import OutOfRangeError, ShapeError
from seqloom.nn._metric_inputs import require_no_nan

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

# Maximum number of values that are converted to float64 at a time, to limit memory.
_BLOCK_VALUES = 1 << 20


def jensen_shannon(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Compute the mean Jensen-Shannon distance of observed and predicted profiles.

    Each profile is divided by its sum. The distance is the square root of the
    divergence in nats, as in SciPy and chrombpnet. It is 0 for equal profiles, and 0.83
    (the square root of log 2) for profiles without a common position.

    Args:
        labels: Observed counts, ``(n, positions)`` or ``(n, tracks, positions)``.
        predicted: Predicted counts or probabilities with the shape of `labels`.

    Returns:
        The mean over the profiles with a count in `labels`; NaN if there are none.

    Raises:
        NotFiniteError: A value is NaN.
        OutOfRangeError: A value is below 0, or a predicted profile has the sum 0.
        ShapeError: The shapes differ, or have fewer than two axes.

    Examples:
        >>> round(jensen_shannon([[1.0, 0.0]], [[0.0, 1.0]]), 4)
        0.8326
    """
    distances = profile_distances(labels, predicted)
    defined = distances[~np.isnan(distances)]
    return float(defined.mean()) if defined.size else float("nan")


def profile_distances(labels: ArrayLike, predicted: ArrayLike) -> Floats:
    """Return the distance of each profile, without the last axis; NaN without counts."""
    check_aligned_columns({"labels": labels, "predicted": predicted})
    true, guess = np.asarray(labels), np.asarray(predicted)
    if true.shape != guess.shape or true.ndim <= 1:
        raise ShapeError(
            f"predicted must have the shape of labels {true.shape}, which needs two or "
            f"three axes, got {guess.shape}"
        )
    for name, values in (("labels", true), ("predicted", guess)):
        require_no_nan(name, values)
        if (values < 0).any():
            raise OutOfRangeError(f"{name} must be 0 or more, got {values.min():g}")
    if not guess.any(axis=-1).all():
        raise OutOfRangeError("predicted has a profile with the sum 0; expected above 0")
    positions = true.shape[-1]
    rows, other_rows = true.reshape(-1, positions), guess.reshape(-1, positions)
    distances = np.empty(len(rows))
    size = max(1, _BLOCK_VALUES // max(positions, 1))
    for at in range(0, len(rows), size):
        block = slice(at, at + size)
        distances[block] = _compute_distances(rows[block], other_rows[block])
    return distances.reshape(true.shape[:-1])


def _compute_distances(true: NDArray[np.generic], guess: NDArray[np.generic]) -> Floats:
    """Return the distance of each row; NaN if the observed row has the sum 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        one, other = (
            it.astype(np.float64) / it.sum(axis=1, keepdims=True, dtype=np.float64)
            for it in (true, guess)
        )
        middle = (one + other) / 2
        terms = np.zeros(len(one))
        for part in (one, other):
            logs = np.where(part > 0, np.log(part / middle), 0.0)
            terms += (part * logs).sum(axis=1) / 2
    # Rounding may make the divergence of equal profiles slightly smaller than 0.
    return np.sqrt(np.maximum(terms, 0.0))
