"""Which variants of a file are those that a model reads; some have alleles exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seqloom.errors import FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Texts = NDArray[np.str_]

_SHOWN = 3
# PLINK writes 0 (PLINK 2 also ".") for an allele that occurs in no genotype of the file.
_MISSING_ALLELES = ("0", ".")


@dataclass(frozen=True, slots=True, eq=False)
class Variants:
    """What names variants: their ids and alleles."""

    ids: Texts
    counted: Texts  # the allele that is counted
    other: Texts

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, rows: NDArray[np.int64]) -> Variants:
        return Variants(self.ids[rows], self.counted[rows], self.other[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """Where the wanted variants are in a file."""

    positions: NDArray[np.int64]
    is_flipped: NDArray[np.bool_]  # the file counts the other allele: use 2 - g
    missing_alleles: int = 0  # variants that are found by id and one allele

    @property
    def flipped(self) -> int:
        """The number of variants with exchanged alleles."""
        return int(self.is_flipped.sum())


def match(wanted: Variants, found: Variants, *, name: str) -> Match:
    """Finds each wanted variant by its id and its alleles."""
    if _is_same(wanted, found):
        return Match(np.arange(len(wanted)), np.zeros(len(wanted), np.bool_))
    candidates = _list_candidates(wanted, found)
    _check_present(wanted, candidates, name)
    rows = zip(wanted.ids.tolist(), wanted.counted, wanted.other, strict=True)
    positions = [_choose(row, found, candidates[row[0]], name=name) for row in rows]
    chosen = np.array(positions, np.int64)
    return _compare(wanted, found[chosen], chosen)


def _compare(wanted: Variants, found: Variants, positions: NDArray[np.int64]) -> Match:
    """Finds the chosen variants that count the other allele, or lack an allele."""
    exchanged = Variants(found.ids, found.other, found.counted)
    is_exact = _is_equal(wanted, found) | _is_equal(wanted, exchanged)
    is_straight = np.where(is_exact, _is_equal(wanted, found), _fits_by_one(wanted, found))
    return Match(positions, ~is_straight, int((~is_exact).sum()))


def _is_equal(wanted: Variants, found: Variants) -> NDArray[np.bool_]:
    """Compares both alleles in their order."""
    return (wanted.counted == found.counted) & (wanted.other == found.other)


def _fits_by_one(wanted: Variants, found: Variants) -> NDArray[np.bool_]:
    """Tells where one allele is the same, and the other is missing on one side."""
    counted = wanted.counted == found.counted, _lacks(wanted.counted, found.counted)
    other = wanted.other == found.other, _lacks(wanted.other, found.other)
    return (counted[0] & ~counted[1] & other[1]) | (other[0] & ~other[1] & counted[1])


def _lacks(*alleles: Texts) -> NDArray[np.bool_]:
    """Tells where an allele is missing on one side or on both."""
    marks = [texts == mark for texts in alleles for mark in _MISSING_ALLELES]
    return np.logical_or.reduce(marks)


def _is_same(wanted: Variants, found: Variants) -> bool:
    """Tells the usual case, a file with the same variants in the same order."""
    pairs = ("ids", "counted", "other")
    return all(np.array_equal(getattr(wanted, it), getattr(found, it)) for it in pairs)


def _list_candidates(wanted: Variants, found: Variants) -> dict[str, list[int]]:
    """Finds the positions of each wanted id; a file may have an id several times."""
    candidates: dict[str, list[int]] = {name: [] for name in wanted.ids.tolist()}
    for position, name in enumerate(found.ids.tolist()):
        if name in candidates:
            candidates[name].append(position)
    return candidates


def _check_present(wanted: Variants, candidates: dict[str, list[int]], name: str) -> None:
    """Refuses a file that lacks variants."""
    lost = [name for name in wanted.ids.tolist() if not candidates[name]]
    if lost:
        raise FormatError(
            f"{name}: expected the {len(wanted):,} variants that the model reads, "
            f"{len(lost):,} of them are not in it ({_some(lost)}); "
            "they are looked for by their ids in the .bim",
            path=name,
        )


def _choose(
    row: tuple[str, str, str], found: Variants, here: list[int], *, name: str
) -> int:
    """Gives the one position of a wanted variant that has its two alleles."""
    key, *alleles = map(str, row)
    pairs = {i: {str(found.counted[i]), str(found.other[i])} for i in here}
    fits = [i for i, pair in pairs.items() if pair == {*alleles}]
    fits = fits or [i for i, pair in pairs.items() if _share_one(pair, {*alleles})]
    if len(fits) == 1:
        return fits[0]
    if fits:
        problem = f"{len(fits)} variants {key} have the same alleles; keep one of them"
    else:
        has = f"{found.counted[here[0]]} and {found.other[here[0]]}"
        problem = f"the alleles of {key} are {has}, expected {' and '.join(alleles)}"
        if has == "0 and 0":
            problem += "; write them into the .bim (plink --update-alleles)"
    raise FormatError(f"{name}: {problem}", path=name)


def _share_one(here: set[str], there: set[str]) -> bool:
    """Tells whether one allele is the same, and the other is missing on one side."""
    missing = {*_MISSING_ALLELES}
    return len(here & there - missing) == 1 and bool((here | there) & missing)


def _some(names: list[str]) -> str:
    """Names the first of many."""
    more = ", ..." if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
