"""The function `load`, which opens embeddings and reads shards when they are needed."""

from __future__ import annotations

import os
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_integer, quote
from seqloom.errors import (
    ArgumentError,
    FileError,
    IdError,
    MissingFileError,
    OutOfRangeError,
)
from seqloom.infer.embedding._folder import open_folder
from seqloom.infer.embedding._plan import read_plan
from seqloom.infer.embedding._shard_file import (
    OpenShard,
    array_name,
    open_shard,
    read_marker,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from seqloom.infer.embedding._folder import OutputFolder

_MAX_ORDINAL = 1 << 62  # larger than any ordinal


class Embeddings:
    """The embeddings in a folder, selected by the id or ordinal of a record.

    The ordinal is the index of a record in the input, counted from 0. Ordinals distinguish
    records that have the same id.

    Args:
        folder: The folder.
        partial: If True, the folder of an unfinished job is also opened.

    Attributes:
        layers: The layers of the embeddings.
        pool: The pooling of residues, as in `embed`; with ``"none"`` a record has a row for
            each residue.
        model: The name and checksum of the model.
        ordinals: The ordinals of the records, ``(n,)``.
        ids: The ids of the records.
        lengths: The number of residues of each record, ``(n,)``.

    Examples:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> import seqloom as sl
        >>> _ = Path("two.fa").write_text(">x\\nMKTA\\n>y\\nMK\\n")
        >>> def one_hot(batch):
        ...     return np.eye(33, dtype=np.float32)[batch["input_ids"]]
        >>> _ = sl.infer.embed(one_hot, "two.fa", out="residues", pool="none")
        >>> found = sl.infer.load("residues")
        >>> found["x"].shape, found[1].shape, found.lengths.tolist()
        ((4, 33), (2, 33), [4, 2])
    """

    def __init__(self, folder: OutputFolder, *, partial: bool = False) -> None:
        self._folder = folder
        plan = read_plan(folder)
        names = folder.names()
        shards = [it for it in plan.shards if f"{it.name}.done" in names]
        if len(shards) < len(plan.shards) and not partial:
            raise FileError(
                f"{folder.path}: {len(plan.shards) - len(shards)} of {len(plan.shards)} "
                "shards are not finished; repeat the same call of `embed`, or pass "
                "partial=True to open the finished shards"
            )
        self.layers, self.pool = plan.rules.layers, plan.rules.pool
        self.model = plan.rules.model
        self._records = plan.records
        self._done = [read_marker(folder, shard) for shard in shards]
        self._firsts = [done.first for done in self._done]
        ranges = [np.arange(done.first, done.last + 1) for done in self._done]
        self.ordinals: NDArray[np.int64] = np.concatenate([np.arange(0), *ranges])
        self._held: dict[int, OpenShard] = {}

    def __len__(self) -> int:
        return len(self.ordinals)

    def __repr__(self) -> str:
        return f"Embeddings({str(self._folder.path)!r}): {len(self):,} records"

    def __getitem__(self, record: int | str) -> NDArray[Any]:
        return self.get(record)

    def __contains__(self, record: object) -> bool:
        if isinstance(record, str):
            return record in self._ordinals_by_id
        return record in self.ordinals

    def get(self, record: int | str, *, layer: int | None = None) -> NDArray[Any]:
        """Read the embedding of a record.

        Args:
            record: The id or the ordinal of the record.
            layer: The index of a saved layer, which is required if several layers were
                saved.

        Returns:
            An array ``(width,)``, or ``(residues, width)`` with ``pool="none"``. For
            safetensors files on a disk, the array is a read-only view of the file.

        Raises:
            ArgumentError: ``layer`` was not saved, or is missing although several
                layers were saved; or ``record`` is neither an id nor an integer.
            IdError: No record has this id, or several records have this id.
            OutOfRangeError: No record has this ordinal.
            FileError: A shard was truncated since it was opened.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> _ = Path("a1.fa").write_text(">x\\nMKT\\n")
            >>> def count_tokens(batch):
            ...     return batch["input_ids"][:, None].astype("float32")
            >>> _ = sl.infer.embed(count_tokens, "a1.fa", out="e1")
            >>> sl.infer.load("e1").get("x").tolist()
            [15.333333015441895]
        """
        ordinal = (
            self.ordinal(record)
            if isinstance(record, str)
            else as_integer("record", record, least=-_MAX_ORDINAL)
        )
        shard = bisect_right(self._firsts, ordinal) - 1
        if shard < 0 or ordinal > self._done[shard].last:
            raise self._out_of_range(ordinal)
        name = self._array_name(layer)
        return self._open_shard(shard).rows(name, ordinal - self._firsts[shard])

    def _out_of_range(self, ordinal: int) -> OutOfRangeError:
        """Return the error for an ordinal whose shard is not finished."""
        if 0 <= ordinal < self._records:
            return OutOfRangeError(
                f"{self._folder.path}: the shard of the ordinal {ordinal} is not finished; "
                "repeat the same call of `embed`, or choose one of `ordinals`"
            )
        return OutOfRangeError(
            f"{self._folder.path}: no record has the ordinal {ordinal}: expected "
            f"an id, or an integer from 0 to {self._records - 1}"
        )

    def ordinal(self, name: str) -> int:
        """Return the ordinal of the only record with an id.

        Args:
            name: The id.

        Returns:
            The index of the record in the input, counted from 0.

        Raises:
            IdError: No record has the id, or several records have the id. In the second
                case, the message lists the ordinals of the records.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> _ = Path("a2.fa").write_text(">x\\nMKT\\n>y\\nMK\\n")
            >>> def count_tokens(batch):
            ...     return batch["input_ids"][:, None].astype("float32")
            >>> _ = sl.infer.embed(count_tokens, "a2.fa", out="e2")
            >>> sl.infer.load("e2").ordinal("y")
            1
        """
        found = self._ordinals_by_id.get(name, [])
        if len(found) == 1:
            return found[0]
        if not found:
            raise IdError(f"{self._folder.path}: no record has the id {quote(name)}")
        first = ", ".join(map(str, found[:3])) + ", ..." * (len(found) > 3)  # noqa: PLR2004 - shown
        raise IdError(
            f"{self._folder.path}: {len(found)} records have the id {quote(name)}: pass "
            f"the ordinal of one of these records ({first})"
        )

    @cached_property
    def _ordinals_by_id(self) -> dict[str, list[int]]:
        """A dict from each id to the ordinals of the records with this id."""
        found: dict[str, list[int]] = {}
        for ordinal, name in zip(self.ordinals.tolist(), self.ids, strict=True):
            found.setdefault(name, []).append(ordinal)
        return found

    @cached_property
    def ids(self) -> list[str]:
        """The id of each record, in input order."""
        return [name for shard in self._iterate_shards() for name in shard.ids]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The number of residues of each record."""
        return np.concatenate(
            [np.arange(0), *(shard.lengths for shard in self._iterate_shards())]
        )

    def to_numpy(self, *, layer: int | None = None) -> NDArray[Any]:
        """Read all embeddings into one array.

        Args:
            layer: The index of a saved layer, which is required if several layers were
                saved.

        Returns:
            An array ``(n, width)`` in input order. With ``pool="none"``, the array is
            ``(residues, width)``, and `lengths` is the number of rows of each record.

        Raises:
            ArgumentError: ``layer`` was not saved, or is missing although several
                layers were saved.
            FileError: No shard is finished.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> _ = Path("a3.fa").write_text(">x\\nMKT\\n>y\\nMK\\n")
            >>> def count_tokens(batch):
            ...     return batch["input_ids"][:, None].astype("float32")
            >>> _ = sl.infer.embed(count_tokens, "a3.fa", out="e3", pool="none")
            >>> sl.infer.load("e3").to_numpy().shape
            (5, 1)
        """
        name = self._array_name(layer)
        arrays = [shard.arrays[name] for shard in self._iterate_shards()]
        if not arrays:
            raise FileError(f"{self._folder.path}: no shard is finished")
        return np.concatenate(arrays)

    def to_table(self, *, layer: int | None = None) -> dict[str, Any]:
        """Read the embeddings as columns for pandas or polars.

        Args:
            layer: The index of a saved layer, which is required if several layers were
                saved.

        Returns:
            A dict of the columns ``ordinal``, ``id``, ``length`` and ``embedding`` (a list
            of arrays).

        Raises:
            ArgumentError: ``layer`` was not saved, or is missing although several
                layers were saved.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> _ = Path("a4.fa").write_text(">x\\nMKT\\n>y\\nMK\\n")
            >>> def count_tokens(batch):
            ...     return batch["input_ids"][:, None].astype("float32")
            >>> _ = sl.infer.embed(count_tokens, "a4.fa", out="e4")
            >>> table = sl.infer.load("e4").to_table()
            >>> table["id"], table["length"].tolist()
            (['x', 'y'], [3, 2])
        """
        rows = [self.get(int(ordinal), layer=layer) for ordinal in self.ordinals]
        columns: dict[str, Any] = {"ordinal": self.ordinals, "id": self.ids}
        return {**columns, "length": self.lengths, "embedding": rows}

    def _iterate_shards(self) -> Iterator[OpenShard]:
        """Yield the open shards in input order."""
        return map(self._open_shard, range(len(self._done)))

    def _open_shard(self, number: int) -> OpenShard:
        """Open a shard, or return it if it is already open and its file has not changed."""
        if number not in self._held:
            is_by_residue = self.pool == "none"
            self._held[number] = open_shard(
                self._folder,
                self._done[number],
                [array_name(layer, self.layers) for layer in self.layers],
                is_by_residue=is_by_residue,
            )
        self._held[number].check()
        return self._held[number]

    def _array_name(self, layer: int | None) -> str:
        """Return the name of the array of a layer."""
        if layer is None and len(self.layers) == 1:
            return array_name(self.layers[0], self.layers)
        if layer not in self.layers:
            raise ArgumentError(
                f"layer must be one of {list(self.layers)}, got {quote(layer)}; "
                "pass layer= to get, to_numpy or to_table"
            )
        return array_name(layer, self.layers)


def load(
    folder: str | os.PathLike[str],
    *,
    partial: bool = False,
    cloud_options: Mapping[str, str] | None = None,
) -> Embeddings:
    """Open a folder of embeddings, whose shards are read when they are needed.

    Args:
        folder: The folder or URL that `embed` wrote.
        partial: If True, also open the folder of an unfinished job, with the records of its
            finished shards.
        cloud_options: Options for the object store of a URL, as in `embed`.

    Returns:
        The embeddings, which can be read by id or by ordinal.

    Raises:
        FileError: The embedding job is not finished, or a file is missing.
        FormatError: A file is corrupt.
        MissingFileError: The folder does not exist, or has no embeddings.

    Examples:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> import seqloom as sl
        >>> _ = Path("two5.fa").write_text(">x\\nMKTA\\n>y\\nMK\\n")
        >>> def one_hot(batch):
        ...     return np.eye(33, dtype=np.float32)[batch["input_ids"]]
        >>> _ = sl.infer.embed(one_hot, "two5.fa", out="embeddings5")
        >>> found = sl.infer.load("embeddings5")
        >>> len(found), found.ids, found.to_numpy().shape
        (2, ['x', 'y'], (2, 33))
    """
    is_url = isinstance(folder, str) and "://" in folder
    if not is_url and not os.path.isdir(folder):  # noqa: PTH112 - a folder that is not made
        raise MissingFileError(f"{folder}: no such folder; expected the output of `embed`")
    return Embeddings(open_folder(folder, cloud_options), partial=partial)
