"""Torch's element types and NumPy's."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from seqloom.errors import DTypeError

_NAMES = (
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
# NumPy has these types of ml_dtypes only; older versions of torch lack some.
_NARROW = (
    "bfloat16",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
_TO_NUMPY: dict[torch.dtype, np.dtype[Any]] = {
    getattr(torch, name): np.dtype(name) for name in _NAMES
} | {
    getattr(torch, name): np.dtype(getattr(ml_dtypes, name))
    for name in _NARROW
    if hasattr(torch, name)
}
# Apart from the types: torch.compile of 2.10 and 2.11 cannot read a dictionary of those.
_OF_NAME = {ours.name: theirs for theirs, ours in _TO_NUMPY.items()}
_TO_TORCH: dict[Any, torch.dtype] = {float: torch.float32, int: torch.int64}
for _theirs, _ours in _TO_NUMPY.items():
    _TO_TORCH.update({_ours: _theirs, _ours.type: _theirs})


def to_torch(dtype: Any) -> torch.dtype:
    """The torch type of a name, a NumPy type, or itself."""
    if isinstance(dtype, torch.dtype):
        return dtype
    if isinstance(dtype, str) and dtype in _OF_NAME:
        return _OF_NAME[dtype]
    try:
        return _TO_TORCH[dtype]
    except (KeyError, TypeError):
        raise DTypeError(
            f"torch has no element type {dtype!r}; use one such as float32"
        ) from None


def to_numpy(dtype: torch.dtype) -> np.dtype[Any]:
    """The NumPy type of a torch type."""
    return _TO_NUMPY[dtype]
