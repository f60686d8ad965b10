"""Padding, and taking known places of an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.models._onnx._shapes import require_few
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.models._onnx._call import Call


def pad(call: Call) -> Any:
    """Adds values before and after axes."""
    x = call.tensor(0)
    widths = call.listed("pads", 1)
    axes = call.integers(3, "axes") if call.has(3) else [*range(x.ndim)]
    mode = call.word("mode", "constant", ("constant", "reflect", "edge", "wrap"))
    half = len(widths) // 2
    for axis, before, after in zip(axes, widths[:half], widths[half:], strict=True):
        x = _PAD[mode](call, x, axis=call.axis(axis, x.ndim), widths=(before, after))
        require_few(call, x.shape)
    return x


def _pad_constant(call: Call, x: Tensor, *, axis: int, widths: tuple[int, int]) -> Tensor:
    """Adds one number before and after an axis."""
    if widths == (0, 0):
        return x
    known = call.known(2, "value").item() if call.has(2) else call.attribute("value", 0)
    around = [(0, 0)] * x.ndim
    around[axis] = widths
    require_few(call, [n + sum(more) for n, more in zip(x.shape, around, strict=True)])
    return apply("pad", x, tuple(around), value=known)


def _pad_places(places: Callable[[int, int, int], Any]) -> Callable[..., Tensor]:
    """Makes a function that repeats the values at some places."""

    def add(call: Call, x: Tensor, *, axis: int, widths: tuple[int, int]) -> Tensor:
        before, after = widths
        if min(widths) < 0:
            call.refuse(f"cuts by pads={list(widths)}, which only mode=constant can")
        sizes = [n + sum(widths) * (at == axis) for at, n in enumerate(x.shape)]
        require_few(call, sizes)
        found = places(x.shape[axis], before, after)
        return x if widths == (0, 0) else take(x, found, axis)

    return add


def _reflected(length: int, before: int, after: int) -> Any:
    """Lists places that turn around at each end, which stand there once."""
    if length == 1:
        return np.zeros(before + 1 + after, np.int64)
    period = 2 * (length - 1)
    places = np.arange(-before, length + after) % period
    return np.where(places < length, places, period - places)


def _at_edge(length: int, before: int, after: int) -> Any:
    """Lists places that stay at each end."""
    return np.clip(np.arange(-before, length + after), 0, length - 1)


def _wrapped(length: int, before: int, after: int) -> Any:
    """Lists places that begin again after each end."""
    return np.arange(-before, length + after) % length


_PAD: dict[str, Callable[..., Tensor]] = {
    "constant": _pad_constant,
    "edge": _pad_places(_at_edge),
    "reflect": _pad_places(_reflected),
    "wrap": _pad_places(_wrapped),
}


def take(x: Tensor, places: Any, axis: int) -> Tensor:
    """Takes known places of an axis; a run of them as a slice."""
    shape, row = places.shape, places.ravel()
    step = int(row[1] - row[0]) if len(row) > 1 else 1
    if len(row) and step > 0 and (np.diff(row) == step).all() and row[0] >= 0:
        run = slice(int(row[0]), int(row[-1]) + 1, step)
        found = x[(*(slice(None),) * axis, run)]
    else:
        found = apply("take", x, np.ascontiguousarray(row, np.int64), axis=axis)
    new = (*x.shape[:axis], *shape, *x.shape[axis + 1 :])
    return found if found.shape == new else found.reshape(new)


OPERATORS: dict[str, Callable[[Call], Any]] = {"Pad": pad}
