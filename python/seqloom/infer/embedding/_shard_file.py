"""Write shards as safetensors or Parquet files, each with a marker file when finished."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np

from seqloom._files import check_not_truncated
from seqloom._ragged import Ragged, lengths_to_offsets
from seqloom.errors import FileError, FormatError, RecordError
from seqloom.infer.embedding._settings import FORMATS, import_arrow
from seqloom.record import Record, Safetensors, load as load_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from seqloom.infer.embedding._folder import OutputFolder
    from seqloom.infer.embedding._plan import EmbedShard
    from seqloom.infer.embedding._rows import ShardRows


@dataclass(frozen=True, slots=True)
class ShardMarker:
    """The content of the marker file (``.done``) of a shard."""

    file: str
    sha256: str
    bytes: int
    records: int
    first: int  # ordinal of the first record
    last: int
    content: str  # hash of the ids and residues
    plan: str  # the hash of plan.json


def array_name(layer: int, layers: tuple[int, ...]) -> str:
    """Return the array name of a layer, without a number if there is only one layer."""
    return "embeddings" if len(layers) == 1 else f"embeddings.{layer}"


def encode_shard(rows: ShardRows, layers: tuple[int, ...], kind: str) -> bytes:
    """Return the bytes of a shard file; equal rows result in equal bytes."""
    arrays = {array_name(layer, layers): array for layer, array in rows.arrays().items()}
    first = rows.shard.ordinal
    ordinals = np.arange(first, first + len(rows.shard))
    columns: dict[str, Any] = {"ordinals": ordinals, "lengths": rows.lengths}
    ids = [str(name) for name in rows.ids]
    if kind == "parquet":
        return _encode_parquet(columns, ids=ids, arrays=arrays, rows=rows)
    text = Ragged.from_list([name.encode() for name in ids])
    columns |= {"ids": text.data, "id_offsets": text.offsets}
    return Safetensors().to_bytes(Record({**columns, **arrays}))


def _encode_parquet(
    columns: dict[str, Any], *, ids: list[str], arrays: dict[str, Any], rows: ShardRows
) -> bytes:
    """Return the bytes of a Parquet table with a row for each record."""
    arrow = import_arrow()
    singular = {name.removesuffix("s"): array for name, array in columns.items()}
    table = {"id": ids, **singular}
    for name, array in arrays.items():
        flat = arrow.array(array.reshape(-1))
        values = arrow.FixedSizeListArray.from_arrays(flat, array.shape[1])
        if rows.is_by_residue:
            values = arrow.LargeListArray.from_arrays(rows.offsets, values)
        table[name.replace("embeddings", "embedding")] = values
    from pyarrow import parquet

    write_table = cast("Any", parquet).write_table
    file = io.BytesIO()
    write_table(arrow.table(table), file, compression="none")
    return file.getvalue()


def publish_shard(
    folder: OutputFolder,
    shard: EmbedShard,
    data: bytes,
    *,
    name: str,
    content: str,
    plan: str,
) -> bool:
    """Write a shard, then its marker file; return False if the marker already exists."""
    if not folder.create(name, data):
        # Another process has written the shard but not yet its marker, or was killed
        # before it could write the marker. The shard is complete, so only the marker is
        # written.
        data = folder.read(name)
    done = ShardMarker(
        file=name,
        sha256=hashlib.sha256(data).hexdigest(),
        bytes=len(data),
        records=len(shard),
        first=shard.ordinal,
        last=shard.ordinal + len(shard) - 1,
        content=content,
        plan=plan,
    )
    marker = json.dumps(asdict(done), indent=1).encode()
    return folder.create(f"{shard.name}.done", marker)


def read_marker(folder: OutputFolder, shard: EmbedShard) -> ShardMarker:
    """Read the marker file of a shard."""
    name = f"{shard.name}.done"
    try:
        done = msgspec.convert(json.loads(folder.read(name)), ShardMarker)
        _require_matching_marker(done, shard)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise FormatError(
            f"{folder.where(name)}: cannot be read ({error}); delete it, and repeat the "
            "same call of `embed` to write it again"
        ) from None
    return done


def _require_matching_marker(done: ShardMarker, shard: EmbedShard) -> None:
    """Raise if the content of a marker file does not match its shard or input file."""
    last = shard.ordinal + len(shard) - 1
    is_here = done.file in {f"{shard.name}.{kind}" for kind in FORMATS}
    if not is_here or (done.first, done.last) != (shard.ordinal, last):
        raise ValueError("it belongs to another shard")


@dataclass(slots=True)
class OpenShard:
    """The columns of an open shard; arrays of safetensors files are memory-mapped."""

    ids: list[str]
    lengths: NDArray[np.int64]
    arrays: Mapping[str, NDArray[Any]]
    is_by_residue: bool
    path: Path | None = None  # the path of the memory-mapped file
    size: int = 0

    def check(self) -> None:
        """Raise if the file was truncated since it was opened."""
        if self.path is not None:
            check_not_truncated(self.path, self.size)

    def rows(self, name: str, record: int) -> NDArray[Any]:
        """Return the embedding of a record, or of each of its residues."""
        array = self.arrays[name]
        if not self.is_by_residue:
            return array[record]
        offsets = lengths_to_offsets(self.lengths)
        return array[int(offsets[record]) : int(offsets[record + 1])]


def open_shard(
    folder: OutputFolder, done: ShardMarker, layers: Sequence[str], *, is_by_residue: bool
) -> OpenShard:
    """Open the file of a shard and verify its checksums."""
    where, size = folder.where(done.file), folder.size(done.file)
    if size != done.bytes:
        found = "is missing" if size is None else f"has {size:,} bytes"
        raise FileError(
            f"{where}: {found}, but its .done file records {done.bytes:,}; delete both, "
            "and the same call of `embed` computes the shard again"
        )
    shard = _load(folder, done, is_by_residue=is_by_residue)
    if missing := next((name for name in layers if name not in shard.arrays), None):
        raise FormatError(f"{where}: has no {missing}, which plan.json lists", path=where)
    return shard


def _load(folder: OutputFolder, done: ShardMarker, *, is_by_residue: bool) -> OpenShard:
    """Open a shard in Parquet or safetensors format."""
    if done.file.endswith(".parquet"):
        return _open_parquet(folder, done.file, is_by_residue=is_by_residue)
    where = folder.where(done.file)
    try:
        arrays = _read_arrays(folder, done.file)
    except RecordError as error:
        stem = done.file.partition(".")[0]
        raise FormatError(
            f"{where}: {error}; delete {done.file} and {stem}.done, and the same call of "
            "`embed` computes the shard again",
            path=where,
        ) from error
    ids = Ragged(arrays["ids"], arrays["id_offsets"]).to_list()
    names = [name.decode() for name in ids]
    path = folder.local_path(done.file)
    return OpenShard(names, arrays["lengths"], arrays, is_by_residue, path, done.bytes)


def _read_arrays(folder: OutputFolder, name: str) -> dict[str, NDArray[Any]]:
    """Read and verify the arrays of a safetensors file; memory-map a local file."""
    if (path := folder.local_path(name)) is not None:
        record = load_record(path, mapped=True)
    else:
        record = Safetensors().from_bytes(folder.read(name))
    record.verify()
    return {name: np.asarray(array) for name, array in record.items()}


def _open_parquet(folder: OutputFolder, name: str, *, is_by_residue: bool) -> OpenShard:
    """Open a Parquet table."""
    import_arrow()
    from pyarrow import parquet

    read_table = cast("Any", parquet).read_table
    table: Any = read_table(io.BytesIO(folder.read(name)))
    names = [name for name in table.column_names if name.startswith("embedding")]
    arrays = {
        name.replace("embedding", "embeddings", 1): _stack_column(
            table[name], is_by_residue=is_by_residue
        )
        for name in names
    }
    lengths = table["length"].to_numpy()
    return OpenShard(table["id"].to_pylist(), lengths, arrays, is_by_residue)


def _stack_column(column: Any, *, is_by_residue: bool) -> NDArray[Any]:
    """Convert a column of lists to one two-dimensional array."""
    values = column.combine_chunks()
    if is_by_residue:
        values = values.flatten()
    width = values.type.list_size
    return values.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
