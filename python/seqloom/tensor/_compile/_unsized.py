"""Functions whose result is as long as the values say: a program has no room for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from seqloom.errors import CaptureError
from seqloom.tensor._compile._symbol import Symbol
from seqloom.tensor._memory._origin import here

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend

# Refused by their own names, though some have default bodies.
UNSIZED = frozenset(
    {
        *("nonzero", "argwhere", "flatnonzero", "masked_select", "compress", "extract"),
        *("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
        "bincount",
    }
)

# Functions whose second argument is the key of an index.
INDEXING = frozenset({"index", "slice_update", "slice_add", "scatter_index"})


def check_sized(name: str, args: tuple[Any, ...]) -> None:
    """Refuses a call whose result's shape depends on values.

    Args:
        name: The function.
        args: Its arguments, a symbol among them.

    Raises:
        CaptureError: The shape is known only when the step runs.
    """
    if name in UNSIZED:
        _refuse(name)
    if name == "index" and any(_is_mask(part) for part in _parts(args[1])):
        _refuse("x[mask]")
    if name == "repeat" and isinstance(args[1], Symbol):
        _refuse("repeat")


def _refuse(name: str) -> NoReturn:
    """Names the line and the way out."""
    raise CaptureError(
        f"{here()}: the shape of what {name} gives depends on values, which a compiled "
        "step has only when it runs; use sl.tensor.where(mask, x, other) or a fixed number "
        "of elements, or do this outside of the step"
    )


def without_masks(target: Backend, key: Any) -> Any:
    """An index whose masks of known values are the numbers of their places.

    Args:
        target: Whose arrays the masks are.
        key: An index.

    Returns:
        One of the same meaning.
    """
    if not any(_is_known_mask(part) for part in _parts(key)):
        return key
    plain: list[Any] = []
    for part in _parts(key):
        if _is_known_mask(part) and part.ndim:
            places = np.nonzero(np.asarray(target.to_numpy(part)))
            plain += [target.asarray(each) for each in places]
        else:
            plain.append(part)
    return tuple(plain)


def _parts(key: Any) -> tuple[Any, ...]:
    """The parts of an index."""
    return cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)


def _is_mask(part: Any) -> bool:
    """Whether a part of an index is a symbol of truths."""
    return isinstance(part, Symbol) and part.dtype == np.bool_


def _is_known_mask(part: Any) -> bool:
    """Whether a part of an index is an array of truths that are known."""
    return not isinstance(part, Symbol) and "bool" in str(getattr(part, "dtype", ""))
