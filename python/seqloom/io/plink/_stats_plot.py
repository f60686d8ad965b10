"""Genotype statistics as the panels of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom.report import Bars, Quantiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.io.plink._genotype_stats import GenotypeStats

_BINS = 25
_HALF = 0.5
# Without any missing genotypes, the axis still ends somewhere.
_LEAST = 0.01
# Points of a picture; beyond the smallest p they are as far apart as can be seen.
_POINTS = 600


def panels_of(stats: GenotypeStats) -> Iterator[Bars | Quantiles]:
    """Gives what can be drawn: p-values only where something was tested."""
    variants, individuals = len(stats.count), len(stats.individual_missing)
    yield _bars(
        "minor allele frequency", stats.minor_allele_frequency, end=_HALF, unit="variants"
    )
    p = stats.hardy_p
    if len(p):
        yield _quantiles(p)
    yield _bars(
        "missing genotypes of a variant",
        stats.missing / max(individuals, 1),
        axis="share of individuals",
        unit="variants",
    )
    yield _bars(
        "missing genotypes of an individual",
        stats.individual_missing / max(variants, 1),
        axis="share of variants",
        unit="individuals",
    )


def _bars(
    title: str,
    shares: NDArray[np.float64],
    *,
    unit: str,
    end: float | None = None,
    axis: str = "",
) -> Bars:
    """Counts shares in bins of equal width."""
    known = shares[~np.isnan(shares)]
    last = end or max(float(known.max(initial=0)), _LEAST)
    counts, edges = np.histogram(known, _BINS, (0, last))
    return Bars(title, edges.tolist(), counts.tolist(), axis=axis, unit=unit)


def _quantiles(p: NDArray[np.float64]) -> Quantiles:
    """Puts p-values beside even ones: all of the smallest, and fewer of the others."""
    count = len(p)
    ranks = np.unique(np.geomspace(1, count, _POINTS).astype(np.int64)) - 1
    smallest = np.maximum(np.sort(p)[ranks], np.finfo(float).tiny)
    expected, observed = -np.log10((ranks + _HALF) / count), -np.log10(smallest)
    title = "Hardy-Weinberg equilibrium"
    # 1 has the logarithm -0.0
    return Quantiles(title, expected.tolist(), np.abs(observed).tolist())
