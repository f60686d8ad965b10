"""Tables of labels in Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seqloom.data._frame import Frame
from seqloom.data.label._header_line import column_position
from seqloom.errors import FormatError, MissingExtraError

_MARK = b"PAR1"


def is_parquet(path: str) -> bool:
    """Tells a Parquet file by its first bytes."""
    with Path(path).open("rb") as file:
        return file.read(len(_MARK)) == _MARK


def parquet_frame(path: str, columns: tuple[str, ...] | None = None) -> Frame | None:
    """Reads columns by their names, all where none are named; None: it is no Parquet."""
    if not is_parquet(path):
        return None
    table = _table(path, columns)
    return Frame(path, list(table.column_names), table)


def _table(path: str, columns: tuple[str, ...] | None) -> Any:
    """Reads columns by their names; None means all."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(
            f"{path}: Parquet needs pyarrow: pip install pyarrow"
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
