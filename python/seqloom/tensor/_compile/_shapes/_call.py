"""One call during capture, and what only the backend itself can say about its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from seqloom.tensor._graph import Value
from seqloom.tensor._lower import flatten

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.tensor._backend import Array, Backend

Shape = tuple[int, ...]
Kind = tuple[Shape, np.dtype[Any]]


class Call(NamedTuple):
    """A call of a backend's function, with a `Value` instead of each array."""

    target: Backend
    name: str
    args: tuple[Any, ...]
    options: dict[str, Any]

    def get(self, position: int, name: str, default: Any = None) -> Any:
        """Returns an argument that may be passed by position or by name."""
        if len(self.args) > position:
            return self.args[position]
        return self.options.get(name, default)


# A rule gives a list where the function gives a tuple or list of arrays.
Rule = Callable[[Call], "Kind | list[Kind]"]

_dtypes: dict[object, np.dtype[Any]] = {}


def find_dtype(call: Call) -> np.dtype[Any]:
    """Finds the dtype of the first result: calls the function once on single elements."""
    target, name, args, options = call
    key = (type(target), name, _describe(args), _describe(tuple(options.items())))
    if key not in _dtypes:
        small = [
            _make_ones(target, arg, lambda value: (1,) * len(value.shape)) for arg in args
        ]
        with np.errstate(all="ignore"):  # 1 is outside the domain of atanh, for example
            result = getattr(target, name)(*small, **options)
        _dtypes[key] = target.dtype(flatten(result)[0])
    return _dtypes[key]


def promote(target: Backend, *values: Any) -> np.dtype[Any]:
    """Finds the dtype of a product or sum of values."""
    return find_dtype(Call(target, "multiply", values, {}))


def run_on_ones(call: Call) -> Kind | list[Kind]:
    """Finds the results of a function that has no rule and no body: calls it on ones."""
    target, name, args, options = call
    whole = [_make_ones(target, arg, lambda value: value.shape) for arg in args]
    result = getattr(target, name)(*whole, **options)
    kinds = [(tuple(array.shape), target.dtype(array)) for array in flatten(result)]
    return kinds if isinstance(result, (list, tuple)) else kinds[0]


def to_numpy_dtype(target: Backend, dtype: Any) -> np.dtype[Any]:
    """Returns an element type as NumPy's, for each way to name it."""
    if dtype in {float, int}:  # the backend has its own default for these
        return target.dtype(target.zeros((), dtype=dtype))
    try:
        return np.dtype(dtype)
    except TypeError:  # the library's own dtype
        return target.dtype(target.zeros((), dtype=dtype))


def like_first(call: Call) -> Kind:
    """Shape and dtype of the first argument."""
    return kind_of(call.args[0])


def kind_of(value: Value) -> Kind:
    """Shape and dtype of a value."""
    return value.shape, value.dtype


def make_bare(shape: Shape, dtype: type[Any] = bool) -> NDArray[Any]:
    """Makes an array of a shape that takes the memory of one element."""
    return np.broadcast_to(np.zeros((), np.dtype(dtype)), shape)


def _make_ones(target: Backend, arg: Any, shape_of: Callable[[Value], Shape]) -> Array:
    """Replaces each value in an argument by ones."""
    if isinstance(arg, Value):
        return 1.0 if arg.weak else target.ones(shape_of(arg), dtype=arg.dtype)
    if isinstance(arg, (list, tuple)):
        parts = [_make_ones(target, part, shape_of) for part in cast("list[Any]", arg)]
        return parts if isinstance(arg, list) else tuple(parts)
    # A size of an export is of a class of its own, which would decide the dtype.
    return int(arg) if isinstance(arg, int) and type(arg) is not bool else arg


def _describe(arg: object) -> object:
    """Returns all of an argument that may decide a dtype, hashable."""
    if isinstance(arg, Value):
        return (arg.dtype, len(arg.shape), arg.weak)
    if isinstance(arg, (list, tuple)):
        return tuple(_describe(part) for part in cast("list[object]", arg))
    return (type(arg), repr(arg))
