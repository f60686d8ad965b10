"""NumPy's elementwise functions, with used memory for large results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor.backends._numpy._blocks import fresh

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[Any]

# fmt: off
# Functions whose results have the type of their floats.
ARITHMETIC = frozenset({
    "abs", "add", "ceil", "cos", "divide", "exp", "expm1", "floor", "log", "log1p",
    "maximum", "minimum", "multiply", "negative", "pow", "sign", "sin", "sqrt", "square",
    "subtract", "tanh",
})
# fmt: on
_LARGE = 65_536  # numbers: from here on, new memory costs more than asking for used


def elementwise(name: str) -> Callable[..., Floats]:
    """A function of NumPy's under its name; where it can, in memory that was used before.

    Args:
        name: The name, as in the Array API standard.

    Returns:
        The function itself, or one of the same arguments that knows it as `ufunc`.
    """
    ufunc: Any = getattr(np, name)
    if name not in ARITHMETIC:
        return ufunc
    return _of_one(ufunc) if ufunc.nin == 1 else _of_two(ufunc)


def _of_one(ufunc: np.ufunc) -> Callable[..., Floats]:
    """A function of one array."""

    def call(x: Any, out: Floats | None = None) -> Floats:
        if (
            out is None
            and type(x) is np.ndarray
            and x.size >= _LARGE
            and x.dtype.kind == "f"
        ):
            out = fresh(x.shape, x.dtype)
        return ufunc(x) if out is None else ufunc(x, out=out)

    return _known(call, ufunc)


def _of_two(ufunc: np.ufunc) -> Callable[..., Floats]:
    """A function of two arrays, or of an array and a number."""

    def call(x: Any, y: Any, out: Floats | None = None) -> Floats:
        if out is None and type(x) is np.ndarray and x.size >= _LARGE:
            out = _room(x, y)
        return ufunc(x, y) if out is None else ufunc(x, y, out=out)

    def of_arrays(x: Any, y: Any) -> Floats:
        return ufunc(x, y) if x.size < _LARGE else call(x, y)

    known = _known(call, ufunc)
    known.of_arrays = _known(of_arrays, ufunc)
    return known


def _known(call: Any, ufunc: np.ufunc) -> Any:
    """The function, with NumPy's own noted on it."""
    call.ufunc = ufunc
    return call


def _room(x: Floats, y: Any) -> Floats | None:
    """Memory for a result of x's shape and type; ``None`` where it may have others."""
    if x.dtype.kind != "f":
        return None
    if type(y) is float or type(y) is int:
        return fresh(x.shape, x.dtype)
    if type(y) is not np.ndarray or y.dtype != x.dtype:
        return None
    same = y.shape == x.shape or y.shape == x.shape[x.ndim - y.ndim :]
    return fresh(x.shape, x.dtype) if same or y.ndim == 0 else None
