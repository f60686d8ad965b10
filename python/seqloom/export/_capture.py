"""A capture whose sizes stay visible: what makes an array of a size is an operation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from seqloom.tensor._backend import Backend
from seqloom.tensor._compile._capture import Capture
from seqloom.tensor._compile._symbol import has_symbol
from seqloom.tensor._defaults import to_sizes
from seqloom.tensor._scope._origin import caller, current_line, is_internal

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np


class Line(str):
    """A line of the user's code, with the layer or function of `sl.nn` that it runs."""

    __slots__ = ("function", "layer")
    layer: str
    function: str

    @classmethod
    def current(cls) -> Line:
        """Finds the line that is running now, and the innermost layer that it calls."""
        found, frame = cls(current_line()), caller(1)
        found.layer = found.function = ""
        while not found.layer and is_internal(frame.f_code.co_filename):
            folder, name = frame.f_code.co_filename.split("/")[-2], frame.f_code.co_name
            if folder == "_layers":
                found.layer = type(frame.f_locals.get("self")).__name__
            elif folder == "functional" and not name.startswith("_"):
                found.function = f"sl.nn.functional.{name}"
            if frame.f_back is None:
                break
            frame = frame.f_back
        return found


class ExportCapture(Capture):
    """Records a forward call, with the functions that make arrays of a given shape.

    A compiled step computes these once, because it has one shape; a graph has any.
    """

    keeps_sizes = True

    def record(self, name: str, *args: Any, **options: Any) -> Any:
        """Records one call; computes one of known arrays, which no size makes."""
        if name == "max_pool1d" and _is_beyond_kernel(**options):
            return Backend.max_pool1d(self, *args, **options)
        known = len(self.recorder.graph.operations)
        made = self._record(name, *args, **options)
        for operation in self.recorder.graph.operations[known:]:
            operation.where = Line.current()
        return made

    def _record(self, name: str, *args: Any, **options: Any) -> Any:
        """Records one call, and one that makes an array of a size."""
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


def _is_beyond_kernel(dilation: Any = 1, *, ceil_mode: bool = False, **_: Any) -> bool:
    """Tells whether a pool is recorded in parts: no reader's operation has its options."""
    return ceil_mode or to_sizes(dilation, 1) != (1,)


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
