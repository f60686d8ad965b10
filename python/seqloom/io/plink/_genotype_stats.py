"""What `genotype_stats` counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._files import atomic_path
from seqloom.report import write_panels

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

_MUCH_MISSING = 0.05
_RARE = 0.01
_UNLIKELY = 1e-6
# What has an entry for each variant, in the order of a table's columns.
_OF_VARIANTS = (
    "chromosome",
    "sid",
    "bp_position",
    "allele_1",
    "allele_2",
    "count",
    "missing",
    "hom_a1",
    "het",
    "hom_a2",
    "alleles",
    "allele_frequency",
    "mean",
    "variance",
    "hardy_p",
)
# Rows that are text at the same time.
_ROWS = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GenotypeStats:
    """What the genotypes of a file are, variant by variant.

    Args:
        sid: The variants' ids; like the next four None where the file was opened without.
        chromosome: Their chromosomes.
        bp_position: Their positions.
        allele_1: Their alleles A1.
        allele_2: Their alleles A2.
        count: How many individuals have a genotype.
        missing: How many have none.
        hom_a1: How many are homozygous for A1.
        het: How many are heterozygous.
        hom_a2: How many are homozygous for A2.
        alleles: Among how many alleles the frequency was counted: those of founders, one of
            a male on X and Y.
        allele_frequency: The share of the counted allele among them; NaN without any.
        mean: The mean of the genotypes as `open_bed.read` gives them: 0, 1 or 2.
        variance: Their variance (that of a population: divided by ``count``).
        hardy_p: The p-value of the exact test of Hardy-Weinberg equilibrium; on Y and MT,
            where there is none to test, 1 (mid-p: 0.5) as PLINK 1.9 prints it.
        iid: The ids of the individuals that were counted.
        individual_missing: In how many variants each of them has no genotype.
        counted: Which allele was counted: ``"A1"`` or ``"A2"``.

    Examples:
        >>> from seqloom.io import genotype_stats, to_bed
        >>> to_bed("small.bed", [[1, 0, -127], [2, 0, 2], [0, 1, 2], [1, 0, 2]])
        >>> stats = genotype_stats("small.bed")
        >>> stats.mean, stats.individual_missing
        (array([1.  , 0.25, 2.  ]), array([1, 0, 0, 0], dtype=int32))
    """

    sid: NDArray[Any] | None
    chromosome: NDArray[Any] | None
    bp_position: NDArray[Any] | None
    allele_1: NDArray[Any] | None
    allele_2: NDArray[Any] | None
    count: NDArray[np.int32]
    missing: NDArray[np.int32]
    hom_a1: NDArray[np.int32]
    het: NDArray[np.int32]
    hom_a2: NDArray[np.int32]
    alleles: NDArray[np.int32]
    allele_frequency: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    hardy_p: NDArray[np.float64]
    iid: NDArray[Any] | None
    individual_missing: NDArray[np.int32]
    counted: Literal["A1", "A2"]

    @property
    def minor_allele_frequency(self) -> NDArray[np.float64]:
        """The frequency of the rarer allele."""
        return np.minimum(self.allele_frequency, 1 - self.allele_frequency)

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Gives the columns that have an entry for each variant.

        Returns:
            Arrays by name, as ``pandas.DataFrame`` takes them; what is None is left out.

        Examples:
            >>> from seqloom.io import genotype_stats, to_bed
            >>> to_bed("small.bed", [[1, 0], [2, 0]])
            >>> genotype_stats("small.bed").to_dict()["het"]
            array([1, 0], dtype=int32)
        """
        columns = {name: getattr(self, name) for name in _OF_VARIANTS}
        return {name: column for name, column in columns.items() if column is not None}

    def to_tsv(self, path: str | os.PathLike[str]) -> None:
        """Writes a table with a line for each variant, whole or not at all.

        Numbers are written to the last digit that counts; NaN is ``NA``.

        Args:
            path: The file.

        Raises:
            FileError: The file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import genotype_stats, to_bed
            >>> to_bed("small.bed", [[1, 0], [2, 0]])
            >>> genotype_stats("small.bed").to_tsv("stats.tsv")
            >>> Path("stats.tsv").read_text().split()[15:21]
            ['0', 'sid1', '0', 'A1', 'A2', '2']
        """
        columns = self.to_dict()
        with (
            atomic_path(path) as part,
            part.open("w", encoding="utf-8", newline="\n") as file,
        ):
            file.write("\t".join(columns) + "\n")
            for start in range(0, len(self.count), _ROWS):
                some = [_spell(each[start : start + _ROWS]) for each in columns.values()]
                file.writelines("\t".join(row) + "\n" for row in zip(*some, strict=True))

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draws frequencies, missing genotypes and p-values into one PNG file.

        Args:
            path: The file to write.

        Raises:
            MissingExtraError: matplotlib is not installed (the extra ``plot``).
            FileError: The file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import genotype_stats, to_bed
            >>> to_bed("small.bed", [[1, 0], [2, 0]])
            >>> genotype_stats("small.bed").plot("stats.png")
            >>> Path("stats.png").read_bytes()[1:4]
            b'PNG'
        """
        # Imported here: the panels are made of statistics.
        from seqloom.io.plink._stats_plot import panels_of

        write_panels(path, self.facts()["genotypes"], list(panels_of(self)))

    def facts(self) -> dict[str, str]:
        """Puts the counts into a few lines of words.

        Returns:
            What a line is about, and its text.

        Examples:
            >>> from seqloom.io import genotype_stats, to_bed
            >>> to_bed("small.bed", [[1, 0], [2, 0]])
            >>> genotype_stats("small.bed").facts()["genotypes"]
            '2 individuals x 2 variants'
        """
        individuals, variants = len(self.individual_missing), len(self.count)
        return {
            "genotypes": f"{individuals:,} individuals x {variants:,} variants",
            "missing": self._missing(individuals * variants),
            f"frequency of {self.counted}": self._frequency(),
            "Hardy-Weinberg": self._hardy(),
        }

    def __str__(self) -> str:
        return "\n".join(f"{name:<16}{value}" for name, value in self.facts().items())

    def __repr__(self) -> str:
        return f"<GenotypeStats: {self.facts()['genotypes']}>"

    def _missing(self, genotypes: int) -> str:
        """Writes how much is missing."""
        if not genotypes:
            return "nothing to count"
        share = 100 * self.missing.sum(dtype=np.int64) / genotypes
        limit = _MUCH_MISSING * len(self.individual_missing)
        above = _number(self.missing > limit)
        return f"{share:.1f} %; {above} above {100 * _MUCH_MISSING:.0f} %"

    def _frequency(self) -> str:
        """Writes how frequencies are spread."""
        known = self.allele_frequency[~np.isnan(self.allele_frequency)]
        if not len(known):
            return "unknown: no founder has a genotype"
        minor = np.minimum(known, 1 - known)
        rare = np.count_nonzero(minor < _RARE)
        return (
            f"median {np.median(known):.3g}; {_number(minor == 0)} constant, "
            f"{rare:,} below {_RARE} or above {1 - _RARE}"
        )

    def _hardy(self) -> str:
        """Writes how many variants are out of equilibrium."""
        low = np.count_nonzero(self.hardy_p < _UNLIKELY)
        everything = _number(np.ones(len(self.hardy_p), bool))
        return f"{low:,} of {everything} with p below {_UNLIKELY:.0e}"


def _number(which: NDArray[np.bool_]) -> str:
    """Counts variants in words."""
    count = np.count_nonzero(which)
    return f"{count:,} variant{'' if count == 1 else 's'}"


def _spell(column: NDArray[Any]) -> list[str]:
    """Spells the values of a column."""
    return ["NA" if value != value else str(value) for value in column.tolist()]  # noqa: PLR0124 - NaN
