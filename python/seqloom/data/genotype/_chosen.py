"""The variants that items have: which of the file's, in what order, by which allele."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data.genotype._match import Variants, match
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.data.genotype._encoder import GenotypeEncoder

    Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ChosenVariants:
    """Variants of a .bim."""

    columns: dict[str, NDArray[Any]]  # the columns of the .bim
    rows: Rows | None = None  # in order; None means all
    is_flipped: NDArray[np.bool_] | None = None  # None means none
    missing_alleles: int = 0  # variants that were found by id and one allele

    @property
    def in_file(self) -> int:
        """The number of variants of the file."""
        return self.columns["sid"].size

    def __len__(self) -> int:
        return self.in_file if self.rows is None else self.rows.size

    @property
    def flipped(self) -> int:
        """The number of variants with exchanged alleles."""
        return 0 if self.is_flipped is None else int(self.is_flipped.sum())

    def column(self, name: str, positions: Rows | None = None) -> NDArray[Any]:
        """Takes a column of the chosen ones, or of some of them."""
        column = self.columns[name] if self.rows is None else self.columns[name][self.rows]
        return column if positions is None else column[positions]

    def ids(self, positions: Rows) -> NDArray[Any]:
        """Takes the ids of some of the chosen ones."""
        return self.column("sid", positions)

    def about(self, positions: Rows) -> dict[str, Any]:
        """Says where some of the chosen ones stand."""
        return {
            "chromosome": self.column("chromosome", positions).tolist(),
            "position": self.column("bp_position", positions).astype(np.int64),
        }

    def to_variants(self, *, count_a1: bool) -> Variants:
        """Names the chosen ones by id and alleles."""
        alleles = ("allele_1", "allele_2") if count_a1 else ("allele_2", "allele_1")
        return Variants(*(self.column(name) for name in ("sid", *alleles)))

    def has_rows_of(self, other: ChosenVariants) -> bool:
        """Tells whether the same ones are chosen, in the same order."""
        if self.rows is None or other.rows is None:
            return self.rows is other.rows
        return np.array_equal(self.rows, other.rows)

    def read_by(self, encoder: GenotypeEncoder, name: str) -> ChosenVariants:
        """Chooses the variants of the file that a fitted encoder reads."""
        own = replace(self, rows=None, is_flipped=None)
        found = match(
            encoder.variants, own.to_variants(count_a1=encoder.count_A1), name=name
        )
        is_all = np.array_equal(found.positions, np.arange(self.in_file))
        rows = None if is_all else found.positions
        return replace(
            own,
            rows=rows,
            is_flipped=found.is_flipped if found.flipped else None,
            missing_alleles=found.missing_alleles,
        )

    @property
    def report(self) -> dict[str, int]:
        """How the variants of an encoder were found."""
        return {"flipped": self.flipped, "missing_alleles": self.missing_alleles}


def choose_for_encoder(
    chosen: ChosenVariants, encoder: GenotypeEncoder, name: str
) -> ChosenVariants:
    """Takes the variants that were chosen, or those that a fitted encoder reads."""
    if not encoder.is_fitted:
        return chosen
    if chosen.rows is not None:
        raise ArgumentError(
            "a fitted encoder says which variants it reads: leave variants= out"
        )
    return chosen.read_by(encoder, name)
