"""The types of ESM-2's weights, and where one of them is slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom._arguments import as_choice
from seqloom.errors import BackendError
from seqloom.tensor._autocast import find_reason

if TYPE_CHECKING:
    from seqloom.tensor import Backend

_WIDE = ("float32", "float64")
INT8 = "int8"
_HALVES = ("bfloat16", "float16")


def check_dtype(backend: Backend, dtype: object) -> str:
    """Returns the name of a type; refuses one that would be slower than float32."""
    name = as_choice("dtype", dtype, [*_WIDE, *_HALVES, INT8])
    has_int8 = backend.name.partition(":")[0] in {"numpy", "torch"}
    if name == INT8 and not has_int8:
        raise BackendError(
            f'dtype="int8" is for the backends "numpy" and "torch" on a CPU, got '
            f"{backend.name!r}; load in float32"
        )
    if name == INT8 and backend.device != "cpu":
        raise BackendError(
            f'dtype="int8" is for a CPU, got the device {backend.device!r}; load in '
            '"bfloat16"'
        )
    if name in _HALVES and (reason := find_reason(backend, name)):
        others = 'dtype="int8" or "float32"' if has_int8 else 'dtype="float32"'
        raise BackendError(
            f'dtype="{name}": {reason}, so it would be slower than float32; use {others} '
            "(--dtype)"
        )
    return name
