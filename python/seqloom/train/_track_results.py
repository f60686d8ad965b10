"""Results of tracks: intervals of the metrics, and pictures for the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.infer._scores import compute_exact_scores
from seqloom.nn._track_metrics import profile_distances
from seqloom.report import Plot, Section, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.infer import Scores
    from seqloom.models import Profile

    Floats = NDArray[np.float64]

_METRICS = ("pearson", "spearman", "jensen_shannon")
_RESAMPLES = 1000
_PERCENTILES = (2.5, 97.5)
# Maximum product of regions and resamples in one chunk, to limit memory.
_MAX_WEIGHTS = 1 << 20
# Values with a smaller variance, as a fraction of their mean square, are constant.
_LEAST_VARIANCE = 1e-20
# The report shows the regions at these quantiles of the observed counts.
_SHOWN_QUANTILES = (1.0, 0.75, 0.5)
_MAX_SHOWN_TRACKS = 2


def track_intervals(
    task: Profile, labels: NDArray[Any], scores: NDArray[Any]
) -> dict[str, tuple[float, float]]:
    """Compute the 95 % percentile intervals of the metrics, by a bootstrap of regions."""
    true, guess = (it.T for it in task.count_logs(labels, scores))
    sums, profiles = _sum_distances(labels, scores)
    samples: list[Floats] = []
    with np.errstate(invalid="ignore", divide="ignore"):
        for weights in _draw_weights(len(labels)):
            columns = [_correlate(weights, *it) for it in zip(true, guess, strict=True)]
            distances = (weights @ sums) / (weights @ profiles)
            samples.append(np.column_stack([_average_finite(columns), distances]))
    pairs = zip(_METRICS, np.concatenate(samples).T, strict=True)
    return {name: _find_interval(values) for name, values in pairs}


def _draw_weights(count: int) -> Iterator[Floats]:
    """Yield the weights of regions in bootstrap samples, with a row for each sample."""
    # The seed is fixed, so the same predictions always have the same intervals.
    random, size = np.random.default_rng(0), max(1, _MAX_WEIGHTS // count)
    for at in range(0, _RESAMPLES, size):
        shape = min(size, _RESAMPLES - at)
        yield random.multinomial(count, np.full(count, 1 / count), shape) / count


def _sum_distances(labels: NDArray[Any], scores: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the sum of the distances of each region, and its number of distances."""
    distances = profile_distances(labels, scores)
    has_counts = ~np.isnan(distances)
    return np.where(has_counts, distances, 0.0).sum(axis=1), has_counts.sum(axis=1) * 1.0


def _correlate(weights: Floats, true: Floats, guess: Floats) -> Floats:
    """Return the Pearson and the Spearman correlation for each row of weights."""
    ranks = [_weigh_ranks(weights, it) for it in (true, guess)]
    pairs = ([true[None], guess[None]], ranks)
    return np.stack([_correlate_rows(weights, *it) for it in pairs], axis=1)


def _weigh_ranks(weights: Floats, values: Floats) -> Floats:
    """Return the ranks of values in each sample; equal values share their mean rank."""
    order = np.argsort(values, kind="stable")
    counts = np.unique(values, return_counts=True)[1]
    ends = np.cumsum(weights[:, order], axis=1)[:, np.cumsum(counts) - 1]
    middles = ends - np.diff(ends, prepend=0.0, axis=1) / 2
    ranks = np.empty_like(weights)
    ranks[:, order] = np.repeat(middles, counts, axis=1)
    return ranks


def _correlate_rows(weights: Floats, one: Floats, other: Floats) -> Floats:
    """Return the weighted correlation of each row; NaN without variance."""
    centred = [it - (weights * it).sum(axis=1, keepdims=True) for it in (one, other)]
    variances = [(weights * it * it).sum(axis=1) for it in centred]
    for values, variance in zip((one, other), variances, strict=True):
        # The differences of equal values from their mean are not exactly 0.
        least = _LEAST_VARIANCE * (weights * values * values).sum(axis=1)
        variance[variance < least] = np.nan
    products = (weights * centred[0] * centred[1]).sum(axis=1)
    return products / np.sqrt(variances[0] * variances[1])


def _average_finite(columns: list[Floats]) -> Floats:
    """Return the mean over the tracks with a finite value; NaN if there are none."""
    is_finite = np.isfinite(columns)
    return np.where(is_finite, columns, 0.0).sum(axis=0) / is_finite.sum(axis=0)


def _find_interval(samples: Floats) -> tuple[float, float]:
    """Return the percentiles of the samples that are defined."""
    defined = samples[np.isfinite(samples)]
    if not defined.size:
        return float("nan"), float("nan")
    low, high = np.percentile(defined, _PERCENTILES)
    return float(low), float(high)


def make_track_section(task: Profile, name: str, part: Any) -> Section:
    """Plot observed and predicted counts of regions with high and medium counts."""
    labels, scores = part.labels, part.scores
    reads: Any = task.counts(compute_exact_scores(task, scores))
    order = np.argsort(labels.sum(axis=(1, 2)), kind="stable")
    rows = [int(order[round(it * (len(order) - 1))]) for it in _SHOWN_QUANTILES]
    note = (
        f"Regions of the {name} set with the highest, a high and a medium count. Observed "
        "counts are above 0, and predicted counts below 0."
    )
    if len(task.columns) > _MAX_SHOWN_TRACKS:
        note += f" Shown: the first {_MAX_SHOWN_TRACKS} tracks."
    drawings = [
        _plot_track(f"{_name_region(scores, row)}: {title}", labels[row, k], reads[row, k])
        for row in dict.fromkeys(rows)
        for k, title in enumerate(task.columns[:_MAX_SHOWN_TRACKS])
    ]
    return Section(title="Observed and predicted tracks", note=note, drawings=drawings)


def _name_region(scores: Scores, row: int) -> str:
    return scores.ids[row] if scores.names is None else scores.names[row]


def _plot_track(title: str, observed: NDArray[Any], predicted: NDArray[Any]) -> Plot:
    """Plot the observed counts above 0 and the predicted counts below 0."""
    x = np.arange(len(observed))
    traces = (Trace("observed", x, observed), Trace("predicted", x, -predicted))
    return Plot(title, traces, x_label="position", y_label="count")
