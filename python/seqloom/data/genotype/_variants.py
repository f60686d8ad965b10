"""Which variants of a file a caller means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data._frame import mask_by_id
from seqloom.data._position import positions
from seqloom.errors import ArgumentError, OutOfRangeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHOWN = 3


def choose_variants(ids: NDArray[Any], wanted: Any) -> NDArray[np.int64] | None:
    """Finds variants by names, positions, a mask or a slice."""
    if wanted is None:
        return None
    if isinstance(wanted, slice):
        chosen = np.arange(len(ids))[wanted].copy()
    else:
        wanted = mask_by_id("variants", wanted, ids.tolist)
        names = np.asarray([wanted] if isinstance(wanted, str) else wanted)
        is_text = names.dtype.kind in "UT"
        chosen = (
            _find_names(ids, names.tolist())
            if is_text
            else _check_positions(names, len(ids))
        )
    if not chosen.size:
        raise ArgumentError("variants must choose at least one variant, got none")
    return chosen


def _check_positions(wanted: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Checks positions, or takes a mask's."""
    try:
        return positions(wanted, count)
    except OutOfRangeError:
        shown = "a mask" if wanted.dtype == np.bool_ else "positions"
        raise OutOfRangeError(
            f"variants has {shown} beyond the {count:,} variants of the .bim"
        ) from None


def _find_names(ids: NDArray[Any], names: list[str]) -> NDArray[np.int64]:
    """Finds names, each of which must stand once."""
    order = np.argsort(ids, kind="stable")
    wanted = np.asarray(names, ids.dtype if ids.dtype.kind == "T" else np.str_)
    first = np.searchsorted(ids, wanted, side="left", sorter=order)
    count = np.searchsorted(ids, wanted, side="right", sorter=order) - first
    for problem, is_bad in (("is not in the .bim", count < 1), ("occurs twice", count > 1)):
        if is_bad.any():
            first_bad: list[int] = np.flatnonzero(is_bad)[:_SHOWN].tolist()
            bad = [names[at] for at in first_bad]
            raise ArgumentError(
                f"variants=: {int(is_bad.sum()):,} of {len(names):,} names: each of "
                f"{', '.join(map(repr, bad))} {problem}"
            )
    return order[first]
