"""Checks and converts the arguments of functions to arrays of one backend and dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import DTypeError, OutOfRangeError
from seqloom.tensor import Tensor, apply
from seqloom.tensor._autocast import casting
from seqloom.tensor._backend import make_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def as_operand(x: Tensor, data: object, dtype: Any = None) -> Tensor:
    """Returns data as a tensor on the backend of `x`, cast to `dtype` if that is given."""
    if not isinstance(data, Tensor):
        # Copied: a gradient may read the array after the caller has changed it.
        return Tensor(make_array(data, dtype, x.backend), x.backend)
    return data if dtype is None or data.dtype == dtype else data.astype(dtype)


def make_range(x: Tensor, length: int) -> Tensor:
    """Returns whole numbers from 0, made on the device of `x`: nothing is copied there."""
    return Tensor(x.backend.arange(length, dtype="int32"), x.backend)


def read_host_array(data: Any) -> NDArray[Any] | None:
    """Returns data as a NumPy array; None if that would wait for a device."""
    raw: Any = data.raw if isinstance(data, Tensor) else data
    if isinstance(raw, np.ndarray):
        return cast("NDArray[Any]", raw)
    library = type(raw).__module__.partition(".")[0]
    if library not in {"torch", "jaxlib"}:
        return None if isinstance(data, Tensor) else np.asarray(raw)
    is_here = "cpu" in str(raw.device).lower()  # jax says CPU
    return np.asarray(raw) if is_here else None


def require_below(name: str, data: object, count: int) -> None:
    """Refuses integers outside of 0 to `count`, if they are on the host."""
    values = read_host_array(data)
    if values is None or not values.size:
        return
    least, most = values.min(), values.max()
    if least < 0 or most >= count:
        wrong = least if least < 0 else most
        raise OutOfRangeError(
            f"{name}: expected integers from 0 to {count - 1}, got {wrong}"
        )


def replace_negative(data: Tensor, count: int) -> Tensor:
    """Replaces negative integers, which an operation would count from the end."""
    if read_host_array(data) is not None:
        return data
    # An index out of range, which the operation refuses, or for which it gives NaN.
    return apply("where", data < 0, count, data)


# A cache: the dtype objects of the libraries that passed `is_inexact`, by `id`. The dict
# keeps them alive, so that no other object gets the same id.
_INEXACT: dict[int, Any] = {}


_CACHE_SIZE = 64
_INTEGER_OR_BOOL = frozenset("biu")  # codes of `dtype.kind`
# Argument names for `require_same_dtype`, the one whose dtype decides first.
LAYER = "weight", "x", "bias"
ATTENTION = "query", "key", "value"


def is_inexact(x: object) -> bool:
    """Returns False for an array of integers or bool; True for everything else."""
    if type(x) is Tensor and id(x.raw.dtype) in _INEXACT:
        return True
    if _kind(x) in _INTEGER_OR_BOOL:
        return False
    if type(x) is Tensor and len(_INEXACT) < _CACHE_SIZE:
        dtype = x.raw.dtype
        _INEXACT[id(dtype)] = dtype
    return True


def require_floats(name: str, x: Any, argument: str = "x") -> None:
    """Refuses integers and bool: the result would be truncated or wrong."""
    if is_inexact(x):
        return
    raise DTypeError(
        f"{name}: {argument} holds {x.dtype}, expected floats; pass "
        f'{argument}.astype("float32")'
    )


def require_numbers(name: str, x: object) -> None:
    """Refuses bool, which a function that compares numbers does not take."""
    if _kind(x) == "b":
        raise DTypeError(
            f'{name}: x holds bool, expected numbers; pass x.astype("float32")'
        )


def require_same_dtype(
    name: str, arguments: tuple[str, ...], first: Tensor, *others: Tensor | None
) -> None:
    """Refuses arrays unless all have the float or complex dtype of the first."""
    # `name` is the function's and `arguments` are the arrays', for the message.
    try:
        dtype = first.raw.dtype
        for other in others:
            if other is not None and other.raw.dtype is not dtype:
                _compare_dtypes(name, arguments, first, others)
                break
        if id(dtype) not in _INEXACT:
            require_floats(name, first, arguments[0])
    except AttributeError:  # one is not a Tensor, such as a NumPy array
        _compare_dtypes(name, arguments, first, others)


def _compare_dtypes(
    name: str, arguments: tuple[str, ...], first: Any, others: Sequence[Any]
) -> None:
    """Raises an error for the first array with another dtype; compares dtypes by value."""
    require_floats(name, first, arguments[0])
    if casting.get() is not None:
        return  # `autocast` makes them equal
    for argument, x in zip(arguments[1:], others, strict=False):
        if _kind(x) is None or _kind(first) is None or x.dtype == first.dtype:
            continue
        remedy = f'pass {argument}.astype("{first.dtype}")'
        if _kind(x) == "c":
            remedy = (
                f"take the real part of {argument}, or convert both to one complex dtype"
            )
        raise DTypeError(
            f"{name}: {argument} holds {x.dtype}, expected {first.dtype}, the dtype of "
            f"{arguments[0]}; {remedy}"
        )


def _kind(x: object) -> str | None:
    """Returns `dtype.kind` of an array; None for anything else, which `apply` checks."""
    is_array = isinstance(x, (Tensor, np.ndarray, np.generic))
    return cast("Any", x).dtype.kind if is_array else None
