"""Arrays of records: dtypes, lazy arrays in files, and arrays to be written."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from seqloom._arguments import quote
from seqloom.errors import RecordError, SeqloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


# The dtype names of safetensors, which all file formats of this package use.
DTYPES_BY_NAME: dict[str, np.dtype[Any]] = {
    name: np.dtype(kind)
    for name, kind in {
        "BOOL": np.bool_,
        **{f"I{8 * size}": f"i{size}" for size in (1, 2, 4, 8)},
        **{f"U{8 * size}": f"u{size}" for size in (1, 2, 4, 8)},
        **{f"F{8 * size}": f"f{size}" for size in (2, 4, 8)},
        "C64": np.complex64,
        "BF16": ml_dtypes.bfloat16,
        "F8_E4M3": ml_dtypes.float8_e4m3fn,
        "F8_E5M2": ml_dtypes.float8_e5m2,
        "F8_E8M0": ml_dtypes.float8_e8m0fnu,
        "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
        "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    }.items()
}
_TYPE_NAMES = {dtype: name for name, dtype in DTYPES_BY_NAME.items()}
_MAX_NAME_LENGTH = 200  # Maximum length of a name in an error message.
# Float types that a precision can convert, sorted from narrow to wide.
FLOAT_DTYPES = tuple(np.dtype(kind) for kind in ("f2", ml_dtypes.bfloat16, "f4", "f8"))


def parse_dtype(file: str, path: str, name: object) -> np.dtype[Any]:
    """Return the dtype for a dtype name in a file."""
    dtype = DTYPES_BY_NAME.get(name) if isinstance(name, str) else None
    if dtype is None:
        raise RecordError(
            f"{file}: {_shorten(path)} has the unknown dtype {_shorten(name)}; expected "
            f"one of {', '.join(DTYPES_BY_NAME)}"
        )
    return dtype


def require_shape(
    file: str, path: str, shape: tuple[int, ...], *, dtype: np.dtype[Any]
) -> None:
    """Raise for an impossible shape: too many axes, or sizes beyond 64 bits."""
    try:
        np.broadcast_to(np.empty((), dtype), shape)
    except ValueError:
        raise RecordError(
            f"{file}: {_shorten(path)} has the impossible shape {quote(list(shape))}; the "
            "file is damaged, get it again"
        ) from None


def _shorten(name: object) -> str:
    """Shorten a name from a file for an error message."""
    text = str(name)
    return text if len(text) <= _MAX_NAME_LENGTH else f"{text[:_MAX_NAME_LENGTH]}..."


def name_dtype(path: str, dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype; raise if records cannot store it."""
    if dtype not in _TYPE_NAMES:
        raise RecordError(
            f"{path} has dtype {dtype}, which a record cannot store; expected one of "
            f"{', '.join(map(str, _TYPE_NAMES))}"
        )
    return _TYPE_NAMES[dtype]


def is_float(dtype: np.dtype[Any]) -> bool:
    """Return whether `precision` applies to this dtype; True for real floats."""
    return dtype in FLOAT_DTYPES or (
        dtype in _TYPE_NAMES and _TYPE_NAMES[dtype].startswith("F8")
    )


@dataclass(frozen=True, slots=True)
class LazyArray:
    """Array in a file; its values are read and checked on use.

    ``numpy.asarray(array)`` reads the array; the result is a read-only view if the file
    was loaded with ``mapped=True`` or is in memory. Only the method `verify` checks an
    array of a mapped file.

    Attributes:
        file: Path of the file; ``"bytes"`` in memory.
        path: Path of the array in the record.
        shape: Shape of the array.
        dtype: Dtype of the array.
        read: Function that reads the array.
        check: Function that reads and checks the array; None if `read` checks it.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> sl.record.Record({"bias": np.ones(2)}).save("model.safetensors")
        >>> np.asarray(sl.record.load("model.safetensors")["bias"]).sum()
        np.float64(2.0)
    """

    file: str
    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], NDArray[Any]] = field(repr=False)
    check: Callable[[], object] | None = field(default=None, repr=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  # NumPy's protocol
        array = self.read()
        fresh = array.copy() if copy and not array.flags.writeable else array
        return fresh if dtype is None else fresh.astype(dtype, copy=False)

    def verify(self) -> None:
        """Read the array and check it.

        Raises:
            RecordError: The array is damaged.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> sl.record.Record({"bias": np.ones(2)}).save("model.safetensors")
            >>> sl.record.load("model.safetensors", mapped=True)["bias"].verify()
        """
        (self.check or self.read)()

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        return prod(self.shape) * self.dtype.itemsize


# Number of bytes converted at a time: a multiple of 1 MiB, because each MiB is hashed.
_CONVERSION_BLOCK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class PreparedArray:
    """Array to be written to a file, and its dtype in the file."""

    path: str
    value: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def kind(self) -> str:
        """Name of the dtype in files."""
        return name_dtype(self.path, self.dtype)

    @property
    def nbytes(self) -> int:
        """Number of bytes of the array in the file."""
        return prod(self.shape) * self.dtype.itemsize

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  # NumPy's protocol
        del copy
        blocks = list(self.blocks())
        data = np.concatenate(blocks) if blocks else np.empty(0, np.uint8)
        array = data.view(self.dtype).reshape(self.shape)
        return array if dtype is None else array.astype(dtype)

    def blocks(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the bytes in blocks of whole MiB; the last block may be shorter."""
        array = to_numpy(self.path, self.value)
        # np.ascontiguousarray makes a 0-d array 1-d.
        flat = np.ascontiguousarray(array).reshape(-1)
        if flat.dtype == self.dtype:
            yield from [flat.view(np.uint8)] if flat.size else []
            return
        count = _CONVERSION_BLOCK_BYTES // self.dtype.itemsize
        for start in range(0, flat.size, count):
            part = convert_floats(self.path, flat[start : start + count], self.dtype)
            yield part.view(np.uint8)


def prepare_array(path: object, value: Any) -> PreparedArray:
    """Prepare an array for writing; raise if a reader would not accept the array."""
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
            f"{path}: a record cannot store a masked array; pass the values as "
            "array.filled(...), and the mask as another array"
        )
    # The dtype of lazy arrays is known; their values are read when the file is written.
    known = isinstance(getattr(value, "dtype", None), np.dtype)
    held = value if known else to_numpy(path, value)
    dtype = held.dtype.newbyteorder("=")
    name_dtype(path, dtype)
    return PreparedArray(path, held, tuple(held.shape), dtype)


def to_numpy(path: str, value: Any) -> NDArray[Any]:
    """Convert a value to a NumPy array; ignore the gradient of a PyTorch parameter."""
    detach = getattr(value, "detach", None)
    try:
        plain: Any = detach() if callable(detach) else value
        if str(getattr(plain, "dtype", "")) == "torch.bfloat16":
            # NumPy has no bfloat16; ml_dtypes.bfloat16 has the same bits as in PyTorch.
            bits = plain.cpu().contiguous().view(sys.modules["torch"].int16).numpy()
            return bits.view(ml_dtypes.bfloat16)
        return np.asarray(plain)
    except SeqloomError:
        raise
    except ValueError as error:  # for example, nested lists of different lengths
        raise RecordError(f"the values of {path} are not an array: {error}") from None
    except Exception as error:  # another library's conversion may raise any exception
        raise RecordError(
            f"{path}: a {type(value).__name__} cannot be converted to a NumPy array "
            f"({error})"
        ) from error


def convert_floats(path: str, array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert floats to another dtype; raise if a finite number would become infinite."""
    with np.errstate(all="ignore"):
        converted = array.astype(dtype)
    if array.dtype.newbyteorder("=") == dtype:
        return converted
    lost = ~np.isfinite(converted)
    if lost.any() and (lost := lost & np.isfinite(array)).any():
        raise RecordError(
            f"{path} contains {array[lost].flat[0]}, which is out of range for {dtype}; "
            "choose another precision for this array"
        )
    return converted
