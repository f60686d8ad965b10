"""Records as safetensors files: arrays that anyone can read, facts as JSON, checksums."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._files import write_atomic
from seqloom.errors import MissingFileError, RecordError, SeqloomError
from seqloom.record._header import READ_TYPES, Place, array_at, parsed, places_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Our one entry of the header's string table (two would come in any order), and how its
# text begins: the checksum of the facts and the facts as JSON follow.
_FACTS, _MARK = "seqloom", "seqloom facts "


@dataclass(frozen=True, slots=True)
class LazyArray:
    """An array in a file, read when it is needed.

    Attributes:
        file: The file it is in.
        path: Its path in the record.
        shape: The lengths of its axes.
        crc32: Its checksum, or None where the file was written by others.
        place: Where it lies in the file.

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
    place: Place

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  # NumPy's protocol
        try:
            array = array_at(self.file, self.path, self.place)
        except OSError as error:
            raise RecordError(f"{self.file}: cannot be read any more ({error})") from None
        if self.crc32 is not None and _checksum(array) != self.crc32:
            raise RecordError(f"{self.file}: {self.path} is damaged (its checksum differs)")
        return array if dtype is None else array.astype(dtype)


@dataclass(frozen=True, slots=True)
class Safetensors:
    """Writes and reads records as safetensors files.

    Any safetensors reader reads the arrays; facts and the checksums of the arrays stand as
    JSON under ``seqloom`` in the header's metadata. Files are replaced whole.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> record = sl.record.Record({"bias": np.ones(2)})
        >>> record.save("model.safetensors", sl.record.Safetensors())
    """

    def write(
        self, path: Path, arrays: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> None:
        """Writes arrays and facts to a file, atomically.

        Args:
            path: The file.
            arrays: NumPy arrays, or lazy ones, by path.
            metadata: Facts that JSON can hold; NumPy's numbers are among them.

        Raises:
            RecordError: A name, an array or a fact would not come back as it is.

        Examples:
            >>> import numpy as np
            >>> from pathlib import Path
            >>> Safetensors().write(Path("a.safetensors"), {"x": np.ones(1)}, {})
        """
        from safetensors.numpy import save

        plain = {name: _writable(name, each) for name, each in arrays.items()}
        facts = {
            "metadata": metadata,
            "crc32": {name: _checksum(each) for name, each in plain.items()},
        }
        text = json.dumps(facts, default=_fact)
        entry = f"{_MARK}{zlib.crc32(text.encode()):08x} {text}"
        write_atomic(path, save(plain, metadata={_FACTS: entry}))

    def read(self, path: Path) -> tuple[dict[str, LazyArray], dict[str, Any]]:
        """Opens a file: its arrays, lazily, and its facts.

        Args:
            path: A safetensors file, ours or another's.

        Returns:
            Lazy arrays by path, and the facts (none in a file of others).

        Raises:
            MissingFileError: There is no such file.
            RecordError: It is not a safetensors file (whose header has at most 100 MB),
                it was cut, a name stands twice, or its facts are not ours or damaged.

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
            with _open(path):  # the library checks sizes and places
                places, texts = places_in(path)
        except (SafetensorError, OSError) as error:
            raise RecordError(f"{path}: not a whole safetensors file ({error})") from None
        sums, metadata = _facts(path, texts)
        if sums and sums.keys() != places.keys():
            raise RecordError(f"{path}: the names of its arrays are damaged")
        arrays = {
            name: LazyArray(path, name, places[name].shape, sums.get(name), places[name])
            for name in sums or sorted(places)
        }
        return arrays, metadata


def _writable(name: Any, value: Any) -> Any:
    """An array as it is written; what could not be read again is refused."""
    if not isinstance(name, str) or name == "__metadata__":
        raise RecordError(
            f"a record's arrays are named by texts other than '__metadata__', got {name!r}"
        )
    if np.ma.is_masked(value):
        raise RecordError(
            f"{name}: a record keeps no mask; pass the values as array.filled(...), and "
            "the mask as an array of its own"
        )
    array = _array_of(name, value)
    native = array.dtype.newbyteorder("=")
    if native not in READ_TYPES:
        raise RecordError(
            f"{name} is of {array.dtype}, which a record does not hold; expected one of "
            f"{', '.join(str(each) for each in READ_TYPES)}"
        )
    # ascontiguousarray makes a row of a single number; a record keeps its shape.
    return np.ascontiguousarray(array, native).reshape(array.shape)


def _array_of(name: str, value: Any) -> Any:
    """A value as an array of NumPy."""
    try:
        return np.asarray(value)
    except SeqloomError:
        raise
    except Exception as error:  # whatever the library raises whose value it is
        raise RecordError(
            f"{name}: no NumPy array can be made of this {type(value).__name__} ({error})"
        ) from error


def _fact(value: Any) -> Any:
    """A number of NumPy as Python's; JSON holds no other objects."""
    if isinstance(value, np.generic):
        return cast("Any", value).item()
    raise RecordError(
        f"a record's metadata hold texts, numbers, lists and dicts, not a "
        f"{type(value).__name__}: {value!r}"
    )


def _facts(path: Path, table: dict[str, str]) -> tuple[dict[str, int], dict[str, Any]]:
    """The checksums and facts in a header, checked; none in a file of others."""
    entry = table.get(_FACTS, "")
    if not entry and not any(text.startswith(_MARK) for text in table.values()):
        return {}, {}
    checksum, _, text = entry.removeprefix(_MARK).partition(" ")
    if checksum != f"{zlib.crc32(text.encode()):08x}":
        raise RecordError(f"{path}: its facts are damaged (their checksum differs)")
    facts: Any = parsed(path, text)
    parts = cast("dict[str, Any]", facts if isinstance(facts, dict) else {})
    sums = cast("dict[str, int]", parts.get("crc32"))
    metadata = cast("dict[str, Any]", parts.get("metadata"))
    of_names = all(isinstance(cast("Any", each), dict) for each in (sums, metadata))
    if not of_names or not all(type(each) is int for each in sums.values()):
        raise RecordError(
            f"{path}: its facts are not a record's; expected metadata and checksums by name"
        )
    return sums, metadata


def _open(path: Path) -> Any:
    """The file, its header read; safetensors comes without types."""
    from safetensors import safe_open

    return safe_open(path, "np")


def _checksum(array: Any) -> int:
    """The CRC-32 of an array's type, shape and bytes."""
    # Types that are not NumPy's own have no name among its codes.
    code = array.dtype.name if array.dtype.kind == "V" else array.dtype.str
    kind = zlib.crc32(f"{code}{array.shape}".encode())
    whole = np.ascontiguousarray(array).reshape(-1)
    return zlib.crc32(whole.view(np.uint8).data, kind)
