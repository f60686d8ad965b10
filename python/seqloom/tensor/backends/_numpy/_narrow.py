"""Half precision on NumPy: stored narrow, computed in float32."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
NARROW = frozenset({np.dtype(np.float16), BFLOAT16})
_ARRAY: Any = np.ndarray  # of any shape and type


def widen(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose arithmetic is in float32 where an array is narrower."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if not _are_narrow(args):
            return function(*args, **options)
        out = options.pop("out", None)
        found = function(*_each(_wide, args), **options)
        if narrow := _narrow_type(function.__name__, [*_float_types(args)]):
            found = _narrow_all(function.__name__, found, narrow)
        return found if out is None else _put(found, out)

    return call


def _are_narrow(args: Any) -> bool:
    """Whether an array is of half precision; a list answers by its first."""
    for arg in args:
        if isinstance(arg, _ARRAY):
            if arg.itemsize == 2 and arg.dtype in NARROW:  # noqa: PLR2004
                return True
        elif type(arg) is list and _are_narrow(cast("list[Any]", arg)[:1]):
            return True
    return False


# Whose arrays have one rank: the standard promotes them. Elsewhere the first decides, the
# others being its weights, its mask and the like.
_PROMOTING = frozenset({"matmul", "tensordot"})


def _narrow_type(name: str, types: list[Any]) -> Any:
    """The type of half precision of a function's result; None where it is a wider one."""
    deciding = types if name in _PROMOTING else types[:1]
    is_narrow = types[0] in NARROW and all(dtype == types[0] for dtype in deciding)
    return types[0] if is_narrow else None


def _float_types(args: Any) -> Any:
    """The float types among the arguments."""
    for arg in args:
        if isinstance(arg, (list, tuple)):
            yield from _float_types(arg)
        elif isinstance(arg, _ARRAY) and (arg.dtype.kind == "f" or arg.dtype in NARROW):
            yield arg.dtype


# Whose second result is a log-sum-exp, which the gradient raises e to.
_WITH_SUMS = frozenset({"attention", "attention_varlen"})


def _narrow_all(name: str, found: Any, dtype: Any) -> Any:
    """A function's results in the type that went in."""
    if name in _WITH_SUMS:
        return _narrow(found[0], dtype), found[1]
    return _each(_narrow, found, dtype)


def _each(change: Callable[..., Any], found: Any, *with_: Any) -> Any:
    """Changes an array, or each of a list or a tuple of them."""
    if isinstance(found, (list, tuple)):
        parts = cast("list[Any]", found)
        kind = cast("Any", type(parts))
        return kind(_each(change, part, *with_) for part in parts)
    return change(found, *with_)


def _wide(x: Any) -> Any:
    """A narrow array in float32; anything else as it is."""
    narrow = isinstance(x, _ARRAY) and x.dtype in NARROW
    return x.astype(np.float32) if narrow else x


def _narrow(x: Any, dtype: Any) -> Any:
    """A float32 result in the type that went in."""
    wide = getattr(x, "dtype", None) == np.float32
    return np.asarray(x, dtype) if wide else x


def _put(found: Any, out: Any) -> Any:
    """A result, or each of several, in the memory that the caller gave."""
    if isinstance(found, tuple):
        parts = zip(cast("Any", found), out, strict=True)
        return tuple([_put(part, room) for part, room in parts])
    out[...] = found
    return out
