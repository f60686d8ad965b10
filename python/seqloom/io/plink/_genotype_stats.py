"""The result of `genotype_stats`, and its output as text, table and plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._files import atomic_path
from seqloom.report import Plot, Trace, write_plots

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

_HIGH_MISSING_SHARE = 0.05
_RARE_FREQUENCY = 0.01
_SMALL_P_VALUE = 1e-6
# Arrays with one value for each variant, in table order.
_VARIANT_COLUMNS = (
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
_ROWS_PER_WRITE = 1 << 14  # number of table rows converted to text at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GenotypeStats:
    """Genotype counts and statistics of each variant of a PLINK file.

    Args:
        sid: Ids of the variants. ``sid``, ``chromosome``, ``bp_position``, ``allele_1`` and
            ``allele_2`` are None if ``open_bed`` hides the property.
        chromosome: Chromosome of each variant.
        bp_position: Position of each variant, in base pairs.
        allele_1: Allele A1 of each variant.
        allele_2: Allele A2 of each variant.
        count: Number of individuals with a genotype.
        missing: Number of individuals without a genotype.
        hom_a1: Number of individuals homozygous for A1.
        het: Number of heterozygous individuals.
        hom_a2: Number of individuals homozygous for A2.
        alleles: Number of founder alleles for the allele frequency; a male has one allele
            on X and Y.
        allele_frequency: Frequency of the counted allele among founder alleles; NaN if
            there are no alleles.
        mean: Mean of the genotypes 0, 1 and 2, as `open_bed.read` returns them.
        variance: Population variance of the genotypes (divided by ``count``).
        hardy_p: p-value of the exact test of Hardy-Weinberg equilibrium. Y and MT are not
            tested and have the p-value 1 (mid-p: 0.5), as in PLINK 1.9.
        iid: Ids of the counted individuals.
        individual_missing: Number of missing genotypes of each individual.
        counted: The counted allele: ``"A1"`` or ``"A2"``.

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
        """Frequency of the rarer allele."""
        return np.minimum(self.allele_frequency, 1 - self.allele_frequency)

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return the arrays with one value for each variant.

        Returns:
            A dict from name to array, for ``pandas.DataFrame``; arrays that are None are
            omitted.

        Examples:
            >>> from seqloom.io import genotype_stats, to_bed
            >>> to_bed("small.bed", [[1, 0], [2, 0]])
            >>> genotype_stats("small.bed").to_dict()["het"]
            array([1, 0], dtype=int32)
        """
        columns = {name: getattr(self, name) for name in _VARIANT_COLUMNS}
        return {name: column for name, column in columns.items() if column is not None}

    def to_tsv(self, path: str | os.PathLike[str]) -> None:
        """Write a table with one row for each variant.

        Numbers are written with full precision, and NaN is written as ``NA``. A failure
        leaves no partial file.

        Args:
            path: The path of the file.

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
            for start in range(0, len(self.count), _ROWS_PER_WRITE):
                rows = slice(start, start + _ROWS_PER_WRITE)
                lists = [column[rows].tolist() for column in columns.values()]
                for row in zip(*lists, strict=True):
                    # NaN is the only value that differs from itself.
                    cells = ["NA" if value != value else str(value) for value in row]  # noqa: PLR0124
                    file.write("\t".join(cells) + "\n")

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Plot frequencies, missing genotypes and p-values into one SVG file.

        Args:
            path: The path of the file, which ends in ``.svg``.

        Raises:
            ArgumentError: The path does not end in ``.svg``.
            FileError: The file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import genotype_stats, to_bed
            >>> to_bed("small.bed", [[1, 0], [2, 0]])
            >>> genotype_stats("small.bed").plot("stats.svg")
            >>> Path("stats.svg").read_text()[:4]
            '<svg'
        """
        write_plots(path, self.facts()["genotypes"], list(_make_plots(self)))

    def facts(self) -> dict[str, str]:
        """Return a summary of the statistics as text.

        Returns:
            A dict from row name to text.

        Examples:
            >>> from seqloom.io import genotype_stats, to_bed
            >>> to_bed("small.bed", [[1, 0], [2, 0]])
            >>> genotype_stats("small.bed").facts()["genotypes"]
            '2 individuals x 2 variants'
        """
        individuals, variants = len(self.individual_missing), len(self.count)
        missing = "no genotypes"
        if individuals and variants:
            share = 100 * self.missing.sum(dtype=np.int64) / (individuals * variants)
            above = _count_variants(self.missing > _HIGH_MISSING_SHARE * individuals)
            missing = f"{share:.1f} %; {above} above {100 * _HIGH_MISSING_SHARE:.0f} %"
        low = np.count_nonzero(self.hardy_p < _SMALL_P_VALUE)
        everything = _count_variants(np.ones(variants, bool))
        return {
            "genotypes": f"{individuals:,} individuals x {variants:,} variants",
            "missing": missing,
            f"frequency of {self.counted}": self._describe_frequency(),
            "Hardy-Weinberg": f"{low:,} of {everything} with p below {_SMALL_P_VALUE:.0e}",
        }

    def __str__(self) -> str:
        return "\n".join(f"{name:<16}{value}" for name, value in self.facts().items())

    def __repr__(self) -> str:
        return f"<GenotypeStats: {self.facts()['genotypes']}>"

    def _describe_frequency(self) -> str:
        """Return a summary of the allele frequencies as text."""
        known = self.allele_frequency[~np.isnan(self.allele_frequency)]
        if not len(known):
            return "unknown: no founder has a genotype"
        minor = np.minimum(known, 1 - known)
        rare = np.count_nonzero(minor < _RARE_FREQUENCY)
        return (
            f"median {np.median(known):.3g}; {_count_variants(minor == 0)} constant, "
            f"{rare:,} below {_RARE_FREQUENCY} or above {1 - _RARE_FREQUENCY}"
        )


def _count_variants(which: NDArray[np.bool_]) -> str:
    """Format the number of variants that a mask selects."""
    count = np.count_nonzero(which)
    return f"{count:,} variant{'' if count == 1 else 's'}"


_HISTOGRAM_BINS = 25
_MAX_MAF = 0.5
_MIN_AXIS_END = 0.01  # upper limit of the axis if no genotype is missing
_MAX_PLOTTED_P_VALUES = 600  # maximum number of points in the plot of p-values


def _make_plots(stats: GenotypeStats) -> Iterator[Plot]:
    """Yield the plots; p-values are plotted only if variants were tested."""
    variants, individuals = len(stats.count), len(stats.individual_missing)
    frequencies = stats.minor_allele_frequency
    yield _histogram("minor allele frequency", frequencies, end=_MAX_MAF, unit="variants")
    if variants:
        yield _plot_p_values(stats.hardy_p)
    yield _histogram(
        "missing genotypes of a variant",
        stats.missing / max(individuals, 1),
        x_label="share of individuals",
        unit="variants",
    )
    yield _histogram(
        "missing genotypes of an individual",
        stats.individual_missing / max(variants, 1),
        x_label="share of variants",
        unit="individuals",
    )


def _histogram(
    title: str,
    shares: NDArray[np.float64],
    *,
    unit: str,
    end: float | None = None,
    x_label: str = "",
) -> Plot:
    """Return a histogram of values from 0 to 1, with bins of equal width."""
    known = shares[~np.isnan(shares)]
    last = end or max(float(known.max(initial=0)), _MIN_AXIS_END)
    counts, edges = np.histogram(known, _HISTOGRAM_BINS, (0, last))
    bars = Trace("", edges, counts, shape="bars")
    return Plot(title, [bars], x_label=x_label, y_label=unit, y_scale="whole")


def _plot_p_values(p: NDArray[np.float64]) -> Plot:
    """Plot observed against expected p-values, with a sample of the large p-values."""
    count = len(p)
    ranks = np.unique(np.geomspace(1, count, _MAX_PLOTTED_P_VALUES).astype(np.int64)) - 1
    smallest = np.maximum(np.sort(p)[ranks], np.finfo(float).tiny)
    expected, observed = -np.log10((ranks + _MAX_MAF) / count), -np.log10(smallest)
    end = float(expected.max())
    return Plot(
        "Hardy-Weinberg equilibrium",
        [
            Trace("expected by chance", [0, end], [0, end], shape="guide"),
            Trace("found", expected, observed, shape="points"),
        ],
        x_label="expected -log10 p",
        y_label="observed -log10 p",
    )
