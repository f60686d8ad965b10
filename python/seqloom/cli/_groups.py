"""Groups of records that a split does not cut: families, donors, homologous sequences."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.cli._check import are_tables
from seqloom.cli._options import LabelOptions, PartOptions, SequenceOptions
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from seqloom.data import Dataset, Labels

_DEFAULT_COLUMN = "group"


def groups_of(
    whole: "Dataset",
    files: Sequence[Path],
    parts: PartOptions,
    *,
    labels: LabelOptions,
    sequences: SequenceOptions,
) -> Any:
    """Returns the groups that --groups or --group-column names; None without either."""
    from seqloom.data import Labels

    column = parts.group_column or _DEFAULT_COLUMN
    tables = parts.groups or labels.labels
    if not parts.groups:
        if parts.group_column is None:
            return None
        try:
            return whole.group(column)
        except ArgumentError as error:
            if not tables and not _has_tables(whole, files, sequences):
                error.add_note("--groups TABLE names a table with a column of groups")
                raise
    id_column = labels.id_column or ("IID" if whole.noun == "samples" else "id")
    options = Labels(list(tables), id_column=id_column, label_column=column)
    return _of_tables(options) if tables else _of_files(whole, files, column)


def _has_tables(
    whole: "Dataset", files: Sequence[Path], sequences: SequenceOptions
) -> bool:
    """Returns True if the records are the rows of tables."""
    is_of_sequences = getattr(whole, "noun", "") == "sequences"
    return is_of_sequences and are_tables(files, sequences)


def _of_tables(tables: "Labels") -> dict[str, Any]:
    """Reads the group of each id from tables."""
    from seqloom.data.label._source import labels_by_id

    cells = labels_by_id(tables).cells
    return {name: _group(group) for name, (group, *_) in cells.items()}


def _of_files(whole: "Dataset", files: Sequence[Path], column: str) -> list[Any]:
    """Takes a column of the tables that sequences are in."""
    from seqloom.data.label._table import column_position, read_frame

    frames = [read_frame(str(file)) for file in files]
    for frame in frames:
        column_position(frame.what, frame.names, column, hint="--group-column")
    cells = list(chain.from_iterable(frame.column(column) for frame in frames))
    return [_group(cells[row]) for row in whole.group("ordinal")]


def _group(cell: Any) -> Any:
    """Returns a group; None for a mark of a missing value."""
    from seqloom.data.label._labels import MISSING

    return None if cell in MISSING else cell
