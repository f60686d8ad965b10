"""Checks dtypes: a function takes floats, and one dtype for all its arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import DTypeError
from seqloom.tensor import Tensor
from seqloom.tensor._autocast import casting

if TYPE_CHECKING:
    from collections.abc import Sequence

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
