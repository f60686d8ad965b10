"""The float types that ESM-2 computes in, and where one of them is slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom._arguments import as_choice
from seqloom.errors import BackendError
from seqloom.tensor._autocast import find_reason

if TYPE_CHECKING:
    from seqloom.tensor import Backend

_WIDE = ("float32", "float64")
_HALVES = ("bfloat16", "float16")


def check_dtype(backend: Backend, dtype: object) -> str:
    """Returns the name of a float type; refuses one that would be slower than float32."""
    name = as_choice("dtype", dtype, [*_WIDE, *_HALVES])
    if name in _HALVES and (reason := find_reason(backend, name)):
        raise BackendError(
            f'dtype="{name}": {reason}, so it would be slower than float32; load in '
            f'float32, or, to save memory, convert after: model.to(backend, "{name}")'
        )
    return name
