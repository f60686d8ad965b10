"""A capture whose sizes stay visible: what makes an array of a size is an operation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from seqloom.tensor._compile._capture import Capture
from seqloom.tensor._compile._symbol import has_symbol

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np


class ExportCapture(Capture):
    """Records a forward call, with the functions that make arrays of a given shape.

    A compiled step computes these once, because it has one shape; a graph has any.
    """

    def record(self, name: str, *args: Any, **options: Any) -> Any:
        """Records one call; computes one of known arrays, which no size makes."""
        if name not in _MAKERS or has_symbol(args):
            return super().record(name, *args, **options)
        written, shape = _MAKERS[name](*args, **options)
        dtype = self._dtype_of(name, args, options)
        kept = {"k": options["k"]} if options.get("k") else {}
        maker = "zeros" if name == "empty" else name
        made = self.recorder.write(
            maker, written, {"dtype": dtype, **kept}, [(shape, dtype)]
        )
        return made[0]

    def _dtype_of(self, name: str, args: tuple[Any, ...], options: Any) -> np.dtype[Any]:
        """Finds the element type, from an array of the same call that is small."""
        small = args if name in {"arange", "eye"} else ((), *args[1:])
        small = (1,) if name == "eye" else small
        return self.target.dtype(getattr(self.target, name)(*small, **options))


def _of_shape(shape: Any, *rest: Any, **_: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Gives the arguments of zeros and ones: the shape."""
    del rest
    is_one = not isinstance(shape, (tuple, list))
    sizes = tuple(map(int, (shape,) if is_one else cast("Any", shape)))
    return (sizes,), sizes


def _of_value(shape: Any, value: Any, **_: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Gives the arguments of full: the shape and the value."""
    sizes = _of_shape(shape)[1]
    return (sizes, value), sizes


def _of_range(
    start: Any, stop: Any = None, step: Any = 1, **_: Any
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Gives the arguments of arange: start, stop and step."""
    start, stop = (0, start) if stop is None else (start, stop)
    return (start, stop, step), (max(0, math.ceil((stop - start) / step)),)


def _of_diagonal(
    rows: int, columns: int | None = None, **_: Any
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Gives the arguments of eye: rows and columns."""
    shape = (rows, rows if columns is None else columns)
    return shape, shape


_MAKERS: dict[str, Callable[..., tuple[tuple[Any, ...], tuple[int, ...]]]] = {
    "arange": _of_range,
    "empty": _of_shape,
    "eye": _of_diagonal,
    "full": _of_value,
    "ones": _of_shape,
    "zeros": _of_shape,
}
