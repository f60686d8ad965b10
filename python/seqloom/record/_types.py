"""The element types of arrays in records, by their names in files."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from seqloom._arguments import quote
from seqloom.errors import RecordError

# The names of safetensors; all formats of this package use them.
TYPES: dict[str, np.dtype[Any]] = {
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
_NAMES = {dtype: name for name, dtype in TYPES.items()}
_SHOWN = 200  # characters of a name that an error shows
# The float types that a precision converts from and to, narrow ones first.
FLOATS = tuple(np.dtype(kind) for kind in ("f2", ml_dtypes.bfloat16, "f4", "f8"))


def find_type(file: str, path: str, name: object) -> np.dtype[Any]:
    """Returns the element type of a name in a file."""
    dtype = TYPES.get(name) if isinstance(name, str) else None
    if dtype is None:
        raise RecordError(
            f"{file}: {_shorten(path)} has the unknown dtype {_shorten(name)}; expected "
            f"one of {', '.join(TYPES)}"
        )
    return dtype


def require_shape(
    file: str, path: str, shape: tuple[int, ...], *, dtype: np.dtype[Any]
) -> None:
    """Refuses a shape that no array has: too many axes, or sizes beyond 64 bits."""
    try:
        np.broadcast_to(np.empty((), dtype), shape)
    except ValueError:
        raise RecordError(
            f"{file}: {_shorten(path)} has the impossible shape {quote(list(shape))}; the "
            "file is damaged, get it again"
        ) from None


def _shorten(name: object) -> str:
    """Shortens what a file calls something, for an error message."""
    text = str(name)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def name_type(path: str, dtype: np.dtype[Any]) -> str:
    """Returns the name of an element type; refuses one that no record can hold."""
    if dtype not in _NAMES:
        raise RecordError(
            f"{path} has dtype {dtype}, which a record cannot hold; expected one of "
            f"{', '.join(map(str, _NAMES))}"
        )
    return _NAMES[dtype]


def is_float(dtype: np.dtype[Any]) -> bool:
    """Returns True for the types that a precision converts: real floats."""
    return dtype in FLOATS or (dtype in _NAMES and _NAMES[dtype].startswith("F8"))
