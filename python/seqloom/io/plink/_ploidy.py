"""Which chromosomes are not two in everybody, and who counts on them, as in PLINK 1.9."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.io.plink._open_bed import open_bed

# As a .fam spells it.
MALE = 1
_PREFIX = "CHR"


class Group(IntEnum):
    """Groups in which individuals are counted."""

    MALE = 0
    OTHER = 1  # females, and those of unknown sex
    NONFOUNDER = 2
    NOBODY = 3  # left out: no group at all


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


def ploidy_of(chromosome: NDArray[Any] | None, count: int) -> NDArray[np.uint8]:
    """Says how the chromosome of each variant counts; an unknown one as an autosome."""
    if chromosome is None or not len(chromosome):
        return np.zeros(count, np.uint8)
    # Variants of a chromosome stand together: a name is looked at once for each run of it.
    starts = np.flatnonzero(np.append(True, chromosome[1:] != chromosome[:-1]))
    kinds = [_ploidy(str(name)) for name in chromosome[starts]]
    return np.repeat(np.array(kinds, np.uint8), np.diff(starts, append=count))


def _ploidy(name: str) -> Ploidy:
    """Reads a chromosome's name: X, 23, chrX, and so on."""
    return _PLOIDIES.get(name.upper().removeprefix(_PREFIX), Ploidy.TWO)


def groups_of(
    bed: open_bed,
    chosen: NDArray[np.int64] | None,
    ploidy: NDArray[np.uint8],
    *,
    nonfounders: bool,
) -> NDArray[np.uint8]:
    """Says in which group each individual is; who is male matters on X and Y alone."""
    groups = np.full(bed.iid_count, Group.OTHER, np.uint8)
    if bed.sex is not None and np.isin(ploidy, (Ploidy.X, Ploidy.Y)).any():
        groups[bed.sex == MALE] = Group.MALE
    for parent in () if nonfounders else (bed.father, bed.mother):
        if parent is not None:
            groups[parent != "0"] = Group.NONFOUNDER
    if chosen is not None:
        left_out = np.ones(len(groups), bool)
        left_out[chosen] = False
        groups[left_out] = Group.NOBODY
    return groups
