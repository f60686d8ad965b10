"""Read the tensors of torch.save files without executing code from the file.

A file is a zip archive that contains the bytes of the tensors and a pickle that describes
them. Because a pickle is a program, `_tensor_pickle` only interprets the few
instructions that tensors need.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, cast
from zipfile import ZIP_STORED

import numpy as np

from seqloom.errors import RecordError
from seqloom.record._array import LazyArray, require_shape
from seqloom.record._record import Record
from seqloom.record._source import open_archive, read_member
from seqloom.record._tensor_pickle import PickledName, TensorEntry, read_pickle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zipfile import ZipFile, ZipInfo

    from numpy.typing import NDArray

    from seqloom.record._source import RecordSource

ZIP_MAGIC = b"PK\x03\x04"
# First byte of pickles, and of PyTorch files before version 1.6.
PICKLE_MAGIC = b"\x80"
_LOCAL_HEADER_BYTES = 30  # Size of a zip member's header without its name.
# Limits for the depth of nested dicts and for the number of their values.
_MAX_NESTING_DEPTH, _MAX_TREE_VALUES = 32, 1 << 20


def read_torch(source: RecordSource) -> Record:
    """Open a file that torch.save wrote."""
    with open_archive(source) as archive:
        members = {info.filename: info for info in archive.infolist()}
        prefix = _find_archive_folder(source, members)
        pickle = _read_member(source, archive, f"{prefix}data.pkl")
        order = f"{prefix}byteorder"
        is_big = order in members and _read_member(source, archive, order)[:3] == b"big"
    if is_big:
        raise RecordError(f"{source.name}: has big-endian numbers; save it again")
    arrays: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    storages = {name.removeprefix(f"{prefix}data/"): info for name, info in members.items()}
    tree = read_pickle(source.name, pickle)
    for path, value in _flatten_tree(source.name, tree):
        if path in arrays or path in metadata:
            raise RecordError(
                f"{source.name}: two values have the path {path!r}, because keys of nested "
                "dicts are joined by dots. Rename one key in torch, and save the file again"
            )
        if isinstance(value, TensorEntry):
            if value.key not in storages:
                raise _make_storage_error(source, path)
            tensor = _ArchivedTensor(source, storages[value.key], path, value)
            arrays[path] = tensor.to_lazy()
        else:
            metadata[path] = value.name if isinstance(value, PickledName) else value
    return Record(arrays, metadata=metadata)


def _read_member(source: RecordSource, archive: ZipFile, name: str) -> bytes:
    """Read an archive member; raise for compression, which torch.save never uses."""
    if archive.getinfo(name).compress_type != ZIP_STORED:
        raise RecordError(
            f"{source.name}: {name} is compressed, unlike torch.save files; save it again"
        )
    return read_member(source, archive, name)


def reject_pickle(source: RecordSource) -> Record:
    """Raise if a file is only a pickle, because loading a pickle may execute code."""
    raise RecordError(
        f"{source.name}: is a pickle, perhaps in the old format of torch.save; a pickle "
        "may run any code and is not loaded. Load it in torch with weights_only=True, and "
        "save it again with torch.save"
    )


def _find_archive_folder(source: RecordSource, members: dict[str, ZipInfo]) -> str:
    """Return the folder that contains all members of the archive."""
    found = [name for name in members if name.rpartition("/")[2] == "data.pkl"]
    prefixes = [name.removesuffix("data.pkl") for name in found]
    if any(f"{prefix}constants.pkl" in members for prefix in prefixes):
        raise RecordError(
            f"{source.name}: is a TorchScript program, which is not executed; save its "
            "model.state_dict() with torch.save"
        )
    if len(found) != 1:
        raise RecordError(f"{source.name}: is not from torch.save (it has no data.pkl)")
    return prefixes[0]


def _flatten_tree(name: str, tree: object) -> Iterator[tuple[str, Any]]:
    """Yield the paths and values of nested dicts and lists."""
    waiting: list[tuple[str, int, Any]] = [("", 0, tree)]
    for _ in range(_MAX_TREE_VALUES):
        if not waiting:
            return
        path, depth, value = waiting.pop()
        if not isinstance(value, (dict, list, tuple)):
            yield path, value
        elif depth == _MAX_NESTING_DEPTH:
            break
        else:
            waiting += [
                (f"{path}.{key}" if path else f"{key}", depth + 1, item)
                for key, item in reversed(_list_items(name, value))
            ]
    raise RecordError(f"{name}: its dicts contain themselves, or too many values")


def _list_items(name: str, tree: Any) -> list[tuple[str | int, Any]]:
    """Return keys and values of a dict, or indices and values of a list."""
    items: list[tuple[Any, Any]] = list(
        cast("Any", tree.items() if isinstance(tree, dict) else enumerate(tree))
    )
    for key, _ in items:
        if not isinstance(key, (str, int)):
            raise RecordError(f"{name}: the key {key!r} must be a string or a number")
    return items


@dataclass(frozen=True, slots=True)
class _ArchivedTensor:
    """Tensor in the archive: a view of its storage."""

    source: RecordSource
    info: ZipInfo
    path: str
    entry: TensorEntry

    def to_lazy(self) -> LazyArray:
        """Return a lazy array; raise if the tensor is larger than its storage."""
        entry = self.entry
        require_shape(self.source.name, self.path, entry.shape, dtype=entry.dtype)
        steps = zip(entry.shape, entry.strides, strict=True)
        last = entry.offset + sum((size - 1) * step for size, step in steps)
        end = (last + 1) * entry.dtype.itemsize if prod(entry.shape) else 0
        size = min(self.info.file_size, self.info.compress_size)
        if self.info.compress_type != ZIP_STORED or end > size:
            raise _make_storage_error(self.source, self.path)
        # With a stride of 0, a small storage becomes a large copy.
        self.source.require_plausible(self.path, prod(entry.shape) * entry.dtype.itemsize)
        read = self.view if self.source.is_mapped else self.read
        name = self.source.name
        return LazyArray(name, self.path, entry.shape, entry.dtype, read, self.read)

    def read(self) -> NDArray[Any]:
        """Read and check the whole storage; return the tensor as a view of the storage."""
        data, _ = self.source.take(*self._storage_range())
        if self.info.CRC and zlib.crc32(data.data) != self.info.CRC:
            raise RecordError(
                f"{self.source.name}: {self.path} is damaged (its checksum differs)"
            )
        part = self._view_tensor(data)
        found = self._apply_flags(part)
        # Copy a small view, because a view would keep the whole storage in memory.
        return found if found is not part or part.nbytes == data.size else part.copy()

    def view(self) -> NDArray[Any]:
        """Return the tensor from the mapped file, without checking the file's checksum."""
        return self._apply_flags(
            self._view_tensor(self.source.view(*self._storage_range()))
        )

    def _storage_range(self) -> tuple[int, int]:
        """Return the range of bytes that the storage occupies in the archive."""
        place = self.info.header_offset
        header = self.source.read(place, place + _LOCAL_HEADER_BYTES)
        name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
        start = place + _LOCAL_HEADER_BYTES + name + extra
        return start, start + self.info.file_size

    def _apply_flags(self, part: NDArray[Any]) -> NDArray[Any]:
        """Apply the conjugation and negation that PyTorch stored as flags."""
        if self.entry.is_conjugate:
            part = np.conj(part)
        return np.negative(part) if self.entry.is_negative else part

    def _view_tensor(self, data: NDArray[np.uint8]) -> NDArray[Any]:
        """Return a view of the storage with the tensor's shape and strides."""
        shape, dtype = self.entry.shape, self.entry.dtype
        if not prod(shape):
            return np.empty(shape, dtype)
        strides = tuple(step * dtype.itemsize for step in self.entry.strides)
        # np.lib.stride_tricks.as_strided does not support float8_e5m2.
        return np.ndarray(shape, dtype, data, self.entry.offset * dtype.itemsize, strides)


def _make_storage_error(source: RecordSource, path: str) -> RecordError:
    """Return the error for a tensor that is larger than its storage."""
    return RecordError(f"{source.name}: {path} has no storage that is large enough")
