"""Parts of a genome as a dataset with labels."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_flag, as_path, as_seed
from seqloom.data._dataset import Dataset
from seqloom.data._encoder import check_augment, check_encoder
from seqloom.data._state import check_integer
from seqloom.data.interval._interval_source import IntervalSource
from seqloom.data.interval._intervals import FARTHEST, read_intervals
from seqloom.data.interval._spans import Genome, check_edges, spans_of
from seqloom.data.interval._strand import alphabet_of, check_strands
from seqloom.data.label._cells import LabelColumn
from seqloom.data.label._interval_labels import check_label_options, label_intervals
from seqloom.data.label._labels import USUAL, Labels
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.data._encoder import Encoder
    from seqloom.data._source import Rows


_EXAMPLES = 3


def IntervalDataset(
    genome: str | os.PathLike[str],
    intervals: Any,
    *,
    encoder: Encoder | None = None,
    augment: Any = None,
    width: int | None = None,
    strand: bool = True,
    alphabet: Literal["dna", "rna", "protein"] | None = None,
    jitter: int = 0,
    edge: str = "error",
    labels: Any = None,
    seed: int = 0,
    **old: Any,
) -> Dataset:
    """Parts of the sequences of one file, read where they lie, with their labels.

    Positions are zero-based and half-open, as in BED. An item is a dict: ``id``
    (``"chr1:100-200(+)"``, before jitter), ``inputs`` or ``sequence``, ``file``,
    ``ordinal`` (the interval's number, dropped ones counted), ``chrom``, ``start``,
    ``stop`` (what was read, jitter and all), ``strand`` and, with labels, ``label``.

    Args:
        genome: A FASTA or FASTQ file: plain, bgzip or gzip.
        intervals: A BED3, BED6 or narrowPeak file or several, a table with a header
            (``chrom``, ``start``, ``stop`` and, if it likes, ``strand`` and ``summit``), a
            dict of such columns, or a data frame.
        encoder: Encodes letters as numbers.
        augment: Changes letters before they are encoded.
        width: Letters in each part, about the summit (narrowPeak) or else the middle; None
            takes intervals as they are.
        strand: Whether an interval on the minus strand is reverse-complemented.
        alphabet: What letters are: A faces T on the minus strand in ``"dna"``, U in
            ``"rna"``; ``"protein"`` has no minus strand. None takes the encoder's, or else
            DNA, where a U on the minus strand is then an error.
        jitter: Each part is moved by up to so many letters to either side, as seed, epoch
            and ordinal say; it shows what really stands there.
        edge: What happens where a part, jitter and all, leaves its sequence: ``"error"``;
            ``"pad"`` puts N there (X in proteins); ``"drop"`` leaves
            the interval out and counts it in ``report``.
        labels: A column of the intervals by its name, or several of numbers; one label for
            each interval; a dict from id (or name, BED's fourth column) to label; a table
            of labels, or several as paths; ``"file"``: each file of intervals is a class; a
            dict from file of intervals to label. A ``Labels`` says how they are
            read.
        seed: Seed of the random shifts and of the augmentation.
        **old: Options of ``Labels``, as they were given before: write
            ``labels=Labels(source, task=..., classes=...)``.

    Returns:
        The dataset.

    Raises:
        FileError: A file cannot be read.
        FormatError: An interval is none, or leaves its sequence.
        LabelError: Labels are missing or do not fit the task.
        ArgumentError: Arguments that do not go together.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("g.fa").write_text(">chr1\\nAACCGGTTAC\\n")
        >>> _ = Path("a.bed").write_text("chr1 0 4 a 0 +\\nchr1 2 6 b 0 -\\n")
        >>> data = IntervalDataset("g.fa", "a.bed")
        >>> [(item["id"], item["sequence"]) for item in data]
        [('chr1:0-4(+)', b'AACC'), ('chr1:2-6(-)', b'CCGG')]
    """
    check_encoder(encoder)
    labels = Labels.of(labels, USUAL, old)
    check_label_options(labels)
    check_integer("jitter", jitter, most=FARTHEST)
    if width is not None:
        check_integer("width", width, least=1, most=FARTHEST)
    as_path("genome", genome, expected="the path of a FASTA or FASTQ file")
    path = os.path.expanduser(os.fsdecode(genome))  # noqa: PTH111 - a path as text stays text
    strand = as_flag("strand", strand)
    letters = alphabet_of(alphabet, encoder)
    augment, seed = check_augment(augment, encoder), as_seed(seed)
    opened, table = Genome(path), read_intervals(intervals)
    if strand:
        check_strands(table.strands < 0, letters)
    spans = spans_of(table, opened, width)
    rows = check_edges(table, spans, opened.lengths, jitter=jitter, edge=edge)
    source = IntervalSource(
        opened, table, spans, strand=strand, alphabet=alphabet, jitter=jitter, seed=seed
    )
    column = _label(labels, source, rows)
    return Dataset(source, encoder=encoder, augment=augment, seed=seed, labels=column)


def _label(labels: Labels, source: IntervalSource, rows: Rows) -> LabelColumn:
    """Finds the labels of intervals, and counts those that leave their sequence."""
    dropped = np.setdiff1d(np.arange(source.size), rows, assume_unique=True)
    names = source.ids(dropped[:_EXAMPLES])
    report = {"dropped": int(dropped.size), "dropped_examples": names}
    if labels.source is None:
        return LabelColumn(rows=rows, report=report)
    found = label_intervals(labels, source.intervals, rows, ids=source.ids(rows))
    return replace(found, rows=rows[found.rows], report=report | found.report)


def windows(
    path: str | os.PathLike[str],
    width: int,
    stride: int | None = None,
    *,
    edge: str = "keep",
    **options: Any,
) -> Dataset:
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
