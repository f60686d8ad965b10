"""One shard of embeddings, opened."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._files import check_uncut
from seqloom._ragged import Ragged, offsets_of
from seqloom.errors import FileError, FormatError, RecordError
from seqloom.infer.embedding._shard_file import import_arrow
from seqloom.record import Safetensors, load as load_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from seqloom.infer.embedding._folder import OutputFolder
    from seqloom.infer.embedding._shard_file import Done


@dataclass(slots=True)
class HeldShard:
    """The columns of one shard; arrays of safetensors are views of the file."""

    ids: list[str]
    lengths: NDArray[np.int64]
    arrays: Mapping[str, NDArray[Any]]
    is_by_residue: bool
    path: Path | None = None  # of the file that is mapped
    size: int = 0

    def check(self) -> None:
        """Refuses a file that was cut since it was opened."""
        if self.path is not None:
            check_uncut(self.path, self.size)

    def rows(self, name: str, record: int) -> NDArray[Any]:
        """Returns the row of a record, or the rows of its residues."""
        array = self.arrays[name]
        if not self.is_by_residue:
            return array[record]
        offsets = offsets_of(self.lengths)
        return array[int(offsets[record]) : int(offsets[record + 1])]


def open_shard(
    folder: OutputFolder, done: Done, layers: Sequence[str], *, is_by_residue: bool
) -> HeldShard:
    """Opens the file of a shard and compares it with its checksums."""
    where, size = folder.where(done.file), folder.size(done.file)
    if size != done.bytes:
        found = "is gone" if size is None else f"has {size:,} bytes"
        raise FileError(
            f"{where}: {found}, its .done file says {done.bytes:,}; delete both, and the "
            "same `embed` computes the shard again"
        )
    shard = _open(folder, done, is_by_residue=is_by_residue)
    if missing := next((name for name in layers if name not in shard.arrays), None):
        raise FormatError(f"{where}: has no {missing}, which plan.json names", path=where)
    return shard


def _open(folder: OutputFolder, done: Done, *, is_by_residue: bool) -> HeldShard:
    """Opens a table, or arrays of safetensors."""
    if done.file.endswith(".parquet"):
        return _open_parquet(folder, done.file, is_by_residue=is_by_residue)
    where = folder.where(done.file)
    try:
        arrays = _read_arrays(folder, done.file)
    except RecordError as error:
        stem = done.file.partition(".")[0]
        raise FormatError(
            f"{where}: {error}; delete {done.file} and {stem}.done, and the same `embed` "
            "computes the shard again",
            path=where,
        ) from error
    ids = Ragged(arrays["ids"], arrays["id_offsets"]).to_list()
    names = [name.decode() for name in ids]
    path = folder.local(done.file)
    return HeldShard(names, arrays["lengths"], arrays, is_by_residue, path, done.bytes)


def _read_arrays(folder: OutputFolder, name: str) -> dict[str, NDArray[Any]]:
    """Reads and checks the arrays of safetensors, views of a file where it is one."""
    if (path := folder.local(name)) is not None:
        record = load_record(path, mapped=True)
    else:
        record = Safetensors().from_bytes(folder.read(name))
    record.verify()
    return {name: np.asarray(array) for name, array in record.items()}


def _open_parquet(folder: OutputFolder, name: str, *, is_by_residue: bool) -> HeldShard:
    """Reads a table."""
    import_arrow()
    from pyarrow import parquet

    read_table = cast("Any", parquet).read_table
    table: Any = read_table(io.BytesIO(folder.read(name)))
    names = [name for name in table.column_names if name.startswith("embedding")]
    arrays = {
        name.replace("embedding", "embeddings", 1): _flatten(
            table[name], is_by_residue=is_by_residue
        )
        for name in names
    }
    lengths = table["length"].to_numpy()
    return HeldShard(table["id"].to_pylist(), lengths, arrays, is_by_residue)


def _flatten(column: Any, *, is_by_residue: bool) -> NDArray[Any]:
    """Reads a column of lists as one array of rows."""
    values = column.combine_chunks()
    if is_by_residue:
        values = values.flatten()
    width = values.type.list_size
    return values.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
