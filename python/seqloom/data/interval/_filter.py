"""`filter_intervals`, which drops unsuitable intervals and counts the reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_choice, as_number, quote
from seqloom._text import MAX_EXAMPLES, parse_decimal
from seqloom.data._position import check_integer
from seqloom.data.interval._composition import LinearSpans, count_bases
from seqloom.data.interval._intervals import MAX_POSITION, read_intervals
from seqloom.data.interval._regions import Regions, take_table
from seqloom.data.interval._spans import compute_spans, open_genome
from seqloom.data.label._labels import MISSING_TEXTS, is_missing
from seqloom.data.label._table import format_column_names, suggest_name
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from seqloom.data.interval._intervals import Intervals
    from seqloom.data.interval._spans import Genome, Spans

    Integers = NDArray[np.int64]
    Mask = NDArray[np.bool_]

_NO_LIMITS = (-np.inf, np.inf)


def filter_intervals(
    intervals: Any,
    genome: str | os.PathLike[str],
    *,
    exclude: Any = None,
    max_unknown: float = 0.1,
    width: int | None = None,
    coverage: str | None = None,
    min_coverage: float | None = None,
    max_coverage: float | None = None,
    overlaps: Literal["keep", "drop"] = "keep",
) -> Regions:
    """Drop intervals that are unsuitable for training, and count the reasons.

    The rules are applied in this order, and an interval is counted for the first rule that
    drops it:

    - ``edge``: the interval extends beyond an end of its sequence.
    - ``excluded``: it shares a base with an interval of ``exclude``.
    - ``unknown``: it has too many bases other than A, C, G, T and U.
    - ``coverage``: its value is missing or out of range.
    - ``overlap``: it shares a base with a better interval.

    ``report`` of the result has the number of intervals in ``input`` and ``output``. It
    also has the counts of ``dropped`` by rule, and the first ``examples``. ``ignored`` is
    the number of intervals of ``exclude`` on contigs that the genome lacks.

    Args:
        intervals: The intervals, as in `IntervalDataset`.
        genome: A FASTA or FASTQ file: plain, bgzip or gzip.
        exclude: Intervals to avoid, such as the ENCODE blacklist; a table may be empty.
            Intervals on contigs that the genome lacks are ignored; if all are, an error is
            raised.
        max_unknown: The maximum share of unknown bases.
        width: The length of all intervals; each is centred at its summit or its middle, as
            in `IntervalDataset`. With None, intervals keep their lengths.
        coverage: The name of a column of numbers, such as ``"signal"`` of narrowPeak.
        min_coverage: The minimum value of this column.
        max_coverage: The maximum value of this column.
        overlaps: With ``"drop"``, the remaining intervals do not overlap. Intervals with
            higher coverage, or earlier in the input, are preferred.

    Returns:
        The remaining intervals in the order of the input, with all columns.

    Raises:
        FormatError: An interval is empty, or its sequence is not in the genome.
        ArgumentError: An argument is out of range, or the column does not exist.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("g.fa").write_text(">chr1\\nACGTNNNNACGTACGT\\n")
        >>> peaks = {"chrom": ["chr1"] * 4, "start": [0, 2, 8, 14], "stop": [4, 7, 12, 20]}
        >>> regions = filter_intervals(peaks, "g.fa", max_unknown=0.5)
        >>> regions["start"], regions.report["dropped"]["unknown"]
        ([0, 8], 1)
    """
    if width is not None:
        check_integer("width", width, least=1, most=MAX_POSITION)
    as_choice("overlaps", overlaps, ("keep", "drop"))
    max_unknown = check_share(max_unknown)
    limits = _check_limits(min_coverage, max_coverage)
    if coverage is None and limits != _NO_LIMITS:
        raise ArgumentError(
            "min_coverage and max_coverage need coverage=, the name of a column of numbers"
        )
    opened, table = open_genome(genome), read_intervals(intervals)
    values = np.zeros(len(table)) if coverage is None else _read_numbers(table, coverage)
    spans = compute_spans(table, opened, width)
    reasons = _Reasons(len(table))
    reasons.drop("edge", (spans.starts < 0) | (spans.stops > opened.lengths[spans.chroms]))
    linear = LinearSpans.of(spans.take(reasons.rows), opened.lengths)
    excluded, ignored = LinearSpans.of_excluded(exclude, opened)
    reasons.drop("excluded", excluded.count_overlaps(linear) > 0)
    reasons.drop("unknown", _has_unknown(spans.take(reasons.rows), opened, max_unknown))
    is_in_range = (values >= limits[0]) & (values <= limits[1])  # false for a missing value
    reasons.drop("coverage", ~is_in_range[reasons.rows])
    if overlaps == "drop":
        linear = LinearSpans.of(spans.take(reasons.rows), opened.lengths)
        order = np.argsort(-values[reasons.rows], kind="stable")
        reasons.drop("overlap", _find_overlapping(linear, order))
    return Regions(
        take_table(table, spans, reasons.rows, width=width),
        reasons.report(table) | {"ignored": ignored},
    )


class _Reasons:
    """The rows of intervals that remain, and the rows that each rule has dropped."""

    def __init__(self, size: int) -> None:
        self.size, self.rows = size, np.arange(size)
        names = ("edge", "excluded", "unknown", "coverage", "overlap")
        self._dropped = {name: np.empty(0, np.int64) for name in names}

    def drop(self, name: str, is_dropped: Mask) -> None:
        """Drop some of the remaining rows."""
        self._dropped[name] = self.rows[is_dropped]
        self.rows = self.rows[~is_dropped]

    def report(self, table: Intervals) -> dict[str, Any]:
        """Return the counts, and the first intervals that each rule has dropped."""
        return {
            "input": self.size,
            "output": self.rows.size,
            "dropped": {name: rows.size for name, rows in self._dropped.items()},
            "examples": {
                name: [table.name(row) for row in rows[:MAX_EXAMPLES].tolist()]
                for name, rows in self._dropped.items()
                if rows.size
            },
        }


def _has_unknown(spans: Spans, genome: Genome, max_unknown: float) -> Mask:
    """Return which ranges have a larger share of unknown bases than the maximum."""
    lengths = spans.stops - spans.starts
    return lengths - count_bases(spans, genome)[1] > max_unknown * lengths


def check_share(max_unknown: float) -> float:
    """Return the maximum share of unknown bases; raise unless it is from 0 to 1."""
    expected = "a number from 0 to 1"
    share = as_number("max_unknown", max_unknown, expected=expected, least=0)
    if share > 1:
        raise ArgumentError(f"max_unknown must be {expected}, got {max_unknown}")
    return share


def find_column(table: Intervals, argument: str, name: Any) -> list[Any]:
    """Return the column that an argument names."""
    if not isinstance(name, str):
        raise ArgumentError(f"{argument} must be the name of a column, got {quote(name)}")
    if name not in table.columns:
        raise ArgumentError(
            f"{table.what}: the intervals have no column {name!r} ({argument}); they have "
            f"{format_column_names(sorted(table.columns))}"
            f"{suggest_name(name, table.columns)}"
        )
    return table.columns[name]


def _read_numbers(table: Intervals, name: str) -> NDArray[np.float64]:
    """Return a column of numbers; NaN for a missing value."""
    cells = find_column(table, "coverage", name)
    numbers = np.full(len(table), np.nan)
    for row, cell in enumerate(cells):
        text = cell.strip() if isinstance(cell, str) else cell
        if is_missing(text) or text in MISSING_TEXTS:
            continue
        try:
            numbers[row] = parse_decimal(text) if isinstance(text, str) else float(text)
        except (TypeError, ValueError):
            raise table.error(row, f"{name} must be a number, found {cell!r}") from None
    return numbers


def _check_limits(low: float | None, high: float | None) -> tuple[float, float]:
    """Return the limits of the coverage, which are infinite if not given."""
    least = -np.inf if low is None else as_number("min_coverage", low)
    most = np.inf if high is None else as_number("max_coverage", high)
    if least > most:
        raise ArgumentError(
            f"min_coverage must be at most max_coverage, got {low} and {high}"
        )
    return least, most


def _find_overlapping(linear: LinearSpans, order: Integers) -> Mask:
    """Return which ranges overlap a range that is earlier in the order and remains."""
    # A remaining range is stored for each part of the genome that it touches. Parts have
    # the mean length of the ranges, so that both numbers are small.
    size = int((linear.stops - linear.starts).sum()) // max(order.size, 1) + 1
    remaining = dict[int, list[tuple[int, int]]]()
    is_dropped = np.zeros(order.size, np.bool_)
    pairs = zip(linear.starts[order].tolist(), linear.stops[order].tolist(), strict=True)
    for row, (start, stop) in zip(order.tolist(), pairs, strict=True):
        parts = range(start // size, (stop - 1) // size + 1)
        others = (other for part in parts for other in remaining.get(part, ()))
        if any(first < stop and last > start for first, last in others):
            is_dropped[row] = True
            continue
        for part in parts:
            remaining.setdefault(part, []).append((start, stop))
    return is_dropped
