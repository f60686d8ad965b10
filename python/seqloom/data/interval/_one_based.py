"""Tables of intervals that count positions from 1, and include the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._text import parse_integer
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable

_SIZES = ("length", "width")  # of MACS and featureCounts, of R's GRanges
_SAF = ["geneid", "chr", "start", "end", "strand"]
_ONE_BASED = {"seqname", "seqnames"}  # chromosomes of GTF, of GRanges
_HOMER_STRANDS = {"0": "+", "1": "-"}

Columns = dict[str, list[Any]]


def to_zero_based(what: str, columns: Columns, found: dict[str, str | None]) -> Columns:
    """Convert a table of 1-based closed positions to 0-based half-open ones.

    Args:
        what: The name of the table in errors.
        columns: The columns of the table.
        found: The names of the columns of ``start``, ``stop``, ``strand`` and ``summit``.

    Returns:
        The columns with other starts, strands and summits; the same columns where the
        header and the sizes of the intervals do not prove that positions count from 1.

    Raises:
        FormatError: The columns are those of GTF or GRanges, and no size proves anything.
    """
    names = [name.strip().lstrip("#").lower() for name in columns]
    is_homer = names[0].split(" ")[0] == "peakid"
    chrom, start, stop = (str(found[name]) for name in ("chrom", "start", "stop"))
    starts, stops = _integers(columns[start]), _integers(columns[stop])
    # A cell that is not an integer is reported where the column is read.
    if not starts or not stops:
        return columns
    if not (is_homer or names == _SAF or _sizes_are(columns, starts, stops, end=1)):
        if names[list(columns).index(chrom)] in _ONE_BASED and not _sizes_are(
            columns, starts, stops, end=0
        ):
            raise FormatError(
                f"{what}: the column {chrom!r} is one of GTF and GRanges, which count "
                "positions from 1 and include the end; for such positions subtract 1 from "
                f"each start, and rename {chrom!r} to 'chrom' (with a column 'width' of "
                "end - start + 1 they are converted)"
            )
        return columns
    changed: Columns = {start: [position - 1 for position in starts]}
    if is_homer and (strand := found["strand"]):
        cells = columns[strand]
        changed[strand] = [_HOMER_STRANDS.get(str(cell).strip(), cell) for cell in cells]
    return columns | changed | _summits(columns, starts, names)


def _sizes_are(columns: Columns, starts: list[int], stops: list[int], *, end: int) -> bool:
    """Return whether a column of sizes is ``stop - start + end`` in every row."""
    expected = [stop - start + end for start, stop in zip(starts, stops, strict=False)]
    sizes = [cells for name, cells in columns.items() if name.strip().lower() in _SIZES]
    return any(_integers(cells) == expected for cells in sizes)


def _summits(columns: Columns, starts: list[int], names: list[str]) -> Columns:
    """Return the summits of MACS as offsets from the starts."""
    by_name = dict(zip(names, columns, strict=True))
    if "abs_summit" in by_name:
        summits = _integers(columns[by_name["abs_summit"]])
        offsets = [at - start for at, start in zip(summits, starts, strict=False)]
        return {"summit": offsets} if offsets and "summit" not in by_name else {}
    if "summit" in by_name and "tags" in by_name:  # MACS 1.4 counts the offset from 1
        summits = _integers(columns[by_name["summit"]])
        return {by_name["summit"]: [at - 1 for at in summits]} if summits else {}
    return {}


def _integers(cells: Iterable[Any]) -> list[int]:
    """Return the cells as integers; an empty list if one is none."""
    try:
        return [whole(cell) for cell in cells]
    except (ValueError, OverflowError, TypeError):
        return []


def whole(cell: Any) -> int:
    """Return the integer of a cell; raise ValueError for a number with a fraction."""
    if isinstance(cell, str):
        return parse_integer(cell)
    number = int(cell)
    if number != cell or isinstance(cell, bool):
        raise ValueError
    return number
