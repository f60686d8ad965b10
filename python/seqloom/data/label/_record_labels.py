"""Joins labels to records: by id, by order, by header or by file."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_pattern
from seqloom._text import MAX_EXAMPLES, get_match_text, join_first_names
from seqloom.data._frame import Frame, frame_index, is_array, to_values
from seqloom.data.label._labels import DEFAULTS, Cells, LabelColumn, Labels, labels_by_file
from seqloom.data.label._numbers import label_rows
from seqloom.data.label._source import (
    LabelSource,
    as_label_frame,
    dict_source,
    drop_missing,
    label_rows_of_frame,
    list_label_columns,
    missing_note,
    ordered_source,
    read_labels_by_id,
    value_names,
)
from seqloom.data.label._table import column_position
from seqloom.errors import LabelError
from seqloom.io._records import decode_header, parse_id

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    from seqloom.data._sequence_source import SequenceSource
    from seqloom.io import SequenceRecord


def label_records(
    records: SequenceSource, labels: Labels, frames: Sequence[Frame | None]
) -> LabelColumn:
    """Return the labels of sequences as numbers."""
    label_source = choose_source(records, labels, frames)
    if label_source is None:
        return LabelColumn(classes=tuple(labels.classes or ()))
    source = drop_missing(label_source, labels)
    ids = records.ids(np.arange(records.size))
    if not source.is_each and (double := _find_duplicate_id(ids)):
        positions = [records.place(at) for at in double]
        where = " and ".join(f"record {record} of {path}" for path, record in positions)
        name = ids[double[0]]
        raise LabelError(f"id {name!r} occurs twice: {where}; labels need distinct ids")
    # The cells of tables are stripped, but an id in a file may end in a Unicode blank.
    keys = [name if name in source.cells else name.strip() for name in ids]
    keys = list(map(str, range(len(ids)))) if source.is_each else keys

    def missing_error(unlabelled: list[int]) -> LabelError:
        return _unlabelled_error(
            records, ids, source, unlabelled=unlabelled, key=keys[unlabelled[0]]
        )

    noun = None if source.is_each else "sequence"
    return label_rows(source, labels, keys, ids=ids, noun=noun, missing_error=missing_error)


def choose_source(
    records: SequenceSource, labels: Labels, frames: Sequence[Frame | None] = ()
) -> LabelSource | None:
    """Return the labels that the user passed, or the labels in the tables of sequences."""
    source, names = labels.source, list_label_columns(labels)
    if labels.label_from_header is not None:
        return header_source(labels.label_from_header, records, names)
    tables = [frame for frame in frames if frame is not None]
    if isinstance(source, str) and any(source in frame.names for frame in tables):
        source, names = None, (source,)
    if source is None and tables:
        return read_table_labels(tables, records, names)
    if source is None or source is False:
        return None
    frame = None if records.has_ids else as_label_frame(labels.source, set())
    has_column = frame is not None and (labels.id_column or "id") in frame.names
    has_index = not has_column and frame_index(labels.source) is not None
    if has_index and not records.has_ids:
        raise LabelError(
            "labels have an index, but the sequences have no ids to join it to: for "
            "labels in the order of the sequences pass labels.to_numpy()"
        )
    labels = replace(labels, source=source)
    index = frame_index(source) if is_array(source) else None
    if index is not None and index in [frame.index() for frame in tables]:
        # A column of the table of sequences is in the order of the records.
        labels = replace(labels, source=np.array(to_values(source), object))
    return _open_label_source(labels, records)


def read_table_labels(
    tables: list[Frame], records: SequenceSource, columns: Cells
) -> LabelSource | None:
    """Return the labels in the tables of sequences; None without a label column."""
    has = [set(columns) <= set(frame.names) for frame in tables]
    if not any(has) and columns == ("label",):
        return None
    for frame, name in itertools.product(tables, columns):
        column_position(frame.what, frame.names, name)
    if len(tables) < len(records.paths):
        raise LabelError(
            f"{tables[0].what}: has labels, but not all files are tables: pass labels= for "
            "all, or labels=False"
        )
    what = ", ".join(frame.what for frame in tables)
    parts = [label_rows_of_frame(frame, columns) for frame in tables]
    rows = [row for part, _ in parts for row in part]
    cells = {str(i): row for i, row in enumerate(rows) if row is not None}
    is_of_lists = any(is_lists for _, is_lists in parts)
    names = value_names(columns, cells.values())
    return LabelSource(what, names, cells, is_each=True, is_of_lists=is_of_lists)


def _open_label_source(labels: Labels, records: SequenceSource) -> LabelSource:
    source, names = labels.source, list_label_columns(labels)
    files = labels_by_file(source, records.paths)
    if files is not None:
        return file_source(files, records, names)
    if callable(source):
        return function_source(source, records, names)
    if _are_in_record_order(source):
        return ordered_source(to_values(source), records.size, names)
    try:
        return read_labels_by_id(labels)
    except LabelError as error:
        if note := _headerless_note(error.columns, records):
            raise LabelError(f"{error}{note}") from None
        raise


def _headerless_note(columns: Cells, records: SequenceSource) -> str:
    """Return a hint that a table lacks a header, if its first line has a record's id."""
    ids = records.ids(np.arange(records.size)) if columns else []
    data = next((name for name in ids if name in columns), None)
    if data is None:
        return ""
    return (
        f"; {data!r} is the id of a record, so the first line is data: add a header line "
        "that names the columns"
    )


def _are_in_record_order(labels: Any) -> bool:
    """Return whether labels are values in the order of the records."""
    if isinstance(labels, (list, tuple)):
        rows: list[Any] = list(labels)  # pyright: ignore[reportUnknownArgumentType]
        return bool(rows) and not isinstance(rows[0], (str, os.PathLike))
    return is_array(labels) and Frame.of(labels) is None and frame_index(labels) is None


def file_source(labels: list[Any], records: SequenceSource, columns: Cells) -> LabelSource:
    """Return the labels of records by their files."""
    file_numbers = np.repeat(np.arange(len(labels)), np.diff(records.starts)).tolist()
    values = [labels[number] for number in file_numbers]
    source = ordered_source(values, len(values), columns)
    return replace(source, what="the labels of files", is_of_files=True)


def function_source(
    label: Callable[[SequenceRecord], Any], records: SequenceSource, columns: Cells
) -> LabelSource:
    """Return the labels that a function returns for the records; None means no label."""
    values = {str(i): label(record) for i, record in enumerate(records.records())}
    labels = {key: value for key, value in values.items() if value is not None}
    what = f"the function {getattr(label, '__name__', label)!s}"
    return replace(dict_source(labels, columns), what=what, is_each=True)


def header_source(
    pattern: str | re.Pattern[str], records: SequenceSource, names: Cells
) -> LabelSource:
    """Return the labels that a regular expression finds in the headers."""
    regex = as_pattern("label_from_header", pattern)
    text, search = regex.pattern, regex.search
    headers = [it for batch in records.store.batches() for it in batch.headers.to_list()]
    ids = (decode_header(parse_id(header)) for header in headers)
    matches = zip(ids, map(search, map(decode_header, headers)), strict=True)
    cells = {name: (get_match_text(match, "label"),) for name, match in matches if match}
    what, found_in = f"headers searched for '{text}'", partial(_match_note, search, headers)
    return LabelSource(what, names[:1], cells, found=found_in)


def _match_note(
    search: Callable[[str], re.Match[str] | None], headers: Sequence[bytes], record: int
) -> str:
    """Return a message with the match of a pattern in a header, and a hint on patterns."""
    header = decode_header(headers[record])
    match = search(header)
    text = "" if match is None else get_match_text(match, "label")
    found = "nothing" if match is None else repr(text)
    if not text:
        advice = r"write \| for a bar and \. for a point, and the label in parentheses"
    else:
        advice = 'put the label in parentheses, as in "class=(\\w+)"'
    return f"the match in the header {header!r} is {found}: {advice}"


def _find_duplicate_id(ids: list[str]) -> tuple[int, int] | None:
    """Return the first two records with the same id; None if ids are unique."""
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
    unlabelled: list[int],
    key: str,
) -> LabelError:
    names = join_first_names([ids[i] for i in unlabelled])
    reason = (
        "" if source.is_each else _blank_note(source, key) or _spelling_note(source, key)
    )
    remedy = '; pass Labels(..., unlabelled="skip") (--unlabelled skip) to skip records'
    if len(unlabelled) == len(ids):
        note = _partial_id_note(source, ids) or _label_ids_note(source)
        remedy = "" if reason else source.note(unlabelled[0]) or note
    elif source.found is not None:
        remedy = source.note(unlabelled[0]) + remedy
    return LabelError(
        f"{records.place(unlabelled[0])[0]}: {len(unlabelled):,} of {len(ids):,} sequences "
        f"have no label in {source.what}: {names}{missing_note(source, key)}{reason}"
        f"{remedy}"
    )


def _label_ids_note(source: LabelSource) -> str:
    """Return a hint with some ids of the labels, if no label has the id of a sequence."""
    if not source.cells:
        return "; the source has no labels"
    examples = ", ".join(map(repr, list(source.cells)[:MAX_EXAMPLES]))
    if source.is_of_index:
        return (
            f"; the index has {examples}, ...: for labels in the order of the sequences "
            "pass labels.to_numpy()"
        )
    return (
        f"; the labels have the ids {examples}, ...: choose another column with "
        "id_column of Labels (--id-column)"
    )


def _partial_id_note(source: LabelSource, ids: list[str]) -> str:
    """Return a hint if the id of a label is only a part of the id of a record."""
    parts = ids[0].split("|")
    at = next((at for at, part in enumerate(parts) if at and part in source.cells), None)
    if at is None:
        return ""
    pattern = (
        r"\|(.+?)\|" if at == 1 and len(parts) > at + 1 else rf"(?:.*?\|){{{at}}}([^|\s]+)"
    )
    return (
        f"; the labels contain {parts[at]!r}, not {ids[0]!r}: pass id_from_header="
        f"r'{pattern}' (--id-from-header '{pattern}')"
    )


def _blank_note(source: LabelSource, name: str) -> str:
    """Return a hint that ids end at the first blank, if ids of labels have blanks."""
    whole = next((key for key in source.cells if key.split(None, 1)[:1] == [name]), None)
    if whole in {None, name}:
        return ""
    return (
        f" (the labels have {whole!r}, but an id ends at the first blank: write only the "
        "first word in the labels)"
    )


def _spelling_note(source: LabelSource, name: str) -> str:
    """Return a hint if an id of the labels begins with > or @, or differs in case."""
    headers = (key for key in source.cells if key.startswith((">", "@")))
    marked = next((key for key in headers if key[1:].split(None, 1)[:1] == [name]), None)
    if marked is not None:
        return (
            f" (the labels have {marked!r}: write {name!r} there, because {marked[0]!r} "
            "begins a header and is not part of the id)"
        )
    folded = name.casefold()
    other = next((key for key in source.cells if key.casefold() == folded), None)
    if other is None:
        return ""
    return (
        f" (the labels have {other!r}, which differs only in case: write ids in the labels "
        "as in the sequences)"
    )


def join_labels(labels: Any, ids: list[str], *, noun: str = "records") -> LabelColumn:
    """Return the labels of the records of a custom source.

    Args:
        labels: A `Labels`, paths of tables, a data frame, a dict from id to label, or a
            list in the order of the records. With None or False, there are no labels.
        ids: The id of each record.
        noun: The plural name of the records, for messages.

    Returns:
        The labels, to pass to ``Dataset(source, labels=)``.

    Raises:
        LabelError: Labels are missing or duplicated, or do not fit the task.
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
    if not source.is_each and (double := _find_duplicate_id(ids)):
        raise LabelError(
            f"id {ids[double[0]]!r} occurs twice: {noun} {double[0]} and {double[1]}; "
            "labels by id need distinct ids: pass a list of labels in the order of the "
            "records"
        )

    def missing_error(unlabelled: list[int]) -> LabelError:
        listed = join_first_names([ids[row] for row in unlabelled])
        remedy = '; pass Labels(..., unlabelled="skip") (--unlabelled skip) to skip records'
        return LabelError(
            f"{len(unlabelled):,} of {len(ids):,} {noun} have no label in {source.what}: "
            f"{listed}{missing_note(source, ids[unlabelled[0]])}"
            f"{'' if len(unlabelled) == len(ids) else remedy}"
        )

    one = None if source.is_each else "sequence"
    return label_rows(source, labels, keys, ids=ids, noun=one, missing_error=missing_error)


def _rows_source(labels: Labels, count: int) -> LabelSource:
    source = labels.source
    is_by_id = isinstance(source, (str, os.PathLike, Mapping)) or (
        Frame.of(source) is not None or frame_index(source) is not None
    )
    rows: list[Any] = [] if is_by_id else list(labels.source)
    is_paths = bool(rows) and all(isinstance(row, (str, os.PathLike)) for row in rows)
    # If all strings of a list are existing paths, the files are read as tables.
    if is_by_id or (is_paths and all(os.path.exists(row) for row in rows)):  # noqa: PTH110 - any path
        return read_labels_by_id(labels)
    return ordered_source(rows, count, tuple(labels.label_column or ("label",)))
