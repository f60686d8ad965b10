"""From the codes of a variant to its frequency, mean, variance and Hardy-Weinberg p."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.io.plink._ploidy import Group, Ploidy

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Where the codes stand.
_HOM_A1, _MISSING, _HET, _HOM_A2 = range(4)
_GENOTYPES = [_HOM_A1, _HET, _HOM_A2]

_COLUMNS = {
    **dict.fromkeys(("count", "missing", "hom_a1", "het", "hom_a2", "alleles"), np.int32),
    **dict.fromkeys(("allele_frequency", "mean", "variance", "hardy_p"), np.float64),
}


def new_columns(count: int) -> dict[str, NDArray[Any]]:
    """Makes the columns, to be filled."""
    return {name: np.empty(count, kind) for name, kind in _COLUMNS.items()}


def columns_of(
    counts: NDArray[np.uint32],
    ploidy: NDArray[np.uint8],
    *,
    count_a1: bool,
    mid_p: bool,
    threads: int,
) -> dict[str, NDArray[Any]]:
    """Computes the columns of some variants from the codes of each group."""
    everybody = counts.sum(axis=1, dtype=np.int64)
    hom_a1, het, hom_a2 = everybody[:, _GENOTYPES].T
    two, one = _founders(counts, ploidy)
    a1, alleles = _alleles(two, one)
    return {
        "count": hom_a1 + het + hom_a2,
        "missing": everybody[:, _MISSING],
        "hom_a1": hom_a1,
        "het": het,
        "hom_a2": hom_a2,
        "alleles": alleles,
        "allele_frequency": _divide(a1 if count_a1 else alleles - a1, alleles),
        **_moments(hom_a1 if count_a1 else hom_a2, het, hom_a1 + het + hom_a2),
        "hardy_p": _hardy(two, ploidy, mid_p=mid_p, threads=threads),
    }


def _founders(
    counts: NDArray[np.uint32], ploidy: NDArray[np.uint8]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Gives the genotypes of founders who have two copies of the chromosome, and one."""
    males = counts[:, Group.MALE, _GENOTYPES]
    others = counts[:, Group.OTHER, _GENOTYPES]
    is_y = (ploidy == Ploidy.Y)[:, None]
    is_single = is_y | (ploidy == Ploidy.X)[:, None]
    none = np.uint32(0)
    two = np.where(is_y, none, others) + np.where(is_single, none, males)
    return two, np.where(is_single, males, none)


def _alleles(
    two: NDArray[np.uint32], one: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts alleles A1, and both; who has one copy is not heterozygous."""
    first = np.array([2, 1, 0], np.int64)
    a1 = two.astype(np.int64) @ first + one[:, 0]
    a2 = two.astype(np.int64) @ first[::-1] + one[:, 2]
    return a1, a1 + a2


def _moments(
    two: NDArray[np.int64], one: NDArray[np.int64], count: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Computes mean and variance of values of which so many are 2, and 1; the rest is 0."""
    mean = _divide(2 * two + one, count)
    squares = _divide(4 * two + one, count)
    # Rounding must not make a constant variant vary.
    is_constant = (two == count) | (one == count)
    return {"mean": mean, "variance": np.where(is_constant, 0 * mean, squares - mean**2)}


def _hardy(
    two: NDArray[np.uint32], ploidy: NDArray[np.uint8], *, mid_p: bool, threads: int
) -> NDArray[np.float64]:
    """Tests for Hardy-Weinberg equilibrium; on Y and MT p is that of no genotypes."""
    out = np.empty(len(two))
    _native.hardy_p(np.ascontiguousarray(two), out, mid_p, threads)
    out[(ploidy == Ploidy.Y) | (ploidy == Ploidy.MT)] = 0.5 if mid_p else 1
    return out


def _divide(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    """Divides; where there is nothing to divide by, NaN."""
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
