"""Tiling long sequences."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_path
from seqloom.data._state import check_integer
from seqloom.data.interval._genome import Genome
from seqloom.data.interval._interval_dataset import IntervalDataset
from seqloom.data.interval._intervals import FARTHEST
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def windows(
    path: str | os.PathLike[str],
    width: int,
    stride: int | None = None,
    *,
    edge: str = "keep",
    **options: Any,
) -> IntervalDataset:
    """Tiles the sequences of a file: each becomes parts of one width.

    A sequence's last tile is the first that reaches its end.

    Args:
        path: The file.
        width: Letters in a tile.
        stride: Letters from the start of one tile to the start of the next; None tiles
            without overlap.
        edge: What happens to a last tile that is shorter: ``"keep"`` leaves it shorter;
            ``"pad"`` fills it with N; ``"drop"`` leaves it out and counts it in
            ``report``; ``"error"`` refuses it.
        **options: What ``IntervalDataset`` takes: ``encoder``, ``augment``, ``seed``, ...

    Returns:
        A dataset of all tiles, in the order of the file.

    Raises:
        FileError: The file cannot be read.
        FormatError: A tile is shorter, and ``edge`` is ``"error"``.
        ArgumentError: A width or a stride below 1.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("g.fa").write_text(">chr1\\nAACCGGTTAC\\n")
        >>> [item["sequence"] for item in windows("g.fa", 4)]
        [b'AACC', b'GGTT', b'AC']
        >>> len(windows("g.fa", 4, 2)), len(windows("g.fa", 4, edge="drop"))
        (4, 2)
    """
    check_integer("width", width, least=1, most=FARTHEST)
    stride = width if stride is None else stride
    check_integer("stride", stride, least=1, most=FARTHEST)
    if edge not in ("keep", "pad", "drop", "error"):
        raise ArgumentError(f"edge must be keep, pad, drop or error; got {edge!r}")
    as_path("path", path, expected="the path of a FASTA or FASTQ file")
    genome = Genome(os.path.expanduser(os.fsdecode(path)))  # noqa: PTH111 - a path as text
    chroms, starts = _tiles(genome.lengths, width, stride)
    stops = starts + width
    if edge == "keep":
        stops, edge = np.minimum(stops, genome.lengths[chroms]), "error"
    numbers: list[int] = chroms.tolist()
    names = [genome.names[number] for number in numbers]
    table = {"chrom": names, "start": starts, "stop": stops}
    return IntervalDataset(path, table, edge=edge, **options)


def _tiles(
    lengths: NDArray[np.int64], width: int, stride: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lists the number of the sequence and the start of each tile."""
    up_to_the_end = np.maximum(1 - (width - lengths) // stride, 1)
    that_begin = -(-lengths // stride)
    counts = np.minimum(up_to_the_end, that_begin)
    chroms = np.repeat(np.arange(lengths.size), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    return chroms, (np.arange(chroms.size) - first) * stride
