"""From the codes of a variant to its frequency, mean, variance and Hardy-Weinberg p."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.io.plink._open_bed import open_bed

MALE = 1  # as in a .fam
_PREFIX = "CHR"


class Group(IntEnum):
    """Groups in which individuals are counted."""

    MALE = 0
    OTHER = 1  # females, and those of unknown sex
    NONFOUNDER = 2
    EXCLUDED = 3  # not counted


class Ploidy(IntEnum):
    """How many copies of a chromosome an individual has, as far as counting goes."""

    TWO = 0
    X = 1
    Y = 2
    MT = 3  # counted as two, but in no equilibrium


_PLOIDIES = {
    **dict.fromkeys(("X", "23"), Ploidy.X),
    **dict.fromkeys(("Y", "24"), Ploidy.Y),
    **dict.fromkeys(("MT", "M", "26"), Ploidy.MT),
}


def find_ploidy(chromosome: NDArray[Any] | None, count: int) -> NDArray[np.uint8]:
    """Returns the ploidy of each variant; an unknown chromosome counts as an autosome."""
    if chromosome is None or not len(chromosome):
        return np.zeros(count, np.uint8)
    # Variants of a chromosome are neighbours: each run of a name is looked up once.
    starts = np.flatnonzero(np.append(True, chromosome[1:] != chromosome[:-1]))
    kinds = [_ploidy(str(name)) for name in chromosome[starts]]
    return np.repeat(np.array(kinds, np.uint8), np.diff(starts, append=count))


def _ploidy(name: str) -> Ploidy:
    """Reads a chromosome's name: X, 23, chrX, and so on."""
    return _PLOIDIES.get(name.upper().removeprefix(_PREFIX), Ploidy.TWO)


def find_groups(
    bed: open_bed,
    chosen: NDArray[np.int64] | None,
    ploidy: NDArray[np.uint8],
    *,
    nonfounders: bool,
) -> NDArray[np.uint8]:
    """Returns the group of each individual; sex matters on X and Y only."""
    groups = np.full(bed.iid_count, Group.OTHER, np.uint8)
    if bed.sex is not None and np.isin(ploidy, (Ploidy.X, Ploidy.Y)).any():
        groups[bed.sex == MALE] = Group.MALE
    for parent in () if nonfounders else (bed.father, bed.mother):
        if parent is not None:
            groups[parent != "0"] = Group.NONFOUNDER
    if chosen is not None:
        left_out = np.ones(len(groups), bool)
        left_out[chosen] = False
        groups[left_out] = Group.EXCLUDED
    return groups


# The columns of the counts.
_HOM_A1, _MISSING, _HET, _HOM_A2 = range(4)
_GENOTYPES = [_HOM_A1, _HET, _HOM_A2]

_COLUMNS = {
    **dict.fromkeys(("count", "missing", "hom_a1", "het", "hom_a2", "alleles"), np.int32),
    **dict.fromkeys(("allele_frequency", "mean", "variance", "hardy_p"), np.float64),
}


def make_columns(count: int) -> dict[str, NDArray[Any]]:
    """Makes empty columns."""
    return {name: np.empty(count, kind) for name, kind in _COLUMNS.items()}


def compute_columns(
    counts: NDArray[np.uint32],
    ploidy: NDArray[np.uint8],
    *,
    count_a1: bool,
    mid_p: bool,
    threads: int,
) -> dict[str, NDArray[Any]]:
    """Computes the columns of some variants from the codes of each group."""
    total = counts.sum(axis=1, dtype=np.int64)
    hom_a1, het, hom_a2 = total[:, _GENOTYPES].T
    two, one = _founders(counts, ploidy)
    a1, alleles = _alleles(two, one)
    return {
        "count": hom_a1 + het + hom_a2,
        "missing": total[:, _MISSING],
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
    """Counts genotypes of founders with two copies of the chromosome, and with one."""
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
    """Counts alleles A1, and all alleles; with one copy nobody is heterozygous."""
    first = np.array([2, 1, 0], np.int64)
    a1 = two.astype(np.int64) @ first + one[:, 0]
    a2 = two.astype(np.int64) @ first[::-1] + one[:, 2]
    return a1, a1 + a2


def _moments(
    two: NDArray[np.int64], one: NDArray[np.int64], count: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Computes mean and variance of values from the numbers of 2 and of 1 among them."""
    mean = _divide(2 * two + one, count)
    squares = _divide(4 * two + one, count)
    # Rounding must not give a constant variant a variance.
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
    """Divides; gives NaN for a division by 0."""
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
