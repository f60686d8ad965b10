"""Shards as files, safetensors or Parquet, and the markers that say they are finished."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np

from seqloom._ragged import Ragged
from seqloom.errors import ArgumentError, FormatError, MissingExtraError
from seqloom.record import Record, Safetensors

if TYPE_CHECKING:
    from seqloom.infer.embedding._folder import OutputFolder
    from seqloom.infer.embedding._plan import Shard
    from seqloom.infer.embedding._rows import ShardRows

FORMATS = ("safetensors", "parquet")


@dataclass(frozen=True, slots=True)
class Done:
    """What a ``.done`` file says of its shard."""

    file: str
    sha256: str
    bytes: int
    records: int
    first: int  # ordinals
    last: int
    content: str  # the hash of the ids and letters that were read
    plan: str  # the hash of plan.json


def check_format(name: str) -> str:
    """Refuses a format that there is not, or that needs a package that is not there."""
    if name not in FORMATS:
        raise ArgumentError(f'format must be "safetensors" or "parquet", got {name!r}')
    if name == "parquet":
        import_arrow()
    return name


def name_of_array(layer: int, layers: tuple[int, ...]) -> str:
    """Names the array of a layer: the only one needs no number."""
    return "embeddings" if len(layers) == 1 else f"embeddings.{layer}"


def encode_shard(rows: ShardRows, layers: tuple[int, ...], kind: str) -> bytes:
    """Writes a shard to memory; the same rows give the same bytes."""
    arrays = {name_of_array(layer, layers): array for layer, array in rows.arrays().items()}
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
    """Writes a table with a row for each record."""
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


def import_arrow() -> Any:
    """Imports pyarrow."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError(
            'format="parquet" needs pyarrow: pip install pyarrow'
        ) from error
    return pa


def publish(
    folder: OutputFolder, shard: Shard, data: bytes, *, name: str, content: str, plan: str
) -> bool:
    """Makes the file of a shard and then its marker; False if another process was first."""
    if not folder.create(name, [data]):
        # Another process, or one that was killed before it wrote the marker, made it:
        # the marker describes the file that is there, which is whole.
        data = folder.read(name)
    done = Done(
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
    return folder.create(f"{shard.name}.done", [marker])


def read_done(folder: OutputFolder, shard: Shard) -> Done:
    """Reads the marker of a shard."""
    name = f"{shard.name}.done"
    try:
        done = msgspec.convert(json.loads(folder.read(name)), Done)
        _check_same(done, shard)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise FormatError(
            f"{folder.where(name)}: cannot be read ({error}); delete it, and the same "
            "call of `embed` makes it again"
        ) from None
    return done


def _check_same(done: Done, shard: Shard) -> None:
    """Refuses the marker of another shard, or of a file elsewhere."""
    last = shard.ordinal + len(shard) - 1
    is_here = done.file in {f"{shard.name}.{kind}" for kind in FORMATS}
    if not is_here or (done.first, done.last) != (shard.ordinal, last):
        raise ValueError("it is of another shard")
