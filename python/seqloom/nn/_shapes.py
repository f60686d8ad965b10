"""Padding, one-hot encoding, and modules that change shapes only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, CaptureError, ShapeError
from seqloom.nn._geometry import as_size
from seqloom.nn._module import Module
from seqloom.nn._operands import require_below
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence


def one_hot(x: Tensor, num_classes: int | None = None) -> Tensor:
    """Adds a last axis with 1 at the index of each integer, and 0 elsewhere.

    Args:
        x: Integers from 0 to ``num_classes - 1``, of any shape ``(...)``. In a compiled
            step, or on a GPU, another integer gives zeros.
        num_classes: Length of the new axis; default: one more than the largest integer,
            which is unknown in a compiled step.

    Returns:
        ``(..., num_classes)``, int64.

    Raises:
        ArgumentError: `num_classes` is below 1, or missing for an empty `x`.
        CaptureError: `num_classes` is missing in a compiled step.
        OutOfRangeError: An integer is not a class.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1, 0])
        >>> one_hot(x, 3).numpy().tolist()
        [[0, 1, 0], [1, 0, 0]]
    """
    if num_classes in {None, -1}:
        if not x.size:
            raise ArgumentError("one_hot needs num_classes, because x is empty")
        try:
            num_classes = int(x.max()) + 1
        except CaptureError:
            raise CaptureError(
                "one_hot in a compiled step needs num_classes: the default is found from "
                "the values of x, which are not known yet"
            ) from None
    count = as_size("num_classes", num_classes, 1)
    require_below("one_hot", x, count)
    return apply("one_hot", x, count, dtype="int64")


def pad(
    x: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Pads the last axes.

    Args:
        x: A tensor.
        pad: Number of elements to add before and after the last axis, then the one before
            it, and so on; a negative number cuts. ``"circular"`` cuts first, then repeats
            what remains.
        mode: ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        value: Value of ``"constant"``; default 0.

    Returns:
        A tensor with longer axes.

    Raises:
        ArgumentError: `mode` is unknown, or `pad` has an odd length.
        ShapeError: There are more pairs than axes, or an axis is too short for `mode`.

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
            f"pad must have two numbers for each axis, and mode must be constant, reflect, "
            f"replicate or circular, got pad={list(pad)} and mode={mode!r}"
        )
    pairs = [(pad[at], pad[at + 1]) for at in range(0, len(pad), 2)][::-1]
    if len(pairs) > len(x.shape):
        raise ShapeError(
            f"pad has {len(pairs)} pairs, but x of shape {x.shape} has {len(x.shape)} axes"
        )
    for size, widths in zip(reversed(x.shape), reversed(pairs), strict=False):
        grows = max(widths) > 0
        rest = int(grows) - min(*widths, 0)  # at least one element to repeat
        least = {"constant": 0, "reflect": max(widths) + 1, "circular": rest}.get(
            mode, grows
        )
        if size < least or size + min(widths) < 0 or size + sum(widths) < 0:
            raise ShapeError(
                f"pad: an axis of length {size} is too short for the widths {widths} with "
                f"mode={mode!r}"
            )
    if mode == "constant":
        widths = (*((0, 0),) * (x.ndim - len(pairs)), *pairs)
        return apply("pad", x, widths, value=value or 0)
    for axis, widths in enumerate(pairs, x.ndim - len(pairs)):
        x = _extend(x, axis, widths, mode) if any(widths) else x
    return x


def _extend(x: Tensor, axis: int, widths: tuple[int, int], mode: str) -> Tensor:
    """Adds repeated values at both ends of an axis; negative widths cut."""
    before, after = widths
    size = x.shape[axis]
    rest = _part(x, axis, slice(max(-before, 0), size + min(after, 0)))
    # Mirrors and copies are of the whole axis, rings of what negative widths leave.
    source = rest if mode == "circular" else x
    parts = [rest]
    if before > 0:
        parts.insert(0, _SOURCES[mode](source, axis, before, is_first=True))
    if after > 0:
        parts.append(_SOURCES[mode](source, axis, after, is_first=False))
    return apply("concat", parts, axis=axis) if len(parts) > 1 else rest


def _reflect(x: Tensor, axis: int, width: int, *, is_first: bool) -> Tensor:
    """Mirrors the values next to an end."""
    part = slice(1, width + 1) if is_first else slice(-width - 1, -1)
    return apply("flip", _part(x, axis, part), axis=axis)


def _replicate(x: Tensor, axis: int, width: int, *, is_first: bool) -> Tensor:
    """Repeats the value at an end."""
    end = _part(x, axis, slice(0, 1) if is_first else slice(-1, None))
    return apply("repeat", end, width, axis=axis)


def _wrap(x: Tensor, axis: int, width: int, *, is_first: bool) -> Tensor:
    """Takes the values of the other end; a wide padding goes around several times."""
    turns, rest = divmod(width, x.shape[axis])
    part = _part(x, axis, slice(-rest, None) if is_first else slice(0, rest))
    whole = [x] * turns
    parts = [part, *whole] if is_first else [*whole, part]
    parts = parts if rest else whole
    return parts[0] if len(parts) == 1 else apply("concat", parts, axis=axis)


def _part(x: Tensor, axis: int, part: slice) -> Tensor:
    """Slices one axis."""
    return x[(slice(None),) * axis + (part,)]


_SOURCES = {"reflect": _reflect, "replicate": _replicate, "circular": _wrap}


class Identity(Module):
    """Returns its input.

    Args:
        *args: Anything; it changes nothing.
        **options: Anything; it changes nothing.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.Identity()(3)
        3
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        del args, options

    def __call__(self, x: Any) -> Any:
        """Returns `x` itself."""
        return x


class Flatten(Module):
    """Joins neighbouring axes to one.

    Args:
        start_dim: First of the axes.
        end_dim: Last of the axes.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").zeros((2, 3, 4))
        >>> sl.nn.Flatten()(sl.tensor.backend("numpy").tensor(x)).shape
        (2, 12)
    """

    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def __call__(self, x: Tensor) -> Tensor:
        """Joins the axes of a tensor that has them."""
        return x.flatten(self.start_dim, self.end_dim)
