"""Records (arrays and metadata of a module or optimiser) and their file formats."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import numpy as np

from seqloom._files import atomic_path, flush_in_background
from seqloom.record._array import LazyArray, PreparedArray, prepare_array
from seqloom.record._precision import choose_dtype, require_matches, require_precision
from seqloom.record._source import RecordSource

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from seqloom.record._precision import PrecisionPolicy

# Recorder classes by file suffix.
_RECORDERS: dict[str, type[Recorder]] = {}
_DEFAULT_RECORDER = ".safetensors"


class Record(Mapping[str, Any]):
    """Read-only mapping from paths to arrays, with metadata.

    Args:
        arrays: NumPy arrays or lazy arrays, by path.
        metadata: Strings, numbers, lists and dicts, as in JSON.
        least_dtypes: Dict from path to the name of the narrowest float type to which a
            precision may convert the array.

    Attributes:
        metadata: Metadata: strings, numbers, lists and dicts, as in JSON.
        least_dtypes: Name of the narrowest float type of an array, by path.

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
        """Merge two records; if both have a path, the other record's value is used."""
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
        return self._select_and_rename({path: prefix + path for path in self})

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
        return self._select_and_rename({path: path[len(prefix) :] for path in chosen})

    def _select_and_rename(self, names: Mapping[str, str]) -> Record:
        """Return a record of selected arrays with new paths."""
        least = {
            new: self.least_dtypes[path]
            for path, new in names.items()
            if path in self.least_dtypes
        }
        arrays = {new: self[path] for path, new in names.items()}
        return Record(arrays, metadata=self.metadata, least_dtypes=least)

    def copy(self) -> Record:
        """Read all arrays into memory.

        Returns:
            A record of copies, independent of files and modules.

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
        """Read each array that is stored in a file, and compare its checksum.

        Arrays of a file are checked whenever they are read. Only the arrays of a file
        that was loaded with ``mapped=True`` are not checked until `verify` is called.

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
        """Write the record to a file atomically.

        The file is on disk when the call returns. Arrays are converted and written one
        at a time, so saving only needs memory for one array.

        Args:
            path: Path of the file. An existing file is replaced when the new file is
                complete.
            recorder: Format and precision of the file; default: the format of the suffix
                (``.json.gz``), otherwise `Safetensors`.

        Raises:
            FileError: The file cannot be written; an existing file is unchanged.
            RecordError: The format cannot represent a path, an array or the metadata.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> sl.record.Record({"weight": np.zeros(1)}).save("model.safetensors")
        """
        (recorder or find_recorder(path)).write(path, self)

    def __repr__(self) -> str:
        return f"Record of {len(self)} arrays"


class Recorder(ABC):
    """Base class of recorders, which encode a record as bytes.

    A subclass defines `encode` and `decode`; this class handles files, bytes in memory,
    and precision. If the subclass defines `suffixes`, `Record.save` and `load` use the
    subclass for files with these suffixes.

    Attributes:
        precision: Float types of the arrays in the file, as for `Safetensors`.
        suffixes: File name suffixes of the format, such as ``(".json.gz",)``.

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
        _RECORDERS.update(dict.fromkeys(cls.suffixes, cls))

    @abstractmethod
    def encode(self, record: Record, file: BinaryIO) -> None:
        """Write a record to a binary file.

        Args:
            record: Record of arrays with the attributes ``shape`` and ``dtype`` (the
                dtype in the file); ``numpy.asarray(record[path])`` converts an array to
                this dtype.
            file: Binary file that supports seeking.
        """

    @abstractmethod
    def decode(self, source: RecordSource) -> Record:
        """Decode a record from the bytes of a source.

        Args:
            source: Bytes of the record; ``source.open()`` returns the bytes as a binary
                file.

        Returns:
            A record, with lazy arrays if the format supports them.
        """

    def write(self, path: str | os.PathLike[str], record: Record) -> None:
        """Write a record to a file atomically.

        Args:
            path: Path of the file.
            record: The record.

        Raises:
            FileError: The file cannot be written; an existing file is unchanged.
            RecordError: The format cannot represent a path, an array or the metadata.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> record = sl.record.Record({"x": np.ones(1)})
            >>> sl.record.JsonGz().write("a.json.gz", record)
        """
        prepared = self._prepare_arrays(record)
        # The temporary file is not reopened by name, because its writer holds a lock on
        # it.
        with atomic_path(path) as part, part.open("r+b") as file, flush_in_background(file):
            self.encode(prepared, file)

    def read(self, path: str | os.PathLike[str], *, mapped: bool = False) -> Record:
        """Read a record from a file.

        Args:
            path: Path of the file.
            mapped: If True, arrays are read-only views of the memory-mapped file.

        Returns:
            A record, with lazy arrays if the format supports them.

        Raises:
            MissingFileError: The file does not exist.
            FileError: The file cannot be read.
            RecordError: The file is not in this format, or it is damaged.

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
            The bytes of the file that `write` would create.

        Raises:
            RecordError: The format cannot represent a path, an array or the metadata.

        Examples:
            >>> import seqloom as sl
            >>> len(sl.record.Safetensors().to_bytes(sl.record.Record({}))) % 64
            0
        """
        file = io.BytesIO()
        self.encode(self._prepare_arrays(record), file)
        return file.getvalue()

    def from_bytes(self, data: bytes | bytearray | memoryview) -> Record:
        """Decode a record from memory.

        Args:
            data: Bytes from `to_bytes`, or the content of a file.

        Returns:
            A record; its arrays may be views of `data`.

        Raises:
            RecordError: The bytes are not in this format, or they are damaged.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> data = sl.record.JsonGz().to_bytes(sl.record.Record({"x": np.ones(2)}))
            >>> np.asarray(sl.record.JsonGz().from_bytes(data)["x"]).tolist()
            [1.0, 1.0]
        """
        return self.decode(RecordSource.of_bytes(data))

    def _prepare_arrays(self, record: Record) -> Record:
        """Return the record with the dtypes that the precision selects."""
        if self.precision is not None:
            require_precision(self.precision)
        prepared = {path: prepare_array(path, array) for path, array in record.items()}
        require_matches(self.precision, prepared)
        arrays = {
            path: PreparedArray(
                path,
                array.value,
                array.shape,
                choose_dtype(
                    self.precision, path, array.dtype, least=record.least_dtypes.get(path)
                ),
            )
            for path, array in prepared.items()
        }
        return Record(arrays, metadata=record.metadata, least_dtypes=record.least_dtypes)


def find_recorder(path: str | os.PathLike[str]) -> Recorder:
    """Return the recorder for a file's suffix, or the default recorder."""
    name = Path(path).name
    found = [suffix for suffix in _RECORDERS if name.endswith(suffix)]
    return _RECORDERS[max(found, key=len, default=_DEFAULT_RECORDER)]()
