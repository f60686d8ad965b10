"""Calibration: whether answers of 80 % probability are right in 80 % of the cases."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.report._interval import wilson_bounds
from seqloom.report._panels import Plot, Trace
from seqloom.report._values import Section, Table

_BINS = 10


@dataclass(frozen=True, slots=True)
class Calibration:
    """Compares probabilities with how often they came true, in ten bins of equal width.

    Args:
        counts: How many answers each bin has.
        sure: Their mean probability; NaN in an empty bin.
        right: The share of them that came true; NaN in an empty bin.

    Examples:
        >>> found = Calibration.of([True, False], [0.9, 0.9])
        >>> found.counts.tolist()[8], round(found.error, 4)
        (2, 0.4)
    """

    counts: NDArray[np.int64]
    sure: NDArray[np.float64]
    right: NDArray[np.float64]

    @classmethod
    def of(cls, is_right: ArrayLike, probabilities: ArrayLike) -> "Calibration":
        """Puts answers into bins; an edge belongs to the bin below it."""
        values = np.asarray(probabilities, float)
        numbers = np.searchsorted(np.linspace(0, 1, _BINS + 1)[1:-1], values)
        counts = np.bincount(numbers, minlength=_BINS)
        sums = [np.bincount(numbers, it, _BINS) for it in (values, np.asarray(is_right))]
        shares = np.full((2, _BINS), np.nan)
        np.divide(sums, counts, out=shares, where=counts > 0)
        return cls(counts, *shares)

    @property
    def error(self) -> float:
        """The expected calibration error: the mean gap, each answer counting the same."""
        gaps = np.abs(self.sure - self.right)
        return float(np.nansum(gaps * self.counts) / max(self.counts.sum(), 1))


def calibration_section(
    is_right: ArrayLike, probabilities: ArrayLike, *, name: str
) -> Section:
    """Draws how often answers came true over their probability, and how many there are.

    The expected calibration error is that of Guo et al. (ICML 2017) in ten bins; the
    intervals of the bins are Wilson's.

    Args:
        is_right: Whether each answer came true.
        probabilities: How sure the model was of it.
        name: Which records were scored, such as ``"test"``.

    Returns:
        The section.

    Examples:
        >>> calibration_section([1, 0], [0.9, 0.8], name="test").title
        'Calibration, test'
    """
    found = Calibration.of(is_right, probabilities)
    note = (
        "The probability of each answer, and how often such answers are right: on the "
        f"dashed line they agree. On {found.counts.sum():,} answers; expected calibration "
        f"error {found.error:.3f} (mean gap over {_BINS} bins, weighted by their answers). "
        "Bars: 95 % intervals (Wilson)."
    )
    return Section(
        title=f"Calibration, {name}",
        note=note,
        drawings=(_reliability(found), _histogram(found)),
        details=Table("Calibration by bin", _HEADINGS, list(_rows(found))),
    )


_HEADINGS = ("probability", "answers", "mean probability", "share that is right")


def _rows(found: Calibration) -> Iterator[tuple[str | int | float, ...]]:
    """Lists the bins that hold something."""
    for number in np.flatnonzero(found.counts).tolist():
        span = f"{number / _BINS:.1f} to {(number + 1) / _BINS:.1f}"
        numbers = float(found.sure[number]), float(found.right[number])
        yield (span, int(found.counts[number]), *numbers)


def _reliability(found: Calibration) -> Plot:
    """Draws the share that came true over the probability."""
    full = found.counts > 0
    low, high = wilson_bounds(found.right[full], found.counts[full])
    points = Trace(
        "share that is right",
        *(found.sure[full], found.right[full]),
        low=low,
        high=high,
        shape="points",
    )
    return Plot(
        "Reliability",
        (Trace("perfectly calibrated", [0, 1], [0, 1], shape="guide"), points),
        x_label="mean probability of the answers in a bin",
        y_label="share that is right",
        x_range=(0, 1),
        y_range=(0, 1),
    )


def _histogram(found: Calibration) -> Plot:
    """Draws how many answers each bin has."""
    edges = np.linspace(0, 1, _BINS + 1)
    return Plot(
        "Answers in each bin",
        (Trace("", edges, found.counts, shape="bars"),),
        x_label="probability",
        y_label="answers",
        x_range=(0, 1),
    )
