"""A slow and simple .bed reader in NumPy."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BIT_SHIFTS = np.array([0, 2, 4, 6], np.uint8)


def read_reference(
    path: Path, shape: tuple[int, int], index: tuple[Any, Any], kind: str
) -> NDArray[Any]:
    """Read the individuals and variants of an index; missing genotypes are -127 or NaN."""
    content = np.frombuffer(path.read_bytes(), np.uint8)
    width, lines = shape if content[2] else shape[::-1]
    packed = content[3:].reshape(lines, -(-width // 4))
    codes = ((packed[:, :, None] >> _BIT_SHIFTS) & 3).reshape(lines, 4 * packed.shape[1])
    missing = -127 if kind == "int8" else np.nan
    values = np.array([2, missing, 1, 0], kind)[codes[:, :width]]
    whole = values.T if content[2] else values
    return whole[_rows(index[0])][:, _rows(index[1])]


def _rows(index: Any) -> Any:
    """Return an index that keeps its axis: an integer becomes a list."""
    if index is None or index is Ellipsis or isinstance(index, slice):
        return slice(None) if index is None else index
    array = np.atleast_1d(np.asarray(index))
    return array if array.size else array.astype(np.intp)


def encode(values: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Pack rows of 0, 1, 2 and -127 as rows of two-bit codes."""
    codes = np.ones((len(values), -(-values.shape[1] // 4) * 4), np.uint8)
    codes[:, values.shape[1] :] = 0
    for code, value in ((0, 2), (2, 1), (3, 0)):
        codes[:, : values.shape[1]][values == value] = code
    fours = codes.reshape(len(values), codes.shape[1] // 4, 4)
    return (fours << _BIT_SHIFTS).sum(2, dtype=np.uint8)
