"""Datasets whose items are kept in files, so that the next run does not make them again."""

from __future__ import annotations

import hashlib
import math
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_integer
from seqloom._config import JsonConfig
from seqloom._files import check_path, check_uncut
from seqloom._ragged import Ragged, offsets_of
from seqloom.data._extent import mask_of, padded_length, position_axis
from seqloom.data._ids import Ids
from seqloom.data._items import SequenceItems
from seqloom.data._ring import empty
from seqloom.data._subset import Subset
from seqloom.data.cache._cache_folder import CacheFolder
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.data._encoded import Letters
    from seqloom.data._map_dataset import MapDataset
    from seqloom.data.cache._cache_folder import Arrays
    from seqloom.errors import LetterError

# Goes up when what is kept, or what an encoder makes of its settings, changes.
_LAYOUT = 1
_AT_ONCE = 1024


def cached(
    dataset: MapDataset | Subset,
    directory: str | os.PathLike[str],
    *,
    size_limit: int | None = None,
) -> CachedDataset | Subset:
    """Keeps what precedes augmentation in memory-mapped files.

    Without augmentation that is encoded items, with it letters. Files are named by the
    content of the dataset and the settings of the encoder: what was made for the same is
    found again, by several processes at once, and made anew where it is not whole.

    Args:
        dataset: Sequences; of a part of a dataset the whole is kept.
        directory: Where files stand; several datasets may share it.
        size_limit: Bytes of all of them at most; the least recently used go first.

    Returns:
        A dataset of the same items.

    Raises:
        ArgumentError: Items differ between epochs before augmentation (``jitter``), the
            dataset is larger than the limit, or holds no sequences.
        FileError: The directory cannot be written.

    Examples:
        >>> from seqloom.data import SequenceDataset
        >>> from seqloom.encode import OneHot
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
        >>> data = SequenceDataset("a.fa", encoder=OneHot("dna"))
        >>> kept = cached(data, "cache")
        >>> bool((kept[1]["inputs"] == data[1]["inputs"]).all())
        True
    """
    if size_limit is not None:
        size_limit = as_integer("size_limit", size_limit, least=1)
    if isinstance(dataset, Subset):
        whole = cached(dataset.dataset, directory, size_limit=size_limit)
        return Subset(whole, dataset.indices)
    if not isinstance(dataset, SequenceItems):
        raise ArgumentError(
            "cached takes datasets of sequences only; a GenotypeDataset keeps its "
            "genotypes in memory or in a copy without it"
        )
    return CachedDataset(
        dataset,
        CacheFolder(
            Path(check_path("directory", directory, one="a folder")).absolute(), size_limit
        ),
    )


class CachedDataset(SequenceItems):
    """The items of a dataset, from files where they were kept; made by ``cached``."""

    def __init__(self, dataset: SequenceItems, folder: CacheFolder) -> None:
        if getattr(dataset, "jitter", 0):
            raise ArgumentError(
                "a dataset with jitter cannot be cached, because each epoch reads other "
                "windows; use it without cached, or make it with jitter=0"
            )
        self.dataset = dataset
        super().__init__(
            dataset.paths,
            encoder=dataset.encoder,
            augment=dataset.augment,
            seed=dataset.seed,
        )
        self.task, self.classes = dataset.task, dataset.classes
        self.labels, self.report = dataset.labels, dataset.report
        self._folder = folder
        self._is_encoded = dataset.augment is None and _can_be_kept(dataset.encoder)
        _ = self._kept

    def __getstate__(self) -> dict[str, Any]:
        # Another process maps the files itself.
        return {name: it for name, it in self.__dict__.items() if name != "_kept"}

    @cached_property
    def _kept(self) -> Arrays:
        """The arrays in their files; made first where they are not there."""
        name = f"{_LAYOUT} {self.dataset.fingerprint()}"
        key = hashlib.blake2b(name.encode(), digest_size=16)
        if self._is_encoded:
            key.update(self.encoder.to_json().encode())
        make = self._encoded_items if self._is_encoded else self._letters
        return self._folder.get(key.hexdigest(), make)

    def _uncut(self) -> Arrays:
        """Gives the arrays, whose files must be as long as they were."""
        for array in self._kept.values():
            if isinstance(array, np.memmap) and array.filename is not None:
                check_uncut(array.filename, array.nbytes)
        return self._kept

    def _chunks(self) -> Iterator[NDArray[np.int64]]:
        """Goes through all items."""
        for start in range(0, len(self), _AT_ONCE):
            yield np.arange(start, min(start + _AT_ONCE, len(self)))

    def _letters(self) -> Iterator[Arrays]:
        """Gives letters, and qualities where there are any."""
        for rows in self._chunks():
            sequences, qualities = self.dataset._fetch(rows, 0, 1)[1]  # noqa: SLF001 - same class
            chunk = {"letters": sequences.data, "lengths": sequences.lengths}
            if qualities is not None:
                chunk["qualities"] = qualities.data
            yield chunk

    def _encoded_items(self) -> Iterator[Arrays]:
        """Gives each item's numbers, without padding."""
        for rows in self._chunks():
            items = self.dataset.items_at(rows, 0)
            arrays = [item["inputs"].reshape(-1) for item in items]
            sizes = np.array([array.size for array in arrays], np.int64)
            yield {"inputs": np.concatenate(arrays), "lengths": sizes}

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where each item begins and ends."""
        return offsets_of(np.asarray(self._kept.get("lengths", np.empty(0, np.int64))))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each sequence."""
        return self.dataset.lengths

    def _ids(self, rows: NDArray[np.int64]) -> list[str]:
        return self.dataset._ids(rows)  # noqa: SLF001 - same class

    def _about(self, rows: NDArray[np.int64], epoch: int) -> dict[str, Any]:
        return self.dataset._about(rows, epoch)  # noqa: SLF001 - same class

    def _locate_letter(self, error: LetterError, row: int, epoch: int) -> LetterError:
        return self.dataset._locate_letter(error, row, epoch)  # noqa: SLF001 - same class

    def _digest(self) -> str:
        return self.dataset.fingerprint()

    def _fetch(
        self, rows: NDArray[np.int64], epoch: int, num_threads: int
    ) -> tuple[list[str], Letters]:
        if self._is_encoded:
            return self.dataset._fetch(rows, epoch, num_threads)  # noqa: SLF001 - same class
        kept, starts = self._uncut(), self._starts
        sequences = Ragged(kept["letters"], starts).take(rows)
        qualities = kept.get("qualities")
        if qualities is not None:
            return self._ids(rows), (sequences, Ragged(qualities, starts).take(rows))
        return self._ids(rows), (sequences, None)

    def _columns(
        self, rows: NDArray[np.int64], epoch: int, *, num_threads: int = 1, **shape: Any
    ) -> dict[str, Any]:
        if not self._is_encoded:
            return super()._columns(rows, epoch, num_threads=num_threads, **shape)
        names, encoder = self._ids(rows), self.encoder
        lengths = self._positions(rows)
        out = shape.pop("out", None)
        shape = {"length": None, "multiple": 1} | shape
        length = padded_length(lengths, lambda: names, **shape)
        wanted = encoder.shape(rows.size, length)
        inputs = empty(wanted, encoder.dtype) if out is None else out
        self._gather(rows, lengths, inputs)
        batch = {"id": Ids.of(names), "inputs": inputs} | self._about(rows, epoch)
        batch |= self._labels_of(rows) | {"lengths": lengths}
        if (lengths != length).any():
            batch["mask"] = mask_of(lengths, length)
        return batch

    def _positions(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts the positions of items, as they are kept."""
        sizes = self._starts[rows + 1] - self._starts[rows]
        return sizes // math.prod(self.encoder.shape(1, 1))

    def _gather(
        self, rows: NDArray[np.int64], lengths: NDArray[np.int64], inputs: NDArray[Any]
    ) -> None:
        """Copies items into a batch, and pads the shorter ones."""
        kept, starts = self._uncut()["inputs"], self._starts
        if (lengths != inputs.shape[position_axis(self.encoder)]).any():
            inputs.fill(self.encoder.pad_value)
        channels = inputs.shape[1] if self.encoder.channels == "first" else -1
        for position, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            item = kept[starts[row] : starts[row + 1]]
            if channels == -1:
                inputs[position].reshape(-1)[: item.size] = item
            else:
                inputs[position, :, :length] = item.reshape(channels, length)


def _can_be_kept(encoder: Any) -> bool:
    """Tells whether an encoder says all that makes its arrays, and NumPy can hold them."""
    says_all = isinstance(encoder, JsonConfig) and hasattr(encoder, "shape")
    return says_all and getattr(encoder, "dtype", None) != "bfloat16"
