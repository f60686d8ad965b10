"""Selects variants of a .bim, and matches them to a fitted encoder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._text import join_first_names
from seqloom.data._frame import mask_by_id
from seqloom.data._position import as_indices
from seqloom.data.genotype._statistics import Variants
from seqloom.errors import ArgumentError, FormatError, OutOfRangeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.data.genotype._encoder import GenotypeEncoder
    from seqloom.data.genotype._files import GenotypeFiles

    Rows = NDArray[np.int64]
    from numpy.typing import NDArray

    Texts = NDArray[np.str_]

# PLINK writes 0 (PLINK 2 also ".") for an allele that does not occur in the file.
_MISSING_ALLELES = ("0", ".")

_MAX_SHOWN_NAMES = 3


@dataclass(frozen=True, slots=True, eq=False)
class ChosenVariants:
    """Selected variants of a .bim."""

    columns: dict[str, NDArray[Any]]
    rows: Rows | None = None  # Selected rows, in order; None for all rows.
    is_flipped: NDArray[np.bool_] | None = None  # None if no variant is flipped.
    # Number of variants matched by one allele, because the other is missing.
    missing_alleles: int = 0

    @property
    def in_file(self) -> int:
        """The number of variants in the file."""
        return self.columns["sid"].size

    def __len__(self) -> int:
        return self.in_file if self.rows is None else self.rows.size

    @property
    def flipped(self) -> int:
        """The number of variants with an allele flip."""
        return 0 if self.is_flipped is None else int(self.is_flipped.sum())

    def column(self, name: str, positions: Rows | None = None) -> NDArray[Any]:
        """Return a column of all or some selected variants."""
        column = self.columns[name] if self.rows is None else self.columns[name][self.rows]
        return column if positions is None else column[positions]

    def ids(self, positions: Rows) -> NDArray[Any]:
        """Return the ids of some selected variants."""
        return self.column("sid", positions)

    def locations(self, positions: Rows) -> dict[str, Any]:
        """Return chromosome and position of some selected variants."""
        return {
            "chromosome": self.column("chromosome", positions).tolist(),
            "position": self.column("bp_position", positions).astype(np.int64),
        }

    def to_variants(self, *, count_a1: bool) -> Variants:
        """Return the ids and alleles of the selected variants."""
        alleles = ("allele_1", "allele_2") if count_a1 else ("allele_2", "allele_1")
        return Variants(*(self.column(name) for name in ("sid", *alleles)))

    def has_same_rows(self, other: ChosenVariants) -> bool:
        """Return whether another selection has the same variants in the same order."""
        if self.rows is None or other.rows is None:
            return self.rows is other.rows
        return np.array_equal(self.rows, other.rows)

    def match_encoder(self, encoder: GenotypeEncoder, name: str) -> ChosenVariants:
        """Select the variants of a fitted encoder."""
        all_variants = replace(self, rows=None, is_flipped=None)
        matched = match_variants(
            encoder.variants, all_variants.to_variants(count_a1=encoder.count_A1), name=name
        )
        is_all = np.array_equal(matched.positions, np.arange(self.in_file))
        rows = None if is_all else matched.positions
        return replace(
            all_variants,
            rows=rows,
            is_flipped=matched.is_flipped if matched.flipped else None,
            missing_alleles=matched.missing_alleles,
        )

    @property
    def report(self) -> dict[str, int]:
        """Counts of flipped variants and of missing alleles."""
        return {"flipped": self.flipped, "missing_alleles": self.missing_alleles}


def choose_variants(
    files: GenotypeFiles, wanted: Any, encoder: GenotypeEncoder
) -> ChosenVariants:
    """Select the requested variants, or the variants of a fitted encoder."""
    columns = files.variants()
    chosen = ChosenVariants(columns, choose_rows(columns["sid"], wanted))
    if not encoder.is_fitted:
        return chosen
    if chosen.rows is not None:
        raise ArgumentError("a fitted encoder selects its variants: leave variants= out")
    return chosen.match_encoder(encoder, files.bed)


def choose_rows(ids: NDArray[Any], wanted: Any) -> NDArray[np.int64] | None:
    """Return the rows of variants given by ids, indices, a mask or a slice."""
    if wanted is None:
        return None
    if isinstance(wanted, slice):
        chosen = np.arange(len(ids))[wanted].copy()
    else:
        wanted = mask_by_id("variants", wanted, ids.tolist)
        names = np.asarray([wanted] if isinstance(wanted, str) else wanted)
        is_text = names.dtype.kind in "UT"
        chosen = (
            _find_names(ids, names.tolist())
            if is_text
            else _check_positions(names, len(ids))
        )
    if not chosen.size:
        raise ArgumentError("variants must choose at least one variant, got none")
    return chosen


def _check_positions(wanted: NDArray[Any], count: int) -> NDArray[np.int64]:
    try:
        return as_indices(wanted, count)
    except OutOfRangeError:
        shown = "a mask" if wanted.dtype == np.bool_ else "indices"
        raise OutOfRangeError(
            f"variants: {shown} out of range for the {count:,} variants of the .bim"
        ) from None


def _find_names(ids: NDArray[Any], names: list[str]) -> NDArray[np.int64]:
    order = np.argsort(ids, kind="stable")
    wanted = np.asarray(names, ids.dtype if ids.dtype.kind == "T" else np.str_)
    first = np.searchsorted(ids, wanted, side="left", sorter=order)
    count = np.searchsorted(ids, wanted, side="right", sorter=order) - first
    for problem, is_bad in (("is not in the .bim", count < 1), ("occurs twice", count > 1)):
        if is_bad.any():
            first_bad: list[int] = np.flatnonzero(is_bad)[:_MAX_SHOWN_NAMES].tolist()
            bad = [names[at] for at in first_bad]
            raise ArgumentError(
                f"variants: each of {', '.join(map(repr, bad))} {problem} "
                f"({int(is_bad.sum()):,} of {len(names):,} names)"
            )
    return order[first]


@dataclass(frozen=True, slots=True, eq=False)
class VariantMatch:
    """The row of each requested variant in a file."""

    positions: NDArray[np.int64]
    is_flipped: NDArray[np.bool_]  # True where the alleles are exchanged.
    # Number of variants matched by one allele, because the other is missing.
    missing_alleles: int = 0

    @property
    def flipped(self) -> int:
        """The number of variants with an allele flip."""
        return int(self.is_flipped.sum())


def match_variants(wanted: Variants, found: Variants, *, name: str) -> VariantMatch:
    """Match each requested variant to a row by its id and alleles."""
    # Fast path for a file with the same variants in the same order.
    is_same = np.array_equal(wanted.ids, found.ids) and _same_alleles(wanted, found).all()
    if is_same:
        return VariantMatch(np.arange(len(wanted)), np.zeros(len(wanted), np.bool_))
    candidates = _list_candidates(wanted, found)
    _check_found(wanted, candidates, name)
    rows = zip(wanted.ids.tolist(), wanted.counted, wanted.other, strict=True)
    positions = [
        _choose_matching_row(row, found, candidates[row[0]], name=name) for row in rows
    ]
    chosen = np.array(positions, np.int64)
    # Some variants have flipped or missing alleles.
    same = found[chosen]
    exchanged = Variants(same.ids, same.other, same.counted)
    is_exact = _same_alleles(wanted, same) | _same_alleles(wanted, exchanged)
    is_straight = np.where(
        is_exact, _same_alleles(wanted, same), _shares_allele(wanted, same)
    )
    return VariantMatch(chosen, ~is_straight, int((~is_exact).sum()))


def _same_alleles(wanted: Variants, found: Variants) -> NDArray[np.bool_]:
    """Return a mask of variants with equal alleles in the same order."""
    return (wanted.counted == found.counted) & (wanted.other == found.other)


def _shares_allele(wanted: Variants, found: Variants) -> NDArray[np.bool_]:
    """Return a mask of variants with one equal allele and one missing allele."""
    counted = wanted.counted == found.counted, _is_missing(wanted.counted, found.counted)
    other = wanted.other == found.other, _is_missing(wanted.other, found.other)
    return (counted[0] & ~counted[1] & other[1]) | (other[0] & ~other[1] & counted[1])


def _is_missing(*alleles: Texts) -> NDArray[np.bool_]:
    """Return a mask of the alleles that are missing in the file or in the encoder."""
    marks = [texts == mark for texts in alleles for mark in _MISSING_ALLELES]
    return np.logical_or.reduce(marks)


def _list_candidates(wanted: Variants, found: Variants) -> dict[str, list[int]]:
    """Return the rows of each requested id; an id may occur more than once in a file."""
    candidates: dict[str, list[int]] = {name: [] for name in wanted.ids.tolist()}
    for position, name in enumerate(found.ids.tolist()):
        if name in candidates:
            candidates[name].append(position)
    return candidates


def _check_found(wanted: Variants, candidates: dict[str, list[int]], name: str) -> None:
    missing = [name for name in wanted.ids.tolist() if not candidates[name]]
    if missing:
        raise FormatError(
            f"{name}: the model reads {len(wanted):,} variants, but "
            f"{len(missing):,} of them are missing ({join_first_names(missing)}); "
            "variants are matched by their ids in the .bim",
            path=name,
        )


def _choose_matching_row(
    row: tuple[str, str, str], found: Variants, here: list[int], *, name: str
) -> int:
    """Return the only row that has the id and the alleles of a variant."""
    key, *alleles = map(str, row)
    pairs = {i: {str(found.counted[i]), str(found.other[i])} for i in here}
    fits = [i for i, pair in pairs.items() if pair == {*alleles}]
    if not fits:
        # One allele is equal; the other allele is missing in the file or in the
        # encoder.
        missing, both = {*_MISSING_ALLELES}, {*alleles}
        fits = [
            i
            for i, pair in pairs.items()
            if len(pair & both - missing) == 1 and (pair | both) & missing
        ]
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
