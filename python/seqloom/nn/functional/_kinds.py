"""Which element types a function takes: floats, and one type for all its arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import DTypeError
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

# The libraries' own types that were found to be of floats, by their ids: most calls look
# here only. They are held, so that no other type comes to have the id.
_FLOATS: dict[int, Any] = {}
_MOST = 64
_WHOLE = frozenset("biu")
LAYER = "weight", "x", "bias"
ATTENTION = "query", "key", "value"


def is_of_floats(x: Any) -> bool:
    """Whether an array holds neither whole numbers nor truths."""
    if type(x) is Tensor and id(x.raw.dtype) in _FLOATS:
        return True
    if _kind(x) in _WHOLE:
        return False
    if type(x) is Tensor and len(_FLOATS) < _MOST:
        own = x.raw.dtype
        _FLOATS[id(own)] = own
    return True


def require_floats(name: str, x: Any, called: str = "x") -> None:
    """Refuses whole numbers and truths, of which a function would make other numbers."""
    if is_of_floats(x):
        return
    raise DTypeError(
        f"{name}: {called} holds {x.dtype}, expected floats; pass "
        f'{called}.astype("float32")'
    )


def require_numbers(name: str, x: Any) -> None:
    """Refuses truths, which are no numbers to compare."""
    if _kind(x) == "b":
        raise DTypeError(
            f'{name}: x holds bool, expected numbers; pass x.astype("float32")'
        )


def require_alike(
    name: str, called: tuple[str, ...], first: Tensor, *others: Tensor | None
) -> None:
    """Refuses arrays that are not all of one type of floats.

    Args:
        name: The function.
        called: The names of its arguments, that of `first` first.
        first: The array whose type decides: the weight of a layer.
        *others: The other arrays; None for one that is not there.
    """
    try:
        own = first.raw.dtype
        for each in others:
            if each is not None and each.raw.dtype is not own:
                _compare(name, called, first, others)
                break
        if id(own) not in _FLOATS:
            require_floats(name, first, called[0])
    except AttributeError:  # one of them is no tensor, such as an array of NumPy's
        _compare(name, called, first, others)


def _compare(name: str, called: tuple[str, ...], first: Any, others: Sequence[Any]) -> None:
    """Raises for the first array of another type; one type may be several objects."""
    require_floats(name, first, called[0])
    for argument, x in zip(called[1:], others, strict=False):
        if _kind(x) is None or _kind(first) is None or x.dtype == first.dtype:
            continue
        remedy = f'pass {argument}.astype("{first.dtype}")'
        if _kind(x) == "c":
            remedy = "take its real part, or make both complex"
        raise DTypeError(
            f"{name}: {argument} holds {x.dtype}, expected {first.dtype}, the type of "
            f"{called[0]}; {remedy}"
        )


def _kind(x: Any) -> str | None:
    """The letter of an array's type; None for what is no array: `apply` looks at it."""
    is_array = isinstance(x, (Tensor, np.ndarray, np.generic))
    return cast("Any", x).dtype.kind if is_array else None
