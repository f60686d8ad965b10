"""`IntervalDataset`, the sequences of a genome at intervals, and `windows`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_bool, as_path, as_seed
from seqloom._text import MAX_EXAMPLES
from seqloom.data._dataset import Dataset
from seqloom.data._encoder import check_augment, check_encoder
from seqloom.data._position import check_integer
from seqloom.data.interval._interval_labels import check_label_options, label_intervals
from seqloom.data.interval._interval_source import (
    IntervalSource,
    check_strands,
    choose_alphabet,
)
from seqloom.data.interval._intervals import MAX_POSITION, read_intervals
from seqloom.data.interval._spans import Genome, apply_edge_rule, compute_spans
from seqloom.data.interval._targets import TrackTargets, check_positions_known
from seqloom.data.label._labels import DEFAULTS, LabelColumn, Labels
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.data._encoder import Encoder
    from seqloom.data._source import Rows


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
    tracks: Any = None,
    bin: int = 1,
    reduce: Literal["mean", "sum", "max"] = "mean",
    missing: Literal["nan", "error"] | float = "error",
    target_width: int | None = None,
    seed: int = 0,
    **old: Any,
) -> Dataset:
    """Sequences of a genome at intervals, with labels or signal tracks.

    Positions are zero-based and half-open, as in BED. An item is a dict with ``id``
    (``"chr1:100-200(+)"``), ``inputs`` or ``sequence``, ``file``, ``ordinal``, ``chrom``,
    ``start``, ``stop``, ``strand`` and, with labels, ``label``. Jitter changes ``start``
    and ``stop``, but not ``id``. The ordinal is the index of the interval in the input;
    dropped intervals are counted too.

    With tracks, an item also has ``tracks``, a float32 array ``(tracks, bins)`` that is
    read from the files as needed. Jitter moves sequence and tracks together. A reverse
    complement, of the minus strand or by an augmentation, reverses the tracks, and
    exchanges the strands of each pair.

    Args:
        genome: A FASTA or FASTQ file: plain, bgzip or gzip.
        intervals: One or more files (BED3, BED6, narrowPeak, or a table with a header), a
            dict of columns or a data frame. The columns are ``chrom``, ``start``, ``stop``
            and, optionally, ``strand`` and ``summit``.
        encoder: Encodes residues as numbers.
        augment: Changes residues before they are encoded.
        width: The length of all sequences; each is centred at the summit (narrowPeak) or
            the middle of its interval. With None, intervals keep their lengths.
        strand: If True, intervals on the minus strand are reverse-complemented.
        alphabet: The alphabet of the genome: ``"dna"``, ``"rna"`` (A and U are complements)
            or ``"protein"`` (no minus strand). By default, the alphabet of the encoder is
            used; without an encoder, DNA is assumed and a U on the minus strand raises an
            error.
        jitter: The maximum random shift of an interval to either side, in bases; the shift
            depends on seed, epoch and ordinal. The sequence is read from the genome at the
            shifted position.
        edge: The treatment of intervals that extend (including jitter) beyond the ends of a
            sequence. ``"error"`` raises; ``"pad"`` pads with N (X in proteins); ``"drop"``
            removes the interval and counts it in ``report``.
        labels: The name of a column of the intervals, or several names of numeric columns.
            Other sources are a list with one label for each interval, paths of tables, and
            a dict from id or name (BED column 4) to label. ``"file"`` makes each file of
            intervals a class; a dict from file to label sets other names. A ``Labels``
            object also has options for reading the labels.
        tracks: Paths of bigWig or bedGraph files, or the result of ``sl.io.open_tracks``,
            which describes lists, pairs of strands, names and absent contigs. Without
            labels, the task of the dataset is ``"profile"``; with labels, tracks are
            further columns.
        bin: The number of bases of a bin.
        reduce: The number for each bin: ``"mean"``, ``"sum"`` or ``"max"`` of its bases.
        missing: The value of bases without a value in the file: 0 (included in means),
            ``"nan"`` (left out of means) or ``"error"``.
        target_width: The number of bases whose tracks are read, in the middle of each
            sequence; by default, all bases of the sequence.
        seed: Seed of the random shifts and of the augmentation.
        **old: Deprecated: options of ``Labels`` as keywords; write ``labels=Labels(source,
            task=..., classes=...)``.

    Returns:
        The dataset.

    Raises:
        FileError: A file cannot be read.
        FormatError: An interval is empty, or extends beyond its sequence; or a track
            belongs to another genome build, is damaged, or lacks a value.
        LabelError: Labels are missing, or do not fit the task.
        ArgumentError: Arguments contradict each other.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("g.fa").write_text(">chr1\\nAACCGGTTAC\\n")
        >>> _ = Path("a.bed").write_text("chr1 0 4 a 0 +\\nchr1 2 6 b 0 -\\n")
        >>> data = IntervalDataset("g.fa", "a.bed")
        >>> [(item["id"], item["sequence"]) for item in data]
        [('chr1:0-4(+)', b'AACC'), ('chr1:2-6(-)', b'CCGG')]
    """
    check_encoder(encoder)
    if tracks is None and missing != "error":
        old["missing"] = missing  # of labels
    labels = Labels.of(labels, DEFAULTS, old, maker=IntervalDataset)
    check_label_options(labels)
    check_integer("jitter", jitter, most=MAX_POSITION)
    if width is not None:
        check_integer("width", width, least=1, most=MAX_POSITION)
    as_path("genome", genome, expected="the path of a FASTA or FASTQ file")
    path = os.path.expanduser(os.fsdecode(genome))  # noqa: PTH111 - a path as text stays text
    strand = as_bool("strand", strand)
    letters = choose_alphabet(alphabet, encoder)
    augment, seed = check_augment(augment, encoder), as_seed(seed)
    opened, table = Genome(path), read_intervals(intervals)
    if strand:
        check_strands(table.strands < 0, letters)
    spans = compute_spans(table, opened, width)
    rows = apply_edge_rule(table, spans, opened.lengths, jitter=jitter, edge=edge)
    targets = TrackTargets.of(
        tracks,
        opened,
        spans,
        target_width=target_width,
        bin=bin,
        reduce=reduce,
        missing=missing,
    )
    if targets is not None:
        check_positions_known(augment)
    elif bin != 1 or target_width is not None:
        raise ArgumentError("bin and target_width are options of tracks; pass tracks")
    source = IntervalSource(
        opened,
        table,
        spans,
        strand=strand,
        alphabet=alphabet,
        jitter=jitter,
        seed=seed,
        targets=targets,
    )
    return Dataset(
        source,
        encoder=encoder,
        augment=augment,
        seed=seed,
        labels=_label_rows(labels, source, rows),
    )


def _label_rows(labels: Labels, source: IntervalSource, rows: Rows) -> LabelColumn:
    dropped = np.setdiff1d(np.arange(source.size), rows, assume_unique=True)
    names = source.ids(dropped[:MAX_EXAMPLES])
    report = {"dropped": int(dropped.size), "dropped_examples": names}
    if labels.source is None:
        names = source.track_names
        task = "profile" if names else None
        return LabelColumn(task, names, rows=rows, report=report)
    column = label_intervals(labels, source.intervals, rows, ids=source.ids(rows))
    return replace(column, rows=rows[column.rows], report=report | column.report)


def windows(
    path: str | os.PathLike[str],
    width: int,
    stride: int | None = None,
    *,
    edge: str = "keep",
    **options: Any,
) -> Dataset:
    """Split the sequences of a file into windows of one width.

    The first window that reaches the end of a sequence is its last window.

    Args:
        path: The file.
        width: The length of a window, in residues.
        stride: The distance between the starts of consecutive windows; None means
            ``width``, so that windows do not overlap.
        edge: The treatment of a last window that is shorter than ``width``. ``"keep"``
            returns the shorter window; ``"pad"`` pads it with N; ``"drop"`` removes the
            window and counts it in ``report``; ``"error"`` raises.
        **options: Further arguments of ``IntervalDataset``: ``encoder``, ``augment``,
            ``seed``, ...

    Returns:
        A dataset of all windows, in the order of the file.

    Raises:
        FileError: The file cannot be read.
        FormatError: A window is shorter than ``width``, and ``edge`` is ``"error"``.
        ArgumentError: ``width`` or ``stride`` is below 1.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("g.fa").write_text(">chr1\\nAACCGGTTAC\\n")
        >>> [item["sequence"] for item in windows("g.fa", 4)]
        [b'AACC', b'GGTT', b'AC']
        >>> len(windows("g.fa", 4, 2)), len(windows("g.fa", 4, edge="drop"))
        (4, 2)
    """
    check_integer("width", width, least=1, most=MAX_POSITION)
    stride = width if stride is None else stride
    check_integer("stride", stride, least=1, most=MAX_POSITION)
    if edge not in ("keep", "pad", "drop", "error"):
        raise ArgumentError(f"edge must be keep, pad, drop or error; got {edge!r}")
    as_path("path", path, expected="the path of a FASTA or FASTQ file")
    genome = Genome(os.path.expanduser(os.fsdecode(path)))  # noqa: PTH111 - a path as text
    chroms, starts = _window_starts(genome.lengths, width, stride)
    stops = starts + width
    if edge == "keep":
        stops, edge = np.minimum(stops, genome.lengths[chroms]), "error"
    numbers: list[int] = chroms.tolist()
    names = [genome.names[number] for number in numbers]
    table = {"chrom": names, "start": starts, "stop": stops}
    return IntervalDataset(path, table, edge=edge, **options)


def _window_starts(
    lengths: NDArray[np.int64], width: int, stride: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    until_end = np.maximum(1 - (width - lengths) // stride, 1)
    starts_within = -(-lengths // stride)
    counts = np.minimum(until_end, starts_within)
    chroms = np.repeat(np.arange(lengths.size), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    return chroms, (np.arange(chroms.size) - first) * stride
