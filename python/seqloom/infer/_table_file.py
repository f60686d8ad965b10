"""Tables as files: what a file's name says is what is written."""

from __future__ import annotations

import csv
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from seqloom._files import atomic_path
from seqloom.errors import ArgumentError, MissingExtraError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    Columns = Mapping[str, Any]

# Endings that name another format than a table of text or Parquet.
_OTHERS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "; a spreadsheet program opens .csv"),
    **dict.fromkeys((".gz", ".bz2", ".xz", ".zst", ".zip"), "; compress it afterwards"),
    **dict.fromkeys((".json", ".jsonl", ".npz", ".npy", ".feather", ".arrow"), ""),
}


def check_table_name(path: str | os.PathLike[str]) -> str:
    """Returns the format that a file's name asks for: tsv, csv or parquet."""
    ending = PurePath(path).suffix.lower()
    if ending in _OTHERS:
        raise ArgumentError(
            f"{path}: a table is written as .tsv, .csv or .parquet, not as {ending}"
            f"{_OTHERS[ending]}"
        )
    if ending == ".parquet":
        _parquet(path)
    return ending[1:] if ending in {".csv", ".parquet"} else "tsv"


def write_table(
    path: Path, rows: Iterator[list[str]], columns: Callable[[], Columns]
) -> None:
    """Writes rows of text, the first of which is the head, or columns as Parquet."""
    kind = check_table_name(path)
    if kind == "parquet":
        library, parquet = _parquet(path)
        table = library.table(dict(columns()))
        with atomic_path(path) as part:
            parquet.write_table(table, part)
        return
    with (
        atomic_path(path) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        if kind == "csv":
            csv.writer(file, lineterminator="\n").writerows(rows)
        else:
            file.writelines("\t".join(row) + "\n" for row in rows)


def _parquet(path: object) -> tuple[Any, Any]:
    """Imports pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(
            f"{path}: Parquet needs pyarrow: pip install pyarrow; or give a name "
            "that ends in .tsv or .csv"
        ) from error
    return pa, parquet
