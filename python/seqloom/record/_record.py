"""Record: the arrays and metadata of a module or an optimiser. Recorder: an encoding."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import numpy as np

from seqloom._files import atomic_path, flushing
from seqloom.record._array import LazyArray, PreparedArray, prepare
from seqloom.record._precision import choose_type, require_matches, require_policy
from seqloom.record._source import RecordSource

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from seqloom.record._precision import PrecisionPolicy

# The recorders by the suffixes of their files.
_BY_SUFFIX: dict[str, type[Recorder]] = {}
_DEFAULT = ".safetensors"


class Record(Mapping[str, Any]):
    """Arrays by path, with metadata.

    Args:
        arrays: NumPy arrays, or lazy ones, by path.
        metadata: Strings, numbers, lists and dicts, as in JSON.
        least_dtypes: Names of float types, by path, below which no precision goes.

    Attributes:
        metadata: The metadata.
        least_dtypes: The least float types.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> record = sl.record.Record({"weight": np.ones(2)}, metadata={"epoch": 3})
        >>> record.save("last.safetensors")
        >>> np.asarray(sl.record.load("last.safetensors")["weight"]).tolist()
        [1.0, 1.0]
    """

    def __init__(
        self,
        arrays: Mapping[str, Any],
        *,
        metadata: Mapping[str, Any] | None = None,
        least_dtypes: Mapping[str, str] | None = None,
    ) -> None:
        self._arrays = dict(arrays)
        self.metadata = dict(metadata or {})
        self.least_dtypes = dict(least_dtypes or {})

    def __getitem__(self, path: str) -> Any:
        return self._arrays[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __or__(self, other: Record) -> Record:
        """Merge two records; on equal paths, the other's values win."""
        return Record(
            {**self._arrays, **other._arrays},
            metadata={**self.metadata, **other.metadata},
            least_dtypes={**self.least_dtypes, **other.least_dtypes},
        )

    def with_prefix(self, prefix: str) -> Record:
        """Add a prefix to each path.

        Args:
            prefix: Prefix, such as ``"model."``.

        Returns:
            A new record that shares the arrays.

        Examples:
            >>> import seqloom as sl
            >>> list(sl.record.Record({"weight": 1}).with_prefix("model."))
            ['model.weight']
        """
        return self._renamed({path: prefix + path for path in self})

    def under(self, prefix: str) -> Record:
        """Select the arrays whose paths start with a prefix, and remove the prefix.

        Args:
            prefix: Prefix, such as ``"model."``.

        Returns:
            A new record that shares the arrays and the metadata.

        Examples:
            >>> import seqloom as sl
            >>> list(sl.record.Record({"model.weight": 1, "step": 2}).under("model."))
            ['weight']
        """
        chosen = [path for path in self if path.startswith(prefix)]
        return self._renamed({path: path[len(prefix) :] for path in chosen})

    def _renamed(self, names: Mapping[str, str]) -> Record:
        """Return a record of some arrays under new paths."""
        least = {
            new: self.least_dtypes[path]
            for path, new in names.items()
            if path in self.least_dtypes
        }
        arrays = {new: self[path] for path, new in names.items()}
        return Record(arrays, metadata=self.metadata, least_dtypes=least)

    def copy(self) -> Record:
        """Read all arrays now.

        Returns:
            A record of copies in memory, which no file and no module changes.

        Raises:
            RecordError: An array is damaged.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> sl.record.Record({"bias": np.ones(2)}).save("model.safetensors")
            >>> sl.record.load("model.safetensors").copy()["bias"].tolist()
            [1.0, 1.0]
        """
        arrays = {path: np.array(array) for path, array in self.items()}
        return Record(arrays, metadata=self.metadata, least_dtypes=self.least_dtypes)

    def verify(self) -> None:
        """Read each array that lies in a file, and check it.

        Arrays of a file are checked whenever they are read, but for those of a file that
        was loaded with ``mapped=True``: only this method checks them.

        Raises:
            RecordError: An array is damaged.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> sl.record.Record({"bias": np.ones(2)}).save("model.safetensors")
            >>> sl.record.load("model.safetensors", mapped=True).verify()
        """
        for array in self.values():
            if isinstance(array, LazyArray):
                array.verify()

    def save(self, path: str | os.PathLike[str], recorder: Recorder | None = None) -> None:
        """Write the record to a file, completely or not at all.

        The disk has the file when the call returns. Arrays are converted and written one
        after the other, so that the memory of one suffices.

        Args:
            path: Path of the file. An older file is replaced when the new one is complete.
            recorder: Format and precision of the file; default: the format of the suffix
                (``.json.gz``), else `Safetensors`.

        Raises:
            FileError: The file cannot be written; the older one is as it was.
            RecordError: The file could not hold a path, an array or the metadata unchanged.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> sl.record.Record({"weight": np.zeros(1)}).save("model.safetensors")
        """
        (recorder or find_recorder(path)).write(path, self)

    def __repr__(self) -> str:
        return f"Record of {len(self)} arrays"


class Recorder(ABC):
    """Base of recorders: encodings of a record as bytes.

    A subclass defines `encode` and `decode`; files, memory and precision follow. Where it
    names `suffixes`, `Record.save` and `load` choose it by the name of a file.

    Attributes:
        precision: Float types of the arrays in the file, as `Safetensors` takes them.
        suffixes: Ends of the names of its files.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> class Npz(sl.record.Recorder):
        ...     suffixes = (".npz",)
        ...
        ...     def encode(self, record, file):
        ...         np.savez(file, **{path: np.asarray(record[path]) for path in record})
        ...
        ...     def decode(self, source):
        ...         with source.open() as file, np.load(file) as arrays:
        ...             return sl.record.Record(dict(arrays))
        >>> sl.record.Record({"bias": np.ones(2)}).save("model.npz")
        >>> sl.record.load("model.npz")["bias"].tolist()
        [1.0, 1.0]
    """

    __slots__ = ()
    precision: PrecisionPolicy | None = None
    suffixes: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _BY_SUFFIX.update(dict.fromkeys(cls.suffixes, cls))

    @abstractmethod
    def encode(self, record: Record, file: BinaryIO) -> None:
        """Write a record to a binary file.

        Args:
            record: Record whose arrays have ``shape`` and ``dtype``, that of the precision;
                ``numpy.asarray(record[path])`` converts one.
            file: Binary file, in which one can seek.
        """

    @abstractmethod
    def decode(self, source: RecordSource) -> Record:
        """Read a record.

        Args:
            source: The bytes; ``source.open()`` gives a binary file of them.

        Returns:
            A record, of lazy arrays if the format allows it.
        """

    def write(self, path: str | os.PathLike[str], record: Record) -> None:
        """Write a record to a file atomically.

        Args:
            path: Path of the file.
            record: The record.

        Raises:
            FileError: The file cannot be written; the older one is as it was.
            RecordError: The file could not hold a path, an array or the metadata unchanged.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> record = sl.record.Record({"x": np.ones(1)})
            >>> sl.record.JsonGz().write("a.json.gz", record)
        """
        prepared = self._prepare(record)
        # The part is written in place, because its writer holds a lock on it.
        with atomic_path(path) as part, part.open("r+b") as file, flushing(file):
            self.encode(prepared, file)

    def read(self, path: str | os.PathLike[str], *, mapped: bool = False) -> Record:
        """Open a file.

        Args:
            path: Path of the file.
            mapped: Whether the arrays become views of the file that cannot be written.

        Returns:
            A record, of lazy arrays if the format allows it.

        Raises:
            MissingFileError: The file does not exist.
            FileError: The file cannot be read.
            RecordError: The file is not of this format, or it is damaged.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> sl.record.Record({"x": np.ones(1)}).save("a.safetensors")
            >>> sl.record.Safetensors().read("a.safetensors")
            Record of 1 arrays
        """
        return self.decode(RecordSource.of_file(path, mapped=mapped))

    def to_bytes(self, record: Record) -> bytes:
        """Encode a record in memory.

        Args:
            record: The record.

        Returns:
            What a file would hold.

        Raises:
            RecordError: The bytes could not hold a path, an array or the metadata
                unchanged.

        Examples:
            >>> import seqloom as sl
            >>> len(sl.record.Safetensors().to_bytes(sl.record.Record({}))) % 64
            0
        """
        file = io.BytesIO()
        self.encode(self._prepare(record), file)
        return file.getvalue()

    def from_bytes(self, data: bytes | bytearray | memoryview) -> Record:
        """Decode a record from memory.

        Args:
            data: What `to_bytes` returned, or the content of a file.

        Returns:
            A record; its arrays may be views of `data`.

        Raises:
            RecordError: The bytes are not of this format, or they are damaged.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> data = sl.record.JsonGz().to_bytes(sl.record.Record({"x": np.ones(2)}))
            >>> np.asarray(sl.record.JsonGz().from_bytes(data)["x"]).tolist()
            [1.0, 1.0]
        """
        return self.decode(RecordSource.of_bytes(data))

    def _prepare(self, record: Record) -> Record:
        """Return the record with the types that the precision gives its arrays."""
        if self.precision is not None:
            require_policy(self.precision)
        prepared = {path: prepare(path, array) for path, array in record.items()}
        require_matches(self.precision, prepared)
        arrays = {
            path: PreparedArray(
                path,
                array.value,
                array.shape,
                choose_type(
                    self.precision, path, array.dtype, least=record.least_dtypes.get(path)
                ),
            )
            for path, array in prepared.items()
        }
        return Record(arrays, metadata=record.metadata, least_dtypes=record.least_dtypes)


def find_recorder(path: str | os.PathLike[str]) -> Recorder:
    """Return the recorder of a file's suffix; the default if there is none."""
    name = Path(path).name
    found = [suffix for suffix in _BY_SUFFIX if name.endswith(suffix)]
    return _BY_SUFFIX[max(found, key=len, default=_DEFAULT)]()
