"""Rows by number, and what lies around."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import (
    ArgumentError,
    CaptureError,
    DTypeError,
    OutOfRangeError,
    ShapeError,
)
from seqloom.nn.functional._geometry import number
from seqloom.nn.functional._operands import beside, require_below
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence


_WIDTH = np.dtype("int32").itemsize


def embedding(x: Any, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """The row of a table for each number.

    Args:
        x: Whole numbers from 0, of any shape ``(...)``; a tensor, array or list.
        weight: ``(rows, d)``.
        padding_idx: A row that gets no gradient.

    Returns:
        ``(..., d)``.

    Raises:
        DTypeError: `x` holds no whole numbers.
        OutOfRangeError: There is no such row.

    Examples:
        >>> import seqloom as sl
        >>> table = sl.tensor.backend("numpy").tensor([[1.0], [2.0], [3.0]])
        >>> embedding([2, 0], table).numpy().tolist()
        [[3.0], [1.0]]
    """
    ids = _whole(beside(weight, x))
    rows = apply("embedding", weight, ids)
    if padding_idx is None:
        return rows
    count = weight.shape[0]
    if not -count <= padding_idx < count:
        raise OutOfRangeError(f"padding_idx {padding_idx} names none of {count} rows")
    padding = apply("expand_dims", ids == padding_idx % count, axis=-1)
    return apply("where", padding, apply("stop_gradient", rows), rows)


def _whole(ids: Tensor) -> Tensor:
    """Whole numbers, none narrower than what every backend takes as places."""
    if ids.dtype.kind not in "iu":
        raise DTypeError(
            f"embedding: x holds {ids.dtype}, expected whole numbers; pass "
            'x.astype("int32")'
        )
    return ids.astype("int32") if ids.dtype.itemsize < _WIDTH else ids


def one_hot(x: Tensor, num_classes: int | None = None) -> Tensor:
    """1 at each number's place of a new last axis, 0 elsewhere.

    Args:
        x: Whole numbers from 0 to ``num_classes - 1``, of any shape ``(...)``. In a
            compiled step, or on a GPU, another number gives zeros.
        num_classes: The length of the new axis; default one more than the largest number,
            which a compiled step cannot know.

    Returns:
        ``(..., num_classes)``, int64.

    Raises:
        ArgumentError: There is no class.
        CaptureError: A compiled step gives no `num_classes`.
        OutOfRangeError: A number names none of them.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1, 0])
        >>> one_hot(x, 3).numpy().tolist()
        [[0, 1, 0], [1, 0, 0]]
    """
    given = _classes(x) if num_classes in {None, -1} else num_classes
    count = number("num_classes", given, 1)
    require_below("one_hot", x, count)
    return apply("one_hot", x, count, dtype="int64")


def _classes(x: Tensor) -> int:
    """One more than the largest number, as torch counts classes where nobody says."""
    if not x.size:
        raise ArgumentError("one_hot of no numbers cannot count classes: give num_classes")
    try:
        return int(x.max()) + 1
    except CaptureError:
        raise CaptureError(
            "one_hot without num_classes looks for the largest number, which a compiled "
            "step does not know: give num_classes"
        ) from None


def pad(
    x: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Puts places around the last axes.

    Args:
        x: A tensor.
        pad: Places before and after the last axis, then of the one before it, and so on;
            negative ones cut. ``"circular"`` cuts first, then goes round what is left.
        mode: ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        value: What ``"constant"`` puts there; default 0.

    Returns:
        A tensor with longer axes.

    Raises:
        ArgumentError: The mode is unknown, or `pad` has an odd length.
        ShapeError: There are more pairs than axes, or an axis is too short to be mirrored,
            repeated or cut so.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0])
        >>> pad(x, (1, 2)).numpy().tolist()
        [0.0, 1.0, 2.0, 3.0, 0.0, 0.0]
        >>> pad(x, (1, 2), mode="reflect").numpy().tolist()
        [2.0, 1.0, 2.0, 3.0, 2.0, 1.0]
    """
    if mode not in {"constant", *_SOURCES} or len(pad) % 2:
        raise ArgumentError(
            f"pad={list(pad)}, mode={mode!r}: give a pair for each axis, and one of "
            "constant, reflect, replicate, circular"
        )
    pairs = [(pad[place], pad[place + 1]) for place in range(0, len(pad), 2)][::-1]
    _require_room(x.shape, pairs, mode)
    if mode == "constant":
        widths = (*((0, 0),) * (x.ndim - len(pairs)), *pairs)
        return apply("pad", x, widths, value=value or 0)
    for axis, (before, after) in enumerate(pairs, x.ndim - len(pairs)):
        size = x.shape[axis]
        start, ring = 0, size
        if mode == "circular":  # round what negative widths leave
            start, ring = max(-before, 0), size + min(before, 0) + min(after, 0)
        places = [
            start + _SOURCES[mode](at - start, ring) for at in range(-before, size + after)
        ]
        x = apply("take", x, beside(x, np.asarray(places, np.int32)), axis=axis)
    return x


def _require_room(shape: Sequence[int], pairs: list[tuple[int, int]], mode: str) -> None:
    """Refuses pairs without an axis, and axes without enough places."""
    if len(pairs) > len(shape):
        raise ShapeError(f"pad: {len(pairs)} pairs for the {len(shape)} axes of {shape}")
    for size, widths in zip(reversed(shape), reversed(pairs), strict=False):
        grows = max(widths) > 0
        round_it = int(grows) - min(*widths, 0)  # at least one place to go round
        least = {"constant": 0, "reflect": max(widths) + 1, "circular": round_it}.get(
            mode, grows
        )
        if size < least or size + min(widths) < 0 or size + sum(widths) < 0:
            raise ShapeError(
                f"pad: an axis of {size} cannot be widened by {widths}: {mode}"
            )


def _reflected(at: int, size: int) -> int:
    """The place that a mirror at both ends shows."""
    return size - 1 - abs(size - 1 - abs(at))


def _repeated(at: int, size: int) -> int:
    """The nearest place."""
    return min(max(at, 0), size - 1)


def _wrapped(at: int, size: int) -> int:
    """The place on a ring."""
    return at % size


_SOURCES = {"reflect": _reflected, "replicate": _repeated, "circular": _wrapped}
