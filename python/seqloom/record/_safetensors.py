"""Records as safetensors files, with metadata as JSON and checksums."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._files import write_atomic
from seqloom.errors import MissingFileError, RecordError, SeqloomError
from seqloom.record._header import (
    READ_TYPES,
    ArrayEntry,
    parse_json,
    read_array,
    read_header,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

# The facts are one entry of the header's string table, because the order of two entries
# would be random: a mark, the checksum, and the facts (metadata and checksums) as JSON.
_FACTS, _MARK = "seqloom", "seqloom facts "


@dataclass(frozen=True, slots=True)
class LazyArray:
    """An array in a file, which is read when it is used.

    Attributes:
        file: Path of the file.
        path: Path of the array in the record.
        shape: Lengths of the axes.
        crc32: Checksum; None if another program wrote the file.
        entry: Entry of the array in the header of the file.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> sl.record.Record({"bias": np.ones(2)}).save("model.safetensors")
        >>> np.asarray(sl.record.load("model.safetensors")["bias"]).sum()
        np.float64(2.0)
    """

    file: Path
    path: str
    shape: tuple[int, ...]
    crc32: int | None
    entry: ArrayEntry

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  # NumPy's protocol
        try:
            array = read_array(self.file, self.path, self.entry)
        except OSError as error:
            raise RecordError(f"{self.file}: cannot be read any more ({error})") from None
        if self.crc32 is not None and _checksum(array) != self.crc32:
            raise RecordError(f"{self.file}: {self.path} is damaged (its checksum differs)")
        return array if dtype is None else array.astype(dtype)


@dataclass(frozen=True, slots=True)
class Safetensors:
    """Writes and reads records as safetensors files.

    Any safetensors reader reads the arrays. The record's metadata and the checksums of the
    arrays are JSON in the entry ``seqloom`` of the header's metadata. A file is replaced
    only when the new one is complete.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> record = sl.record.Record({"bias": np.ones(2)})
        >>> record.save("model.safetensors", sl.record.Safetensors())
    """

    def write(
        self, path: Path, arrays: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> None:
        """Writes arrays and metadata to a file atomically.

        Args:
            path: Path of the file.
            arrays: NumPy arrays, or lazy ones, by path.
            metadata: Strings, numbers (NumPy's too), lists and dicts.

        Raises:
            RecordError: The file could not hold a path, an array or the metadata unchanged.

        Examples:
            >>> import numpy as np
            >>> from pathlib import Path
            >>> Safetensors().write(Path("a.safetensors"), {"x": np.ones(1)}, {})
        """
        from safetensors.numpy import save

        plain = {name: _to_writable(name, array) for name, array in arrays.items()}
        facts = {
            "metadata": metadata,
            "crc32": {name: _checksum(array) for name, array in plain.items()},
        }
        text = json.dumps(facts, default=_to_json)
        entry = f"{_MARK}{zlib.crc32(text.encode()):08x} {text}"
        write_atomic(path, save(plain, metadata={_FACTS: entry}))

    def read(self, path: Path) -> tuple[dict[str, LazyArray], dict[str, Any]]:
        """Opens a file: its arrays, lazily, and its metadata.

        Args:
            path: Path of a safetensors file, also of another program.

        Returns:
            Lazy arrays by path, and the metadata (empty for another program's file).

        Raises:
            MissingFileError: The file does not exist.
            RecordError: The file is not a safetensors file (with a header of at most
                100 MB), it is cut, a name appears twice, or its metadata is damaged.

        Examples:
            >>> import numpy as np
            >>> from pathlib import Path
            >>> Safetensors().write(Path("a.safetensors"), {"x": np.ones(1)}, {"n": 1})
            >>> Safetensors().read(Path("a.safetensors"))[1]
            {'n': 1}
        """
        from safetensors import SafetensorError

        if not path.exists():
            raise MissingFileError(f"{path}: no such file; expected a model record")
        try:
            with _open(path):  # the library checks sizes and offsets
                entries, strings = read_header(path)
        except (SafetensorError, OSError) as error:
            raise RecordError(f"{path}: not a whole safetensors file ({error})") from None
        sums, metadata = _parse_facts(path, strings)
        if sums and sums.keys() != entries.keys():
            raise RecordError(f"{path}: the names of its arrays are damaged")
        arrays = {
            name: LazyArray(path, name, entries[name].shape, sums.get(name), entries[name])
            for name in sums or sorted(entries)
        }
        return arrays, metadata


def _to_writable(name: object, value: Any) -> NDArray[Any]:
    """Returns an array to write; refuses what could not be read again."""
    if not isinstance(name, str) or name == "__metadata__":
        raise RecordError(
            f"the path of an array must be a string other than '__metadata__', got {name!r}"
        )
    if np.ma.is_masked(value):
        raise RecordError(
            f"{name}: a record cannot hold a masked array; pass the values as "
            "array.filled(...), and the mask as another array"
        )
    array = _to_numpy(name, value)
    native = array.dtype.newbyteorder("=")
    if native not in READ_TYPES:
        raise RecordError(
            f"{name} has dtype {array.dtype}, which a record cannot hold; expected one of "
            f"{', '.join(map(str, READ_TYPES))}"
        )
    # ascontiguousarray adds an axis to an array without axes; a record keeps the shape.
    return np.ascontiguousarray(array, native).reshape(array.shape)


def _to_numpy(name: str, value: Any) -> NDArray[Any]:
    """Converts a value to a NumPy array."""
    try:
        return np.asarray(value)
    except SeqloomError:
        raise
    except Exception as error:  # whatever the library of the value raises
        raise RecordError(
            f"{name}: a {type(value).__name__} cannot be converted to a NumPy array "
            f"({error})"
        ) from error


def _to_json(value: Any) -> Any:
    """Converts a number of NumPy; JSON can hold no other objects."""
    if isinstance(value, np.generic):
        return cast("Any", value).item()
    raise RecordError(
        f"a record's metadata can hold strings, numbers, lists and dicts, not a "
        f"{type(value).__name__}: {value!r}"
    )


def _parse_facts(
    path: Path, table: dict[str, str]
) -> tuple[dict[str, int], dict[str, Any]]:
    """Returns checksums and metadata of a header; empty for another program's file."""
    entry = table.get(_FACTS, "")
    if not entry and not any(text.startswith(_MARK) for text in table.values()):
        return {}, {}
    checksum, _, text = entry.removeprefix(_MARK).partition(" ")
    if checksum != f"{zlib.crc32(text.encode()):08x}":
        raise RecordError(f"{path}: its metadata is damaged (the checksum differs)")
    facts: Any = parse_json(path, text)
    parts = cast("dict[str, Any]", facts if isinstance(facts, dict) else {})
    sums = cast("dict[str, int]", parts.get("crc32"))
    metadata = cast("dict[str, Any]", parts.get("metadata"))
    are_dicts = all(isinstance(cast("Any", part), dict) for part in (sums, metadata))
    if not are_dicts or not all(type(crc32) is int for crc32 in sums.values()):
        raise RecordError(
            f"{path}: the entry seqloom of its header must have metadata and checksums"
        )
    return sums, metadata


def _open(path: Path) -> Any:
    """Opens a file and reads its header; safetensors has no type hints."""
    from safetensors import safe_open

    return safe_open(path, "np")


def _checksum(array: NDArray[Any]) -> int:
    """Returns the CRC-32 of an array's dtype, shape and bytes."""
    # Types that are not NumPy's own have no code.
    code = array.dtype.name if array.dtype.kind == "V" else array.dtype.str
    kind = zlib.crc32(f"{code}{array.shape}".encode())
    whole = np.ascontiguousarray(array).reshape(-1)
    return zlib.crc32(whole.view(np.uint8).data, kind)
