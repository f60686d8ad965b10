"""Datasets whose encoded items are cached in files for later runs."""

from __future__ import annotations

import hashlib
import math
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_integer
from seqloom._config import JsonConfig
from seqloom._files import as_path_text, check_not_truncated
from seqloom._ragged import Ragged, lengths_to_offsets
from seqloom._threads import count_threads, supports_threads
from seqloom.data._batch import split_batch
from seqloom.data._cache_folder import CacheFolder
from seqloom.data._dataset import Dataset
from seqloom.data._encoder import allocate_batch, padded_length, padding_mask, position_axis
from seqloom.data._parts import has_letters
from seqloom.data._source import Fetched, FetchOptions, Source, fetch_letters, read_columns
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from seqloom.data._cache_folder import Arrays
    from seqloom.data._source import Rows
    from seqloom.data.label._labels import LabelColumn
    from seqloom.errors import AlphabetError


# Increase this version when the cached content or the output of an encoder changes.
_CACHE_VERSION = 1
_CHUNK_RECORDS = 1024


def cached(
    dataset: Dataset, directory: str | os.PathLike[str], *, size_limit: int | None = None
) -> Dataset:
    """Cache encoded items, or sequences before augmentation, in memory-mapped files.

    A dataset with augmentation or tracks caches its sequences; other datasets cache encoded
    items. Tracks are cached too, with four bytes for each value. The cache key is computed
    from the content of the dataset and the settings of the encoder. Several processes can
    use the cache at once; incomplete entries are computed again.

    Args:
        dataset: A dataset of sequences; for a subset, the whole dataset is cached.
        directory: The folder of the cache; several datasets may share it.
        size_limit: The maximum size of the folder in bytes; the least recently used entries
            are removed first.

    Returns:
        A dataset with the same items.

    Raises:
        ArgumentError: The dataset has jitter, exceeds the size limit, or does not contain
            sequences.
        FileError: The cache folder cannot be written.

    Examples:
        >>> from seqloom.data import SequenceDataset
        >>> from seqloom.encode import OneHot
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
        >>> data = SequenceDataset("a.fa", encoder=OneHot("dna"))
        >>> fast = cached(data, "cache")
        >>> bool((fast[1]["inputs"] == data[1]["inputs"]).all())
        True
    """
    if size_limit is not None:
        size_limit = as_integer("size_limit", size_limit, least=1)
    if not has_letters(dataset):
        raise ArgumentError(
            "only datasets of sequences can be cached; a GenotypeDataset stores its "
            "genotypes in memory, or in its own cache folder"
        )
    whole = dataset.whole
    if whole.jitter:
        raise ArgumentError(
            "a dataset with jitter cannot be cached, because each epoch reads different "
            "windows; do not cache it, or create the dataset with jitter=0"
        )
    path = Path(as_path_text("directory", directory, one="a folder")).absolute()
    source = CachedSource(whole, CacheFolder(path, size_limit))
    data = whole.replace(source=source, rows=np.arange(len(whole)))
    return data if dataset is whole else data.select(dataset.indices)


def _read_ahead(read: Callable[[], Iterator[Arrays]]) -> Iterator[Arrays]:
    """Yield chunks; a thread reads the next chunk while the caller writes a chunk."""
    chunks = read()
    with ThreadPoolExecutor(1, "seqloom-cache") as pool:
        pending = pool.submit(next, chunks, None)
        while (chunk := pending.result()) is not None:
            pending = pool.submit(next, chunks, None)
            yield chunk


def _is_encoded(dataset: Dataset) -> bool:
    """Return True if encoded items can be cached, False if only sequences can."""
    encoder = dataset.encoder
    has_settings = isinstance(encoder, JsonConfig) and hasattr(encoder, "shape")
    is_of_numpy = getattr(encoder, "dtype", None) != "bfloat16"
    return dataset.augment is None and has_settings and is_of_numpy


class CachedSource(Source):
    """Reads the cached items or sequences of a whole dataset."""

    supports_threads = True  # __init__ replaces this value by the source's

    def __init__(self, dataset: Dataset, folder: CacheFolder) -> None:
        source, rows = dataset.source, dataset.rows
        self.kind, self.title, self.noun = source.kind, source.title, source.noun
        self.paths, self.supports_threads = source.paths, supports_threads(source)
        self.size, self.has_ids = len(dataset), source.has_ids
        self.is_checked, self.bin_size = source.is_checked, source.bin_size
        self.counts_letters, self.has_ordinals = source.counts_letters, source.has_ordinals
        self._source, self._rows, self._encoder = source, rows, dataset.encoder
        self._fingerprint, self._folder = dataset.fingerprint(), folder
        self._target_shapes = {
            name: it.shape[1:] for name, it in self._read_targets(rows[:1]).items()
        }
        # Sequences need a fraction of the memory of encoded items, and are quickly encoded
        # in comparison with reading tracks.
        self._is_encoded = _is_encoded(dataset) and not self._target_shapes
        _ = self._mapped_arrays

    def __getstate__(self) -> dict[str, Any]:
        # Memory maps are not pickled; the unpickling process maps the files again.
        return {name: it for name, it in self.__dict__.items() if name != "_mapped_arrays"}

    @cached_property
    def _mapped_arrays(self) -> Arrays:
        """Memory-mapped arrays of the cache; missing files are written first."""
        name, make = f"{_CACHE_VERSION} {self._fingerprint}", self._iterate_letters
        if self.supports_threads:
            make = partial(_read_ahead, make)
        if self._is_encoded:
            name, make = f"{name}{self._encoder.to_json()}", self._encoded_items
        key = hashlib.blake2b(name.encode(), digest_size=16)
        return self._folder.get(key.hexdigest(), make)

    def _read_targets(self, rows: Rows) -> Arrays:
        """Read the targets of source rows, with all threads."""
        return self._source.targets(rows, FetchOptions(num_threads=count_threads()))

    def _iterate_letters(self) -> Iterator[Arrays]:
        """Yield sequences and, for FASTQ, qualities."""
        for start in range(0, self.size, _CHUNK_RECORDS):
            rows = self._rows[start : start + _CHUNK_RECORDS]
            sequences, qualities = fetch_letters(self._source, rows, self._encoder)
            chunk = {"letters": sequences.data, "lengths": sequences.lengths}
            if qualities is not None:
                chunk["qualities"] = qualities.data
            targets = self._read_targets(rows)
            yield chunk | {name: it.reshape(-1) for name, it in targets.items()}

    def _encoded_items(self) -> Iterator[Arrays]:
        whole = Dataset(self._source, self._rows, encoder=self._encoder)
        for start in range(0, self.size, _CHUNK_RECORDS):
            rows = np.arange(start, min(start + _CHUNK_RECORDS, self.size))
            batch = whole.batch(rows, epoch=0, num_threads=count_threads())
            items = split_batch(batch, self._encoder)
            arrays = [item["inputs"].reshape(-1) for item in items]
            sizes = np.array([array.size for array in arrays], np.int64)
            yield {"inputs": np.concatenate(arrays), "lengths": sizes}

    def _checked_arrays(self) -> Arrays:
        """Return the arrays; raise if their files were truncated."""
        for array in self._mapped_arrays.values():
            if isinstance(array, np.memmap) and array.filename is not None:
                check_not_truncated(array.filename, array.nbytes)
        return self._mapped_arrays

    @cached_property
    def _offsets(self) -> Rows:
        return lengths_to_offsets(
            np.asarray(self._mapped_arrays.get("lengths", np.empty(0, np.int64)))
        )

    def ids(self, rows: Rows) -> list[str]:
        """Return the ids of rows."""
        return self._source.ids(self._rows[rows])

    def lengths(self, rows: Rows, encoder: Any) -> Rows:
        """Return the number of residues of each row."""
        return self._source.lengths(self._rows[rows], encoder)

    def columns(self, rows: Rows, epoch: int | None) -> dict[str, Any]:
        """Return the other columns of the records, such as ``file``."""
        return read_columns(self._source, self._rows[rows], epoch)

    def targets(self, rows: Rows, options: FetchOptions) -> dict[str, NDArray[Any]]:
        """Return the cached columns with values for each position."""
        del options
        if not self._target_shapes:
            return {}
        arrays = self._checked_arrays()
        return {
            name: arrays[name].reshape(-1, *shape)[rows]
            for name, shape in self._target_shapes.items()
        }

    def follow_augment(
        self, columns: dict[str, Any], augment: Any, keys: NDArray[np.uint32]
    ) -> None:
        """Change columns with values for each position as augmented sequences change."""
        self._source.follow_augment(columns, augment, keys)

    def locate(
        self, error: AlphabetError, row: int, epoch: int | None, *, is_augmented: bool
    ) -> AlphabetError:
        """Add the file position of the invalid character to an error."""
        row = int(self._rows[row])
        return self._source.locate(error, row, epoch, is_augmented=is_augmented)

    def content(
        self, rows: Rows, labels: LabelColumn, *, encoder: Any, jitter: int
    ) -> Iterator[bytes]:
        """Yield the content of the source as bytes, for a hash."""
        return self._source.content(
            self._rows[rows], labels, encoder=encoder, jitter=jitter
        )

    def fetch(self, rows: Rows, options: FetchOptions) -> Fetched | dict[str, Any]:
        """Return encoded items, or sequences if sequences are cached or requested."""
        if self._is_encoded:
            if options.as_letters:
                return self._source.fetch(self._rows[rows], options)
            return self._gather_inputs(rows, options)
        arrays, starts = self._checked_arrays(), self._offsets
        sequences = Ragged(arrays["letters"], starts).take(rows)
        qualities = arrays.get("qualities")
        if qualities is not None:
            qualities = Ragged(qualities, starts).take(rows)
        return Fetched(self.ids(rows), (sequences, qualities))

    def _gather_inputs(self, rows: Rows, options: FetchOptions) -> dict[str, Any]:
        encoder = self._encoder
        sizes = self._offsets[rows + 1] - self._offsets[rows]
        lengths = sizes // math.prod(encoder.shape(1, 1))
        length = padded_length(
            lengths,
            lambda: self.ids(rows),
            length=options.length,
            multiple=options.multiple,
        )
        shape, inputs = encoder.shape(rows.size, length), options.out
        inputs = allocate_batch(shape, encoder.dtype) if inputs is None else inputs
        is_padded = bool((lengths != length).any())
        self._gather_padded(rows, lengths, inputs)
        mask = {"mask": padding_mask(lengths, length)} if is_padded else {}
        return {"inputs": inputs, "lengths": lengths, **mask}

    def _gather_padded(self, rows: Rows, lengths: Rows, inputs: NDArray[Any]) -> None:
        """Copy items into a batch and pad shorter items."""
        cache, starts = self._checked_arrays()["inputs"], self._offsets
        if (lengths != inputs.shape[position_axis(self._encoder)]).any():
            inputs.fill(self._encoder.pad_value)
        channels = inputs.shape[1] if self._encoder.channels == "first" else -1
        for position, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            item = cache[starts[row] : starts[row + 1]]
            if channels == -1:
                inputs[position].reshape(-1)[: item.size] = item
            else:
                inputs[position, :, :length] = item.reshape(channels, length)
