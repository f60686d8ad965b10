"""`LeakageReport`, the differences between two sets of intervals, and its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._files import write_atomic
from seqloom._text import MAX_EXAMPLES, format_count
from seqloom.report import Plot, Report, Section, Table, Tile, Trace, make_page, percent

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from seqloom.data.interval._regions import Regions

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

_MAX_LISTED_LEAKS = 100
_HISTOGRAM_BINS = 40
_DISTANCE_NOTE = (
    "The distance is the largest difference of the cumulative distributions, from 0 "
    "(equal) to 1."
)


@dataclass(frozen=True, slots=True, eq=False)
class IntervalSummary:
    """The bases, lengths and classes of a set of intervals.

    Args:
        gc: The share of G and C among the known bases of each interval. NaN if it has none;
            means and distances leave such intervals out.
        lengths: The number of bases of each interval.
        unknown: The share of bases other than A, C, G, T and U in the set; bases beyond the
            ends of a contig are counted too.
        edge: The number of intervals that extend beyond an end of their contig.
        overlapping: The number of intervals that overlap another interval of the set.
        classes: The number of intervals of each class, if there are labels.

    Examples:
        >>> import numpy as np
        >>> IntervalSummary(np.array([0.5]), np.array([100]), 0.0, 0, 0, {}).intervals
        1
    """

    gc: Floats
    lengths: Integers
    unknown: float
    edge: int
    overlapping: int
    classes: dict[str, int]

    @property
    def intervals(self) -> int:
        """The number of intervals."""
        return self.lengths.size

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the summary for JSON."""
        return {
            "intervals": self.intervals,
            "mean_gc": _find_mean(self.gc),
            "mean_length": _find_mean(self.lengths),
            "unknown": self.unknown,
            "edge": self.edge,
            "overlapping": self.overlapping,
            "classes": self.classes,
        }


@dataclass(frozen=True, slots=True, eq=False)
class LeakageReport:
    """Differences between two sets of intervals, and sequences that are in both.

    Args:
        train: The summary of the training set.
        valid: The summary of the validation set.
        leaks: The validation intervals that leak. The columns ``train``, ``reason`` and
            ``shared`` have the training interval, ``"overlap"`` or ``"homology"``, and the
            shared fraction of bases or of k-mers. To drop the leaks, pass the table as
            ``exclude`` to `filter_intervals`.
        k: The length of the k-mers that homologous sequences share.

    Examples:
        >>> import numpy as np
        >>> from seqloom.data import Regions
        >>> one = IntervalSummary(np.array([0.5]), np.array([100]), 0.0, 0, 0, {})
        >>> two = IntervalSummary(np.array([0.75]), np.array([100]), 0.0, 0, 0, {})
        >>> no_leaks = Regions({"reason": []}, {})
        >>> report = LeakageReport(one, two, no_leaks, 12)
        >>> report.gc_distance, report.length_distance
        (1.0, 0.0)
    """

    train: IntervalSummary
    valid: IntervalSummary
    leaks: Regions
    k: int

    @property
    def overlapping(self) -> int:
        """The number of validation intervals that overlap a training interval."""
        return self.leaks["reason"].count("overlap")

    @property
    def homologous(self) -> int:
        """The number of other validation intervals with a homologous sequence."""
        return self.leaks["reason"].count("homology")

    @property
    def gc_distance(self) -> float | None:
        """The largest difference of the cumulative distributions of G+C content.

        None if a set has only unknown bases.
        """
        return _find_distance(self.train.gc, self.valid.gc)

    @property
    def length_distance(self) -> float | None:
        """The largest difference of the cumulative distributions of lengths."""
        return _find_distance(self.train.lengths, self.valid.lengths)

    @property
    def class_distance(self) -> float | None:
        """Half of the sum of differences of class fractions; None without labels."""
        one, two = self.train.classes, self.valid.classes
        if not (one or two):
            return None
        totals = max(sum(one.values()), 1), max(sum(two.values()), 1)
        names = one.keys() | two.keys()
        shares = [(one.get(it, 0) / totals[0], two.get(it, 0) / totals[1]) for it in names]
        return sum(abs(a - b) for a, b in shares) / 2

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the report for JSON."""
        return {
            "overlapping": self.overlapping,
            "homologous": self.homologous,
            "k": self.k,
            "gc_distance": self.gc_distance,
            "length_distance": self.length_distance,
            "class_distance": self.class_distance,
            "train": self.train.to_dict(),
            "valid": self.valid.to_dict(),
            "examples": self.names()[:MAX_EXAMPLES],
        }

    def names(self) -> list[str]:
        """Return the positions of the validation intervals that leak."""
        if not len(self.leaks):
            return []
        columns = (self.leaks[it] for it in ("chrom", "start", "stop"))
        return [
            f"{chrom}:{start}-{stop}" for chrom, start, stop in zip(*columns, strict=True)
        ]

    def tables(self) -> list[Table]:
        """Return the tables of the report: both sets, and the classes if there are any."""
        one, two = self.train, self.valid
        rows = [
            ("intervals", f"{one.intervals:,}", f"{two.intervals:,}", ""),
            ("overlap within the set", f"{one.overlapping:,}", f"{two.overlapping:,}", ""),
            ("beyond the ends of contigs", f"{one.edge:,}", f"{two.edge:,}", ""),
            ("unknown bases", percent(one.unknown), percent(two.unknown), ""),
            (
                "mean G+C",
                *_format_means(one.gc, two.gc, is_share=True),
                _format_distance(self.gc_distance),
            ),
            (
                "mean length",
                *_format_means(one.lengths, two.lengths, is_share=False),
                _format_distance(self.length_distance),
            ),
        ]
        columns = ("", "training", "validation", "distance")
        tables = [Table("Both sets", columns, rows)]
        if self.class_distance is not None:
            names = dict.fromkeys([*one.classes, *two.classes])
            counts = [(it, one.classes.get(it, 0), two.classes.get(it, 0)) for it in names]
            note = f"Distance of the class fractions: {self.class_distance:.3f}."
            titles = ("class", "training", "validation")
            tables.append(Table("Classes", titles, counts, note=note))
        return tables

    def sentences(self) -> list[str]:
        """Return a sentence for each kind of leak."""
        total = self.valid.intervals
        whole = format_count(total, "validation intervals")
        overlapping = (
            f"{self.overlapping:,} of {whole} ({percent(self.overlapping / total)})"
        )
        homologous = f"{self.homologous:,} more ({percent(self.homologous / total)})"
        return [
            f"{overlapping} overlap training intervals",
            f"{homologous} share at least a quarter of their {self.k}-mers with one",
        ]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the report as an HTML page.

        Args:
            path: The path of the page, which is replaced if it exists.

        Raises:
            FileError: The page cannot be written.

        Examples:
            >>> import numpy as np
            >>> from seqloom.data import Regions
            >>> one = IntervalSummary(np.array([0.5]), np.array([100]), 0.0, 0, 0, {})
            >>> LeakageReport(one, one, Regions({"reason": []}, {}), 12).write("a.html")
        """
        write_atomic(path, make_page(_make_report(self)))


def _find_mean(values: Floats | Integers) -> float | None:
    """Return the mean of the values that are not NaN; None if there are none."""
    known = values[~np.isnan(values)]
    return float(np.mean(known)) if known.size else None


def _format_means(one: NDArray[Any], two: NDArray[Any], *, is_share: bool) -> list[str]:
    """Format the means of both sets, as percentages if they are shares."""
    means = [_find_mean(it) for it in (one, two)]
    texts = [
        None if it is None else percent(it) if is_share else f"{it:,.1f}" for it in means
    ]
    return [it or "unknown" for it in texts]


def _format_distance(distance: float | None) -> str:
    return "unknown" if distance is None else f"{distance:.3f}"


def _find_distance(one: NDArray[Any], two: NDArray[Any]) -> float | None:
    """Return the Kolmogorov-Smirnov distance of two samples, without NaN."""
    one, two = (it[~np.isnan(it)] for it in (one, two))
    if not (one.size and two.size):
        return None
    values = np.concatenate([one, two])
    first, second = (
        np.searchsorted(np.sort(it), values, "right") / it.size for it in (one, two)
    )
    return float(np.abs(first - second).max())


def _make_report(check: LeakageReport) -> Report:
    """Return the content of the page."""
    tables, leaks = check.tables(), check.leaks
    names = ("validation", "training", "reason", "shared")
    columns = (leaks[it] for it in ("train", "reason", "shared"))
    rows = list(zip(check.names(), *columns, strict=True)) if len(leaks) else []
    listed = f"The first {_MAX_LISTED_LEAKS} of {len(rows):,}. "
    note = (
        f"{listed if len(rows) > _MAX_LISTED_LEAKS else ''}The last column is the fraction "
        f"of bases that overlap, or the fraction of {check.k}-mers of the shorter sequence."
    )
    sections = [
        Section(
            title="Both sets",
            note=_DISTANCE_NOTE,
            drawings=[
                _plot_histogram(name, one, two, is_share=is_share)
                for name, one, two, is_share in (
                    ("G+C content", check.train.gc, check.valid.gc, True),
                    ("length", check.train.lengths, check.valid.lengths, False),
                )
                if np.unique(np.concatenate([one, two])).size > 1
            ],
            table=tables[0],
        )
    ]
    if rows:
        leak_table = Table("Leaks", names, rows[:_MAX_LISTED_LEAKS])
        sections.append(Section(title="Leaks", note=note, table=leak_table))
    return Report(
        title="Training and validation intervals",
        lead=f"{'; '.join(check.sentences())}.",
        tiles=(
            Tile("overlapping", f"{check.overlapping:,}"),
            Tile("homologous", f"{check.homologous:,}"),
            Tile("G+C distance", _format_distance(check.gc_distance)),
        ),
        sections=sections,
        tables=tables[1:],
    )


def _plot_histogram(
    name: str, one: NDArray[Any], two: NDArray[Any], *, is_share: bool
) -> Plot:
    """Plot the distributions of both sets."""
    values = np.concatenate([one, two])
    edges = np.histogram_bin_edges(values[~np.isnan(values)], _HISTOGRAM_BINS)
    middles = (edges[:-1] + edges[1:]) / 2
    traces = [
        Trace(title, middles, np.histogram(it, edges)[0] / it.size)
        for title, it in (("training", one), ("validation", two))
    ]
    scale = "share" if is_share else "linear"
    return Plot(
        name, traces, x_label=name, y_label="intervals", x_scale=scale, y_scale="share"
    )
