"""Reading and writing chosen places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._backend import Backend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[Any]


class Lookups(Backend):
    """What picks places, or adds into them."""

    def scatter_index(self, values: Floats, key: Any, shape: Sequence[int]) -> Floats:
        """Zeros of `shape` with values added at ``[key]``: the derivative of ``index``."""
        out = np.zeros(shape, values.dtype)
        if meets_each_place_once(key):
            out[key] = values
        else:
            np.add.at(out, key, values)
        return out


def meets_each_place_once(key: Any) -> bool:
    """Whether an index is of numbers and slices alone, so that no place repeats."""
    parts = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
    return all(part is None or isinstance(part, (int, slice, type(...))) for part in parts)
