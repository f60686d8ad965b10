"""Refuses functions whose result has a shape that depends on values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from seqloom.errors import CaptureError
from seqloom.tensor._compile._symbol import Symbol
from seqloom.tensor._origin import current_line

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend

# Refused by these names, although some have default bodies.
UNSIZED = frozenset(
    {
        *("nonzero", "argwhere", "flatnonzero", "masked_select", "compress", "extract"),
        *("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
        "bincount",
    }
)

# The second argument of these is an index.
INDEXING = frozenset({"index", "slice_update", "slice_add", "scatter_index"})


def require_known_shape(name: str, args: tuple[Any, ...]) -> None:
    """Refuses a call whose result has a shape that is known only when the step runs."""
    if name in UNSIZED:
        _refuse(name)
    if name == "index" and any(_is_mask(part) for part in _parts_of(args[1])):
        _refuse("x[mask]")
    if name == "repeat" and isinstance(args[1], Symbol):
        _refuse("repeat")


def _refuse(name: str) -> NoReturn:
    """Raises an error that names the line, and says what to do."""
    raise CaptureError(
        f"{current_line()}: the shape of the result of {name} depends on values, which a "
        "compiled step has only when it runs",
        advice="; use sl.tensor.where(mask, x, other) or a "
        "fixed number of elements, or do this outside of the step",
    )


def replace_known_masks(target: Backend, key: Any) -> Any:
    """Replaces each mask of known values in an index by the positions of its elements."""
    if not any(_is_known_mask(part) for part in _parts_of(key)):
        return key
    parts: list[Any] = []
    for part in _parts_of(key):
        if _is_known_mask(part) and part.ndim:
            positions = np.nonzero(np.asarray(target.to_numpy(part)))
            parts += [target.asarray(along_axis) for along_axis in positions]
        else:
            parts.append(part)
    return tuple(parts)


def _parts_of(key: object) -> tuple[Any, ...]:
    """Returns the parts of an index."""
    return cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)


def _is_mask(part: object) -> bool:
    """Returns True for a symbol of booleans."""
    return isinstance(part, Symbol) and part.dtype == np.bool_


def _is_known_mask(part: object) -> bool:
    """Returns True for an array of booleans whose values are known."""
    return not isinstance(part, Symbol) and "bool" in str(getattr(part, "dtype", ""))
