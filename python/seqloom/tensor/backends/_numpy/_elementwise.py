"""NumPy's elementwise functions, with used memory for large results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor.backends._numpy._blocks import fresh
from seqloom.tensor.backends._numpy._kinds import FLOAT, promote_two, to_floats
from seqloom.tensor.backends._numpy._powers import by_products

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
# Functions that give fractions of integers too.
FRACTIONAL = frozenset({
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "copysign", "cos", "cosh",
    "divide", "exp", "expm1", "hypot", "log", "log10", "log1p", "log2", "logaddexp",
    "nextafter", "sin", "sinh", "sqrt", "tan", "tanh",
})
# fmt: on
_LARGE = 65_536  # numbers: from here on, new memory costs more than asking for used


def of_one(name: str) -> Callable[..., Floats]:
    """A function of NumPy's of one array; where it can, in memory that was used before.

    Args:
        name: The name, as in the Array API standard.

    Returns:
        The function itself, or one of the same arguments that knows it as `ufunc`.
    """
    ufunc: Any = getattr(np, name)
    if name in FRACTIONAL:
        return _fraction(_reusing(ufunc), ufunc)
    return _reusing(ufunc) if name in ARITHMETIC else ufunc


def of_two(name: str) -> Callable[..., Floats]:
    """A function of NumPy's of two arrays, or of one and a number, in their common type.

    Args:
        name: The name, as in the Array API standard.

    Returns:
        A function that knows NumPy's as `ufunc`; and as `of_arrays`, the shorter way where
        both are arrays of floats.
    """
    ufunc: Any = getattr(np, name)
    function = _reusing_of_two(ufunc) if name in ARITHMETIC else ufunc
    function = by_products(function) if name == "pow" else function
    shared = _fraction_of_two(function) if name in FRACTIONAL else _met(function)
    known = _note_ufunc(shared, ufunc)
    known.of_arrays = _note_ufunc(_of_floats(function, ufunc), ufunc)
    return known


def _reusing(ufunc: np.ufunc) -> Callable[..., Floats]:
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

    return _note_ufunc(call, ufunc)


def _fraction(function: Callable[..., Floats], ufunc: np.ufunc) -> Callable[..., Floats]:
    """A function of one array, of integers as of floats."""

    def call(x: Any, out: Floats | None = None) -> Floats:
        if getattr(x, "dtype", FLOAT) is not FLOAT:
            x = to_floats(x)
        elif type(x) is np.ndarray and x.size < _LARGE and out is None:
            return ufunc(x)
        return function(x, out)

    return _note_ufunc(call, ufunc)


def _reusing_of_two(ufunc: np.ufunc) -> Callable[..., Floats]:
    """A function of two arrays, or of an array and a number."""

    def call(x: Any, y: Any, out: Floats | None = None) -> Floats:
        if out is None and type(x) is np.ndarray and x.size >= _LARGE:
            out = _room(x, y)
        return ufunc(x, y) if out is None else ufunc(x, y, out=out)

    return call


def _of_floats(function: Callable[..., Floats], ufunc: np.ufunc) -> Callable[..., Floats]:
    """A function of two arrays of floats, in which NumPy promotes as the standard."""

    def call(x: Any, y: Any) -> Floats:
        return ufunc(x, y) if x.size < _LARGE else function(x, y)

    return call


def _met(function: Callable[..., Floats]) -> Callable[..., Floats]:
    """A function of two, which are brought to their common type where they differ."""

    def call(x: Any, y: Any, out: Floats | None = None) -> Floats:
        one, other = getattr(x, "dtype", None), getattr(y, "dtype", None)
        if one is not other and not (
            (one is FLOAT or one is None) and (other is FLOAT or other is None)
        ):
            x, y = promote_two(x, y)
        return function(x, y) if out is None else function(x, y, out)

    return call


def _fraction_of_two(function: Callable[..., Floats]) -> Callable[..., Floats]:
    """A function of two, of integers as of floats."""

    def call(x: Any, y: Any, out: Floats | None = None) -> Floats:
        one, other = getattr(x, "dtype", None), getattr(y, "dtype", None)
        if not ((one is FLOAT or one is None) and (other is FLOAT or other is None)):
            x, y = map(to_floats, promote_two(x, y))
        return function(x, y) if out is None else function(x, y, out)

    return call


def _note_ufunc(call: Any, ufunc: np.ufunc) -> Any:
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
