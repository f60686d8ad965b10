"""`IntervalDataset`, the sequences of a genome at intervals, and `windows`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_bool, as_path, as_seed
from seqloom._text import MAX_EXAMPLES
from seqloom.data._dataset import Dataset
from seqloom.data._encoder import check_augment, check_encoder
from seqloom.data._frame import Frame, frame_index, to_values
from seqloom.data._position import check_integer
from seqloom.data.interval._interval_source import (
    IntervalSource,
    check_strands,
    choose_alphabet,
)
from seqloom.data.interval._intervals import MAX_POSITION, read_intervals
from seqloom.data.interval._spans import Genome, apply_edge_rule, compute_spans
from seqloom.data.label._labels import (
    DEFAULTS,
    Cells,
    LabelColumn,
    Labels,
    labels_by_file,
    to_cells,
)
from seqloom.data.label._numbers import label_rows
from seqloom.data.label._source import (
    LabelSource,
    dict_source,
    drop_missing,
    missing_note,
    read_labels_by_id,
)
from seqloom.errors import ArgumentError, LabelError, MissingFileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.data._encoder import Encoder
    from seqloom.data._source import Rows
    from seqloom.data.interval._intervals import Intervals


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
    """Sequences of a genome at intervals, with labels.

    Positions are zero-based and half-open, as in BED. An item is a dict with ``id``
    (``"chr1:100-200(+)"``), ``inputs`` or ``sequence``, ``file``, ``ordinal``, ``chrom``,
    ``start``, ``stop``, ``strand`` and, with labels, ``label``. Jitter changes ``start``
    and ``stop``, but not ``id``. The ordinal is the index of the interval in the input;
    dropped intervals are counted too.

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
        seed: Seed of the random shifts and of the augmentation.
        **old: Deprecated: options of ``Labels`` as keywords; write ``labels=Labels(source,
            task=..., classes=...)``.

    Returns:
        The dataset.

    Raises:
        FileError: A file cannot be read.
        FormatError: An interval is empty, or extends beyond its sequence.
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
    source = IntervalSource(
        opened, table, spans, strand=strand, alphabet=alphabet, jitter=jitter, seed=seed
    )
    column = _label_rows(labels, source, rows)
    return Dataset(source, encoder=encoder, augment=augment, seed=seed, labels=column)


def _label_rows(labels: Labels, source: IntervalSource, rows: Rows) -> LabelColumn:
    dropped = np.setdiff1d(np.arange(source.size), rows, assume_unique=True)
    names = source.ids(dropped[:MAX_EXAMPLES])
    report = {"dropped": int(dropped.size), "dropped_examples": names}
    if labels.source is None:
        return LabelColumn(rows=rows, report=report)
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


def check_label_options(labels: Labels) -> None:
    """Raise for options of ``Labels`` that do not apply to the intervals."""
    labels.check_unsupported("label_from_header", of="SequenceDataset")
    labels.check_unsupported("coding", of="GenotypeDataset")
    if labels.source is None and (changed := labels.changes(DEFAULTS)):
        raise ArgumentError(
            f"{' and '.join(changed)}: used only if labels= is given; pass labels, such "
            "as the name of a column of the intervals"
        )


def label_intervals(
    labels: Labels, intervals: Intervals, kept: NDArray[np.int64], *, ids: list[str]
) -> LabelColumn:
    """Return the labels of the intervals that are not dropped."""
    source, unmatched = _label_source(labels, intervals, kept, ids=ids)
    source = drop_missing(source, labels)

    def missing_error(unlabelled: list[int]) -> LabelError:
        remedy = '; pass Labels(..., unlabelled="skip") (--unlabelled skip) to skip records'
        if len(unlabelled) == len(ids):
            remedy = (
                "; no index value is the id of an interval: for labels in interval order "
                "pass labels.to_numpy()"
                if source.is_of_index
                else ""
            )
        return LabelError(
            f"{intervals.locate(int(kept[unlabelled[0]]))}: {len(unlabelled):,} of "
            f"{len(ids):,} intervals have no label in {source.what}: "
            f"{ids[unlabelled[0]]}, ...{remedy}{missing_note(source, str(unlabelled[0]))}"
        )

    keys = list(map(str, range(len(ids))))
    return label_rows(
        source,
        labels,
        keys,
        ids=ids,
        noun="sequence",
        missing_error=missing_error,
        unmatched=unmatched,
    )


def _label_source(
    labels: Labels, intervals: Intervals, kept: NDArray[np.int64], *, ids: list[str]
) -> tuple[LabelSource, Cells]:
    names = _label_columns(labels.source, intervals)
    if names:
        return _by_columns(names, intervals, kept), ()
    files = list(dict.fromkeys(intervals.files))
    if (classes := labels_by_file(labels.source, files)) is not None:
        return _file_labels(dict(zip(files, classes, strict=True)), intervals, kept), ()
    if _are_in_record_order(labels.source, intervals):
        return _ordered_labels(labels.source, intervals, kept), ()
    return _join_by_id(labels, intervals, kept, ids=ids)


def _label_columns(labels: Any, intervals: Intervals) -> Cells:
    """Return the names of the columns that ``labels`` lists; empty if it lists none."""
    names: Any = (labels,) if isinstance(labels, str) else labels
    if not isinstance(names, (list, tuple)) or not names:
        return ()
    is_each = all(isinstance(it, str) and it in intervals.columns for it in names)  # pyright: ignore[reportUnknownVariableType]
    return tuple(names) if is_each and len(set(names)) == len(names) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _by_columns(names: Cells, intervals: Intervals, kept: NDArray[np.int64]) -> LabelSource:
    rows: list[int] = kept.tolist()
    columns = [[intervals.columns[name][row] for row in rows] for name in names]
    if len(names) == 1:
        source = dict_source(_key_by_number(columns[0]), names)
    else:
        each = [sum(row, ()) for row in zip(*map(to_cells, columns), strict=True)]
        source = LabelSource("", names, _key_by_number(each))
    what = f"column {', '.join(map(repr, names))}"
    return replace(source, what=what, is_each=True, where=_line_finder(intervals, rows))


def _file_labels(
    classes: dict[str, Any], intervals: Intervals, kept: NDArray[np.int64]
) -> LabelSource:
    if not intervals.files:
        raise ArgumentError(
            'labels="file" takes the names of files of intervals, but these are a table '
            "in memory: pass the name of its column of labels"
        )
    rows: list[int] = kept.tolist()
    each = _key_by_number([classes[intervals.files[row]] for row in rows])
    options: Any = {"what": "the labels of files", "is_each": True, "is_of_files": True}
    return replace(
        dict_source(each, ("label",)), **options, where=_line_finder(intervals, rows)
    )


def _line_finder(intervals: Intervals, rows: list[int]) -> Callable[[str], str]:
    """Return a function that finds file and line of an interval from its number."""
    return lambda name: intervals.locate(rows[int(name)])


def _key_by_number(each: list[Any]) -> dict[str, Any]:
    return {str(i): label for i, label in enumerate(each)}


def _are_in_record_order(labels: Any, intervals: Intervals) -> bool:
    """Return whether labels are values in the order of the intervals."""
    if isinstance(labels, (str, os.PathLike, Mapping)) or Frame.of(labels) is not None:
        return False
    if isinstance(labels, (list, tuple)):
        rows: list[Any] = list(labels)  # pyright: ignore[reportUnknownArgumentType]
        return not (rows and isinstance(rows[0], os.PathLike))
    index = frame_index(labels)
    # A series with the index of the intervals is in the order of the intervals.
    is_in_order = index is None or index == intervals.index
    return callable(getattr(labels, "__len__", None)) and is_in_order


def _ordered_labels(
    labels: Any, intervals: Intervals, kept: NDArray[np.int64]
) -> LabelSource:
    """Convert labels in the order of the intervals to numbers."""
    if len(labels) != len(intervals):
        raise ArgumentError(
            f"labels must be one for each of {len(intervals):,} intervals, "
            f"got {len(labels):,}"
        )
    values = to_values(labels)
    numbered = {str(i): values[row] for i, row in enumerate(kept.tolist())}
    return replace(dict_source(numbered, ("label",)), what="the labels", is_each=True)


def _choose_names(ids: list[str], positions: list[str], source: LabelSource) -> list[str]:
    """Return the names that the labels use: interval ids or original positions."""
    # All intervals use the same kind of name: after resizing, the id of one interval
    # may equal the original position of another.
    labelled = {*source.cells, *source.missing}
    named = sum(position in labelled for position in positions)
    return positions if named > sum(name in labelled for name in ids) else ids


def _join_by_id(
    labels: Labels, intervals: Intervals, kept: NDArray[np.int64], *, ids: list[str]
) -> tuple[LabelSource, Cells]:
    """Join labels to intervals by id, or by the names in a BED file."""
    path = labels.source
    if isinstance(path, str) and not Path(path).expanduser().exists():
        known = ", ".join(intervals.columns) or "only positions"
        raise MissingFileError(
            f"{path}: no such file, nor a column of the intervals, which have {known}"
        )
    source = read_labels_by_id(labels)
    names = intervals.columns.get("name", [])
    keys: dict[str, str] = {}
    shown = _choose_names(ids, [intervals.name(row) for row in kept.tolist()], source)
    for i, (name, row) in enumerate(zip(shown, kept.tolist(), strict=True)):
        for key in (name, names[row] if names else name):
            if key in source.cells or (key in source.missing and str(i) not in keys):
                keys[str(i)] = key
    used = set(keys.values())

    def where(name: str) -> str:
        return source.locate(keys[name])

    numbered = replace(
        source,
        cells={i: source.cells[key] for i, key in keys.items() if key in source.cells},
        tables=[],
        is_each=True,
        missing={
            i: source.missing[key] for i, key in keys.items() if key in source.missing
        },
        where=where,
    )
    return numbered, tuple([key for key in source.cells if key not in used])
