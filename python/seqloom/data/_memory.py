"""Sequences that are in memory, as records: lists, dicts, arrays, data frames."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import shown
from seqloom._ragged import Ragged
from seqloom.data._frame import Frame, index_of, is_array, values_of
from seqloom.data._letters import letters_of_rows
from seqloom.errors import ArgumentError, FormatError
from seqloom.io import SequenceBatch

if TYPE_CHECKING:
    from seqloom.data._source_options import SourceOptions

# A text of a list is a sequence, not a path, if it has letters only: in upper case, or of
# nucleotides where some are soft-masked.
_SEQUENCE = re.compile(r"[A-Z*.-]*|[ACGTUNacgtun*.-]*")
_LOOKED_AT = 100
_LONGEST_PATH = 255
# The axes of an array that has a byte for each letter.
_OF_LETTERS = 2
_Array: Any = np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Records in memory.

    Args:
        name: What stands for the name of a file.
        batch: The records.
        frame: The table they come from, with labels perhaps.

    Examples:
        >>> from seqloom.data._source_options import SourceOptions
        >>> held_records(["ACGT", "GG"], SourceOptions()).batch.ids
        ['0', '1']
    """

    name: str
    batch: SequenceBatch
    frame: Frame | None = None


def held_records(data: Any, options: SourceOptions) -> Held | None:
    """Takes records from memory.

    Args:
        data: Sequences, or what names files.
        options: Which columns of a table are meant, and what becomes of blanks.

    Returns:
        The records; None where files are meant.

    Raises:
        FormatError: A sequence is missing, or is none.
        ArgumentError: The value is neither sequences nor files.
    """
    if isinstance(data, (str, os.PathLike, bytes)) or hasattr(data, "read"):
        return None
    name = f"<{type(data).__name__}>"
    frame = Frame.of(data)
    if frame is not None and not _is_by_id(frame, options):
        return from_frame(name, frame, options)
    if isinstance(data, Mapping):
        by_id: dict[Any, Any] = dict(data)  # pyright: ignore[reportUnknownArgumentType]
        _refuse_parts(by_id)
        _check_first_words(name, list(by_id))
        return _held(name, zip(by_id, by_id.values(), strict=True), options)
    rows = _rows(data)
    ids = index_of(data) or list(range(len(rows)))
    _check_first_words(name, ids)
    return (
        None
        if not rows or _are_paths(rows)
        else _from_rows(name, rows, ids, options=options)
    )


def _refuse_parts(by_id: dict[Any, Any]) -> None:
    """Refuses several data sets at once, such as the parts of a published one."""
    if any(Frame.of(value) is not None for value in by_id.values()):
        parts = ", ".join(map(str, by_id))
        raise ArgumentError(f"sequences are the parts {parts}: give one of them")


def _is_by_id(frame: Frame, options: SourceOptions) -> bool:
    """Tells a dict from id to letters, from one of columns."""
    return isinstance(frame.table, Mapping) and options.sequence_column not in frame.names


def from_frame(name: str, frame: Frame, options: SourceOptions) -> Held:
    """Takes the records of a table: sequences, and ids if it has such a column."""
    letters = frame.column(options.find_sequences(name, frame.names))
    has_ids = options.find_ids(name, frame.names)
    ids = frame.column(options.id_column) if has_ids else frame.index()
    ids = list(range(len(letters))) if ids is None else ids
    _check_first_words(name, ids)
    pairs = zip(ids, letters, strict=True)
    return Held(name, _held(name, pairs, options).batch, frame)


def _check_first_words(name: str, ids: list[Any]) -> None:
    """Refuses ids that differ behind a blank alone: the first word is the id."""
    whole: dict[str, str] = {}
    for i, text in enumerate(map(str, ids)):
        word = text.split(None, 1)[0] if text.strip() else text
        if (first := whole.setdefault(word, text)) != text:
            raise FormatError(
                f"{name}: record {i}: the ids {shown(first)} and {shown(text)} have the "
                "same first word, which alone is the id: write ids without blanks",
                path=name,
                record=i,
            )


def _rows(data: Any) -> list[Any]:
    """Lists the rows of an array, a series, or whatever else can be gone through."""
    if isinstance(data, _Array) and data.ndim == _OF_LETTERS and data.dtype.itemsize == 1:
        return [row.tobytes() for row in data]
    if is_array(data):
        return values_of(data)
    if not isinstance(data, Iterable):
        raise ArgumentError(
            "sequences must be a file, several files, a list, a dict, an array or a data "
            f"frame, got {shown(data)}"
        )
    return list(data)  # pyright: ignore[reportUnknownArgumentType]


def _are_paths(rows: list[Any]) -> bool:
    """Tells names of files from sequences."""
    if any(isinstance(row, os.PathLike) for row in islice(rows, _LOOKED_AT)):
        return True
    texts = [row for row in rows if isinstance(row, str)]
    if len(texts) < len(rows):
        return False
    if not any(texts) or not all(map(_SEQUENCE.fullmatch, texts)):
        return True
    return any(map(_exists, islice(texts, _LOOKED_AT)))


def _exists(text: str) -> bool:
    """Tells whether a file has this name."""
    return 0 < len(text) <= _LONGEST_PATH and Path(text).exists()


def _from_rows(
    name: str, rows: list[Any], ids: list[Any], *, options: SourceOptions
) -> Held:
    """Takes sequences, pairs of id and sequence, records, or dicts of columns."""
    first = rows[0]
    if isinstance(first, Mapping):
        names = list(dict.fromkeys(key for row in rows for key in row))
        columns = {key: [row.get(key) for row in rows] for key in names}
        return from_frame(name, Frame(name, names, columns), options)
    if hasattr(first, "sequence"):
        return _from_records(name, rows, options)
    pairs = zip(ids, rows, strict=True)
    if hasattr(first, "seq"):
        pairs = ((row.id, row.seq) for row in rows)
    elif isinstance(first, (tuple, list)):
        pairs = (_pair(name, row) for row in rows)
    return _held(name, pairs, options)


def _pair(name: str, row: Any) -> tuple[Any, Any]:
    """Takes id and sequence."""
    is_row = isinstance(row, (tuple, list))
    cells: list[Any] = list(row) if is_row else []  # pyright: ignore[reportUnknownArgumentType]
    if len(cells) != 2:  # noqa: PLR2004 - a pair
        raise ArgumentError(
            f"{name}: expected pairs of id and sequence, got {shown(row)}; for more "
            'columns give dicts such as {"sequence": "ACGT", "label": 1}'
        )
    return cells[0], cells[1]


def _from_records(name: str, rows: list[Any], options: SourceOptions) -> Held:
    """Takes records as `sl.io.open_sequences` gives them, qualities and all."""
    held = _held(name, ((row.id, row.sequence) for row in rows), options)
    headers = [row.header or f"{row.id} {row.description}".strip().encode() for row in rows]
    qualities = [row.quality for row in rows if row.quality is not None]
    column = Ragged.from_list(qualities) if len(qualities) == len(rows) else None
    batch = SequenceBatch(Ragged.from_list(headers), held.batch.sequences, column)
    _check_qualities(name, batch)
    return Held(name, batch)


def _check_qualities(name: str, batch: SequenceBatch) -> None:
    """Refuses a record that has more letters than qualities, or fewer."""
    if batch.qualities is None:
        return
    differs = batch.qualities.lengths != batch.sequences.lengths
    if differs.any():
        row = int(differs.argmax())
        raise FormatError(
            f"{name}: record {row} ({batch.ids[row]}): "
            f"{batch.qualities.lengths[row]:,} qualities for "
            f"{batch.sequences.lengths[row]:,} letters",
            path=name,
            record=row,
        )


def _held(name: str, pairs: Iterable[tuple[Any, Any]], options: SourceOptions) -> Held:
    """Puts ids and letters into columns."""
    listed = list(pairs)
    ids = [str(name) for name, _ in listed]
    rows = [letters for _, letters in listed]
    sequences = letters_of_rows(name, ids, rows, whitespace=options.whitespace)
    headers = Ragged.from_list([each.encode() for each in ids])
    return Held(name, SequenceBatch(headers, sequences))
