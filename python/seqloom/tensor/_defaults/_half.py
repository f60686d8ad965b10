"""Half precision that is computed in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions


def widen(b: Functions, x: Array) -> Array:
    """An array of half precision as float32; others as they are."""
    is_half = b.dtype(x).name in {"float16", "bfloat16"}
    return b.astype(x, "float32") if is_half else x
