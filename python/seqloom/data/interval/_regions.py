"""`Regions`, a table of intervals with a report, and positions of intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._files import write_atomic
from seqloom._text import format_count, join_first_names, printable
from seqloom.data.interval._intervals import STRAND_SIGNS
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from seqloom.data.interval._intervals import Intervals
    from seqloom.data.interval._spans import Spans

    Integers = NDArray[np.int64]

# The first columns of BED, with the value of a missing column.
_BED_DEFAULTS = {"name": ".", "score": 0, "strand": "."}
_BED_COLUMNS = ("chrom", "start", "stop", *_BED_DEFAULTS)
_MAX_REPR_COLUMNS = 8


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Regions:
    """Intervals as a table, with counts of the intervals that were dropped.

    `IntervalDataset` and the other functions of intervals accept the table.
    ``regions["start"]`` is a column, and ``len(regions)`` is the number of intervals.
    ``pandas.DataFrame(regions.table)`` is a data frame.

    Args:
        table: The columns: ``chrom``, ``start``, ``stop`` and others.
        report: The counts.

    Raises:
        ArgumentError: The table has no columns, or columns of different lengths.

    Examples:
        >>> regions = Regions({"chrom": ["chr1"], "start": [5], "stop": [9]}, {})
        >>> regions.columns, regions["stop"], len(regions)
        (['chrom', 'start', 'stop'], [9], 1)
    """

    table: Mapping[str, list[Any]]
    report: Mapping[str, Any]

    def __post_init__(self) -> None:
        sizes = {name: len(column) for name, column in self.table.items()}
        if not sizes:
            raise ArgumentError("table must have the columns of the intervals, got none")
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"{size:,} in {name!r}" for name, size in sizes.items())
            raise ArgumentError(
                f"the columns of table must have equal numbers of values, got {counts}"
            )

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.table)

    def __len__(self) -> int:
        return len(next(iter(self.table.values())))

    def __getitem__(self, name: str) -> list[Any]:
        return self.table[name]

    def __repr__(self) -> str:
        names = join_first_names(self.columns, _MAX_REPR_COLUMNS)
        return f"Regions({format_count(len(self), 'intervals')}: {names})"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the intervals as a BED file.

        A file with more columns than BED6 begins with a comment that names the columns.
        `IntervalDataset` reads all columns of the file.

        Args:
            path: The path of the file, which is replaced if it exists.

        Raises:
            FileError: The file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> Regions({"chrom": ["chr1"], "start": [5], "stop": [9]}, {}).write("a.bed")
            >>> Path("a.bed").read_text()
            'chr1\\t5\\t9\\n'
        """
        is_wider = any(name not in _BED_COLUMNS[:3] for name in self.table)
        names = list(_BED_COLUMNS if is_wider else _BED_COLUMNS[:3])
        names += [name for name in self.table if name not in names]
        missing = {name: [it] * len(self) for name, it in _BED_DEFAULTS.items()}
        columns = [self.table.get(name) or missing[name] for name in names] if self else []
        lines = ["\t".join(map(printable, row)) for row in zip(*columns, strict=True)]
        if len(names) > len(_BED_COLUMNS):
            lines.insert(0, "#" + "\t".join(map(printable, names)))
        write_atomic(path, "".join(f"{line}\n" for line in lines).encode())


def take_table(
    intervals: Intervals, spans: Spans, rows: Integers, *, width: int | None
) -> dict[str, list[Any]]:
    """Return the columns of some intervals, whose starts and stops are those of spans."""
    of_rows, chosen = spans.take(rows), rows.tolist()
    table: dict[str, list[Any]] = {
        "chrom": [intervals.chroms[row] for row in chosen],
        "start": of_rows.starts.tolist(),
        "stop": of_rows.stops.tolist(),
    }
    table |= {
        name: [column[row] for row in chosen] for name, column in intervals.columns.items()
    }
    if intervals.strands.any():
        signs: list[int] = intervals.strands[rows].tolist()
        table["strand"] = [STRAND_SIGNS[sign] for sign in signs]
    if (intervals.summits >= 0).any():
        summits = intervals.summits[rows]
        if width is not None:  # an interval without a summit was resized at its middle
            summits = np.full(rows.size, width // 2)
        table["summit"] = summits.tolist()
    return table
