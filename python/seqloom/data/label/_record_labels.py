"""Labels of records, each by its id or its number; of sequences by header and file too."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_pattern
from seqloom._text import list_some, match_text
from seqloom.data._frame import Frame, index_of, is_array, values_of
from seqloom.data.label._labels import DEFAULTS, Cells, LabelColumn, Labels, labels_of_files
from seqloom.data.label._numbers import label_rows
from seqloom.data.label._source import (
    LabelSource,
    column_names_of,
    dict_source,
    drop_missing,
    each_source,
    frame_of,
    labels_by_id,
    missing_note,
    rows_of,
    wide_names,
)
from seqloom.data.label._table import column_position
from seqloom.errors import LabelError
from seqloom.io._records import decode_header, parse_id

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    from seqloom.data._sequence_source import SequenceSource
    from seqloom.io import SequenceRecord


_EXAMPLES = 3


def label_records(
    records: SequenceSource, labels: Labels, frames: Sequence[Frame | None]
) -> LabelColumn:
    """Find the labels of sequences, each by its id or its number."""
    found = choose_source(records, labels, frames)
    if found is None:
        return LabelColumn(classes=tuple(labels.classes or ()))
    source = drop_missing(found, labels)
    ids = records.ids(np.arange(records.size))
    if not source.is_each and (double := _find_double(ids)):
        positions = [records.place(at) for at in double]
        where = " and ".join(f"record {record} of {path}" for path, record in positions)
        name = ids[double[0]]
        raise LabelError(f"id {name!r} occurs twice: {where}; labels need distinct ids")
    # The cells of a table have no blanks at their ends, a header may end in one of Unicode.
    keys = [name if name in source.cells else name.strip() for name in ids]
    keys = list(map(str, range(len(ids)))) if source.is_each else keys

    def refuse(bare: list[int]) -> LabelError:
        return _unlabelled_error(records, ids, source, bare=bare, key=keys[bare[0]])

    noun = None if source.is_each else "sequence"
    return label_rows(source, labels, keys, ids=ids, noun=noun, refuse=refuse)


def choose_source(
    records: SequenceSource,
    labels: Labels,
    frames: Sequence[Frame | None] = (),
) -> LabelSource | None:
    """Take labels from where the caller says, or from the tables that sequences are in."""
    source, names = labels.source, column_names_of(labels)
    if labels.label_from_header is not None:
        return header_source(labels.label_from_header, records, names)
    tables = [frame for frame in frames if frame is not None]
    if isinstance(source, str) and any(source in frame.names for frame in tables):
        source, names = None, (source,)
    if source is None and tables:
        return own_source(tables, records, names)
    if source is None or source is False:
        return None
    frame = None if records.has_ids else frame_of(labels.source, set())
    has_column = frame is not None and (labels.id_column or "id") in frame.names
    has_index = not has_column and index_of(labels.source) is not None
    if has_index and not records.has_ids:
        raise LabelError(
            "labels have an index, but the sequences have no ids to join it to: for "
            "labels in the order of the sequences give labels.to_numpy()"
        )
    labels = replace(labels, source=source)
    index = index_of(source) if is_array(source) else None
    if index is not None and index in [frame.index() for frame in tables]:
        # A column of the table of sequences.
        labels = replace(labels, source=np.array(values_of(source), object))
    return _source_of(labels, records)


def own_source(
    tables: list[Frame], records: SequenceSource, columns: Cells
) -> LabelSource | None:
    """Take labels from the tables that sequences are in, if they have some."""
    has = [set(columns) <= set(frame.names) for frame in tables]
    if not any(has) and columns == ("label",):
        return None
    for frame, name in itertools.product(tables, columns):
        column_position(frame.what, frame.names, name)
    if len(tables) < len(records.paths):
        raise LabelError(
            f"{tables[0].what}: has labels, but not all files are tables: give labels= for "
            "all, or labels=False"
        )
    what = ", ".join(frame.what for frame in tables)
    parts = [rows_of(frame, columns) for frame in tables]
    rows = [row for part, _ in parts for row in part]
    cells = {str(i): row for i, row in enumerate(rows) if row is not None}
    is_of_lists = any(is_lists for _, is_lists in parts)
    names = wide_names(columns, cells.values())
    return LabelSource(what, names, cells, is_each=True, is_of_lists=is_of_lists)


def _source_of(labels: Labels, records: SequenceSource) -> LabelSource:
    """Tell files, one label each, a function, and labels by id apart."""
    source, names = labels.source, column_names_of(labels)
    files = labels_of_files(source, records.paths)
    if files is not None:
        return file_source(files, records, names)
    if callable(source):
        return call_source(source, records, names)
    if _is_one_each(source):
        return each_source(values_of(source), records.size, names)
    try:
        return labels_by_id(labels)
    except LabelError as error:
        if note := _data_note(error.columns, records):
            raise LabelError(f"{error}{note}") from None
        raise


def _data_note(columns: Cells, records: SequenceSource) -> str:
    """Say that the first line of a table is data, where it holds the id of a record."""
    ids = records.ids(np.arange(records.size)) if columns else []
    data = next((name for name in ids if name in columns), None)
    if data is None:
        return ""
    return (
        f"; {data!r} is the id of a record, so the first line is data: add a line before "
        "it that names the columns"
    )


def _is_one_each(labels: Any) -> bool:
    """Tell labels in the order of the records from tables and from labels by id."""
    if isinstance(labels, (list, tuple)):
        rows: list[Any] = list(labels)  # pyright: ignore[reportUnknownArgumentType]
        return bool(rows) and not isinstance(rows[0], (str, os.PathLike))
    return is_array(labels) and Frame.of(labels) is None and index_of(labels) is None


def file_source(labels: list[Any], records: SequenceSource, columns: Cells) -> LabelSource:
    """Return each record the label of its file."""
    each = np.repeat(np.arange(len(labels)), np.diff(records.starts)).tolist()
    source = each_source([labels[number] for number in each], len(each), columns)
    return replace(source, what="the labels of files", is_of_files=True)


def call_source(
    label: Callable[[SequenceRecord], Any], records: SequenceSource, columns: Cells
) -> LabelSource:
    """Ask a function for the label of each record; None is no label."""
    values = {str(i): label(record) for i, record in enumerate(records.records())}
    found = {key: value for key, value in values.items() if value is not None}
    what = f"the function {getattr(label, '__name__', label)!s}"
    return replace(dict_source(found, columns), what=what, is_each=True)


def header_source(
    pattern: str | re.Pattern[str], records: SequenceSource, names: Cells
) -> LabelSource:
    """Take labels out of the headers of the sequences."""
    found_by = as_pattern("label_from_header", pattern)
    text, search = found_by.pattern, found_by.search
    headers = [it for batch in records.store.batches() for it in batch.headers.to_list()]
    ids = (decode_header(parse_id(header)) for header in headers)
    found = zip(ids, map(search, map(decode_header, headers)), strict=True)
    cells = {name: (match_text(match, "label"),) for name, match in found if match}
    what, found_in = f"headers searched for '{text}'", partial(_found_in, search, headers)
    return LabelSource(what, names[:1], cells, found=found_in)


def _found_in(
    search: Callable[[str], re.Match[str] | None], headers: Sequence[bytes], record: int
) -> str:
    """Say what a pattern finds in a header, and how a pattern is written."""
    header = decode_header(headers[record])
    match = search(header)
    text = "" if match is None else match_text(match, "label")
    found = "nothing" if match is None else repr(text)
    if not text:
        advice = r"write \| for a bar and \. for a point, and the label in parentheses"
    else:
        advice = 'the label is what stands in parentheses, as in "class=(\\w+)"'
    return f"in the header {header!r} it finds {found}: {advice}"


def _find_double(ids: list[str]) -> tuple[int, int] | None:
    """Find two records of one id, of which a label by id would be for both."""
    if len(set(ids)) == len(ids):
        return None
    first: dict[str, int] = {}
    for number, name in enumerate(ids):
        if (before := first.setdefault(name, number)) != number:
            return before, number
    return None


def _unlabelled_error(
    records: SequenceSource,
    ids: list[str],
    source: LabelSource,
    *,
    bare: list[int],
    key: str,
) -> LabelError:
    """Say which sequences have no label."""
    names = list_some([ids[i] for i in bare])
    alike = (
        "" if source.is_each else _blank_note(source, key) or _spelling_note(source, key)
    )
    way_out = '; leave them out with Labels(..., unlabelled="skip") (--unlabelled skip)'
    if len(bare) == len(ids):
        note = _part_note(source, ids) or _other_ids(source)
        way_out = "" if alike else source.note(bare[0]) or note
    elif source.found is not None:
        way_out = source.note(bare[0]) + way_out
    return LabelError(
        f"{records.place(bare[0])[0]}: {len(bare):,} of {len(ids):,} sequences have no "
        f"label in {source.what}: {names}{missing_note(source, key)}{alike}{way_out}"
    )


def _other_ids(source: LabelSource) -> str:
    """Show ids of the labels, where none of them is that of a sequence."""
    if not source.cells:
        return "; nothing was found there"
    found = ", ".join(map(repr, list(source.cells)[:_EXAMPLES]))
    if source.is_of_index:
        return (
            f"; its index has {found}, ...: for labels in the order of the sequences give "
            "labels.to_numpy()"
        )
    return (
        f"; their ids are {found}, ...: id_column of Labels (--id-column) names another "
        "column"
    )


def _part_note(source: LabelSource, ids: list[str]) -> str:
    """Describe how to cut ids where the labels have a part of them, as accessions."""
    parts = ids[0].split("|")
    at = next((at for at, part in enumerate(parts) if at and part in source.cells), None)
    if at is None:
        return ""
    pattern = (
        r"\|(.+?)\|" if at == 1 and len(parts) > at + 1 else rf"(?:.*?\|){{{at}}}([^|\s]+)"
    )
    return (
        f"; the labels have {parts[at]!r} for {ids[0]!r}: pass id_from_header="
        f"r'{pattern}' (--id-from-header '{pattern}')"
    )


def _blank_note(source: LabelSource, name: str) -> str:
    """Say that an id ends at its first blank, where a label is by more than that."""
    whole = next((key for key in source.cells if key.split(None, 1)[:1] == [name]), None)
    if whole in {None, name}:
        return ""
    return (
        f" (the labels have {whole!r}, but an id is the first word alone: write that word "
        "in the labels)"
    )


def _spelling_note(source: LabelSource, name: str) -> str:
    """Say that an id is written with a mark of FASTA or FASTQ, or other capitals."""
    headers = (key for key in source.cells if key.startswith((">", "@")))
    marked = next((key for key in headers if key[1:].split(None, 1)[:1] == [name]), None)
    if marked is not None:
        return (
            f" (the labels have {marked!r}: write {name!r} there, because {marked[0]!r} "
            "begins a header and is no part of the id)"
        )
    folded = name.casefold()
    other = next((key for key in source.cells if key.casefold() == folded), None)
    if other is None:
        return ""
    return (
        f" (the labels have {other!r}, which differs in capitals: write ids in the labels "
        "as the sequences do)"
    )


def join_labels(labels: Any, ids: list[str], *, noun: str = "records") -> LabelColumn:
    """Find the label of each record of a source of your own.

    Args:
        labels: A `Labels`, or what its ``source`` takes: tables, a data frame, a dict from
            id to label, or a list in the order of the records. None or False: no labels.
        ids: The id of each record.
        noun: What the records are called, in the plural.

    Returns:
        What ``Dataset(source, labels=)`` takes.

    Raises:
        LabelError: Labels are missing, double, or do not fit the task.
        FileError: A table cannot be read.

    Examples:
        >>> import seqloom as sl
        >>> column = sl.data.join_labels({"x": "no", "y": "yes"}, ["y", "x"])
        >>> column.classes, column.values.tolist()
        (('no', 'yes'), [1, 0])
    """
    labels = Labels.of(labels, DEFAULTS)
    if labels.source is None or labels.source is False:
        return LabelColumn(classes=tuple(labels.classes or ()))
    source = drop_missing(_rows_source(labels, len(ids)), labels)
    keys = [str(number) for number in range(len(ids))] if source.is_each else ids
    if not source.is_each and (double := _find_double(ids)):
        raise LabelError(
            f"id {ids[double[0]]!r} occurs twice: {noun} {double[0]} and {double[1]}; "
            "labels by id need distinct ids: give a list of labels in the order of the "
            "records"
        )

    def refuse(bare: list[int]) -> LabelError:
        listed = list_some([ids[row] for row in bare])
        way_out = '; leave them out with Labels(..., unlabelled="skip") (--unlabelled skip)'
        return LabelError(
            f"{len(bare):,} of {len(ids):,} {noun} have no label in {source.what}: "
            f"{listed}{missing_note(source, ids[bare[0]])}"
            f"{'' if len(bare) == len(ids) else way_out}"
        )

    one = None if source.is_each else "sequence"
    return label_rows(source, labels, keys, ids=ids, noun=one, refuse=refuse)


def _rows_source(labels: Labels, count: int) -> LabelSource:
    """Tell labels by id from labels in the order of the records."""
    source = labels.source
    is_by_id = isinstance(source, (str, os.PathLike, Mapping)) or (
        Frame.of(source) is not None or index_of(source) is not None
    )
    rows: list[Any] = [] if is_by_id else list(labels.source)
    is_paths = bool(rows) and all(isinstance(row, (str, os.PathLike)) for row in rows)
    # A list of texts is one of tables where these are files, as for sequences.
    if is_by_id or (is_paths and all(os.path.exists(row) for row in rows)):  # noqa: PTH110 - any path
        return labels_by_id(labels)
    return each_source(rows, count, tuple(labels.label_column or ("label",)))
