"""Tables of labels in Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seqloom.data.label._header_line import column_position
from seqloom.data.label._missing import is_nothing
from seqloom.errors import FormatError, LabelError, MissingExtraError

_MARK = b"PAR1"

Rows = tuple[list[str], list[tuple[str, ...]], list[int]]


def is_parquet(path: str) -> bool:
    """Tells a Parquet file by its first bytes."""
    with Path(path).open("rb") as file:
        return file.read(len(_MARK)) == _MARK


def read_parquet(path: str, columns: tuple[str, ...]) -> Rows:
    """Reads the id column and others: ids, cells as text, and the number of each row."""
    table = _table(path, columns)
    ids, *rest = [_texts(table.column(i).to_pylist()) for i in range(len(columns))]
    if "" in ids:
        raise LabelError(f"{path}, row {ids.index('') + 1}: no {columns[0]}")
    return ids, list(zip(*rest, strict=True)), list(range(1, len(ids) + 1))


def whole_parquet(path: str) -> tuple[list[str], Any]:
    """Reads all columns, with their names."""
    table = _table(path, None)
    return list(table.column_names), table


def _table(path: str, columns: tuple[str, ...] | None) -> Any:
    """Reads columns by their names; None means all."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(
            f"{path}: Parquet needs pyarrow: pip install seqloom[parquet]"
        ) from error
    # The library has no types.
    read: Any = parquet.ParquetFile
    try:
        with read(path) as file:
            names: list[str] = list(file.schema_arrow.names)
            columns = tuple(names) if columns is None else columns
            wanted = [names[column_position(path, names, name)] for name in columns]
            return file.read(columns=list(dict.fromkeys(wanted))).select(wanted)
    except pa.ArrowInvalid as error:
        raise FormatError(f"{path}: no whole Parquet file: {error}", path=path) from error


def _texts(values: list[Any]) -> list[str]:
    """Writes cells as a text table would hold them."""
    return [_text(value) for value in values]


def _text(value: Any) -> str:
    """Writes one cell; truth is 1 and nothing is empty."""
    if is_nothing(value):
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value).strip()
