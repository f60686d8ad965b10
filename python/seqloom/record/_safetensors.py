"""Records as safetensors files: arrays that anyone can read, facts as JSON, checksums."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._files import write_atomic
from seqloom.errors import MissingFileError, RecordError

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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  # NumPy's protocol
        with _open(self.file) as opened:
            array = opened.get_tensor(self.path)
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
            metadata: Facts that JSON can hold.

        Examples:
            >>> import numpy as np
            >>> from pathlib import Path
            >>> Safetensors().write(Path("a.safetensors"), {"x": np.ones(1)}, {})
        """
        from safetensors.numpy import save

        plain = {name: np.ascontiguousarray(each) for name, each in arrays.items()}
        # ascontiguousarray makes a row of a single number; a record keeps its shape.
        plain = {name: each.reshape(np.shape(arrays[name])) for name, each in plain.items()}
        facts = {
            "metadata": metadata,
            "crc32": {name: _checksum(each) for name, each in plain.items()},
        }
        text = json.dumps(facts)
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
            RecordError: It is not a safetensors file, or it was cut.

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
            with _open(path) as opened:
                facts = _facts(path, opened.metadata() or {})
                names: list[str] = list(opened.keys())
                shapes = {name: tuple(opened.get_slice(name).get_shape()) for name in names}
        except (SafetensorError, OSError, json.JSONDecodeError) as error:
            raise RecordError(f"{path}: not a whole safetensors file ({error})") from None
        sums = facts.get("crc32", {})
        if sums and sums.keys() != shapes.keys():
            raise RecordError(f"{path}: the names of its arrays are damaged")
        order = sums or sorted(shapes)
        arrays = {
            name: LazyArray(path, name, shapes[name], sums.get(name)) for name in order
        }
        return arrays, facts.get("metadata", {})


def _facts(path: Path, table: dict[str, str]) -> dict[str, Any]:
    """Our facts in a header, checked; none in a file of others."""
    entry = table.get(_FACTS, "")
    if not entry and not any(text.startswith(_MARK) for text in table.values()):
        return {}
    checksum, _, text = entry.removeprefix(_MARK).partition(" ")
    if checksum != f"{zlib.crc32(text.encode()):08x}":
        raise RecordError(f"{path}: its facts are damaged (their checksum differs)")
    return json.loads(text)


def _open(path: Path) -> Any:
    """The file, its header read; safetensors comes without types."""
    from safetensors import safe_open

    return safe_open(path, "np")


def _checksum(array: Any) -> int:
    """The CRC-32 of an array's type, shape and bytes."""
    kind = zlib.crc32(f"{array.dtype.str}{array.shape}".encode())
    return zlib.crc32(np.ascontiguousarray(array).data, kind)
