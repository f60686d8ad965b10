"""PreparedArray: an array on its way into a file, converted piece by piece."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from seqloom.errors import RecordError, SeqloomError
from seqloom.record._types import name_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# Bytes that are converted together: whole MiB, for the checksum of each.
_PIECE = 4 << 20


@dataclass(frozen=True, slots=True)
class PreparedArray:
    """An array with the type in which a file will hold it."""

    path: str
    value: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def kind(self) -> str:
        """The name of the type in files."""
        return name_type(self.path, self.dtype)

    @property
    def nbytes(self) -> int:
        """The number of bytes in the file."""
        return prod(self.shape) * self.dtype.itemsize

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  # NumPy's protocol
        del copy
        pieces = list(self.pieces())
        data = np.concatenate(pieces) if pieces else np.empty(0, np.uint8)
        array = data.view(self.dtype).reshape(self.shape)
        return array if dtype is None else array.astype(dtype)

    def pieces(self) -> Iterator[NDArray[np.uint8]]:
        """Yields the bytes of the file; each piece but the last is a number of MiB."""
        array = to_numpy(self.path, self.value)
        # reshape: ascontiguousarray adds an axis to an array without axes.
        flat = np.ascontiguousarray(array).reshape(-1)
        if flat.dtype == self.dtype:
            yield from [flat.view(np.uint8)] if flat.size else []
            return
        count = _PIECE // self.dtype.itemsize
        for start in range(0, flat.size, count):
            part = convert(self.path, flat[start : start + count], self.dtype)
            yield part.view(np.uint8)


def prepare(path: object, value: Any) -> PreparedArray:
    """Describes an array to write; refuses what could not be read again."""
    if not isinstance(path, str) or path == "__metadata__":
        raise RecordError(
            f"the path of an array must be a string other than '__metadata__', got {path!r}"
        )
    try:
        path.encode()
    except UnicodeEncodeError:
        raise RecordError(
            f"the path of an array must be valid Unicode, got {path!r}; rename the array"
        ) from None
    if np.ma.is_masked(value):
        raise RecordError(
            f"{path}: a record cannot hold a masked array; pass the values as "
            "array.filled(...), and the mask as another array"
        )
    # Lazy arrays know their type, and are read when they are written.
    known = isinstance(getattr(value, "dtype", None), np.dtype)
    held = value if known else to_numpy(path, value)
    dtype = held.dtype.newbyteorder("=")
    name_type(path, dtype)
    return PreparedArray(path, held, tuple(held.shape), dtype)


def to_numpy(path: str, value: Any) -> NDArray[Any]:
    """Returns a value as a NumPy array; those of a torch parameter without its gradient."""
    detach = getattr(value, "detach", None)
    try:
        plain: Any = detach() if callable(detach) else value
        if str(getattr(plain, "dtype", "")) == "torch.bfloat16":
            # NumPy has no such type; its own has the same bits.
            bits = plain.cpu().contiguous().view(sys.modules["torch"].int16).numpy()
            return bits.view(ml_dtypes.bfloat16)
        return np.asarray(plain)
    except SeqloomError:
        raise
    except ValueError as error:  # rows of different lengths
        raise RecordError(f"the values of {path} are not an array: {error}") from None
    except Exception as error:  # the library of the value may raise anything
        raise RecordError(
            f"{path}: a {type(value).__name__} cannot be converted to a NumPy array "
            f"({error})"
        ) from error


def convert(path: str, array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Converts floats to another type; refuses a number that would become infinite."""
    with np.errstate(all="ignore"):
        converted = array.astype(dtype)
    if array.dtype.newbyteorder("=") == dtype:
        return converted
    lost = ~np.isfinite(converted)
    if lost.any() and (lost := lost & np.isfinite(array)).any():
        raise RecordError(
            f"{path} holds {array[lost].flat[0]}, which {dtype} cannot hold; choose "
            "another precision for it"
        )
    return converted
