"""Element types of parameters and buffers: their names, and what `to` makes of them."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import DTypeError
from seqloom.tensor import backend as find_backend

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend

DType = np.dtype[Any]

_WIDE_INTEGERS = frozenset({"int64", "uint64"})


def to_name(argument: str, dtype: Any) -> str:
    """Returns the name of an element type; refuses what is none."""
    kind = None
    with suppress(TypeError, ValueError, AttributeError):
        kind = kind_of(dtype if isinstance(dtype, str) else np.dtype(dtype).name)
    if kind is None or (kind.kind not in "biufc" and str(kind) != "bfloat16"):
        raise DTypeError(
            f'{argument} must be the name of an element type, such as "float32" or '
            f'"int64", got {dtype!r}'
        )
    return str(kind)


def to_float_name(argument: str, dtype: Any) -> str:
    """Returns the name of a float type; refuses other types."""
    name = to_name(argument, dtype)
    if not is_float(kind_of(name)):
        raise DTypeError(
            f'{argument} must be a float type, such as "float32", got {name!r}'
        )
    return name


@cache
def kind_of(name: str) -> DType:
    """Returns NumPy's type of a name; ``bfloat16`` too."""
    plain = find_backend("numpy")
    return plain.dtype(plain.zeros((), dtype=name))


def is_float(kind: DType) -> bool:
    """Whether a type is one of real floats, ``bfloat16`` included."""
    return kind.kind == "f" or str(kind) == "bfloat16"


def narrowed(name: str, wanted: str | None, least: str | None) -> str:
    """Returns the type that a move to the type `wanted` gives.

    Whole numbers and truths keep theirs; floats get the wanted one, or the least one if
    that has more bits; complex numbers change to other complex numbers only.
    """
    if wanted is None or not is_float(kind_of(name)):
        is_complex = wanted and kind_of(name).kind == kind_of(wanted).kind == "c"
        return wanted if wanted and is_complex else name
    is_too_narrow = least and kind_of(wanted).itemsize < kind_of(least).itemsize
    return least if least and is_too_narrow else wanted


def cast(backend: Backend, array: Any, name: str) -> Any:
    """Returns an array of a backend in the type of that name."""
    wanted = name
    if name in _WIDE_INTEGERS:  # jax has them as narrow ones
        wanted = str(backend.dtype(backend.asarray(np.zeros((), name))))
    return array if str(backend.dtype(array)) == wanted else backend.astype(array, wanted)


def copy_of(backend: Backend, array: Any) -> Any:
    """Returns a copy of an array, in a captured step too."""
    is_truth = backend.dtype(array).kind == "b"
    return backend.logical_or(array, array) if is_truth else backend.multiply(array, 1)


def misfit_of_type(given: DType, kind: DType) -> str | None:
    """Says what numbers of one type would lose in another, whatever their values."""
    if given.kind == "c" and kind.kind != "c":
        return f"holds complex numbers, expected {kind}"
    if kind.kind in "iub" and not np.can_cast(given, kind, "safe"):
        return f"holds {given}, expected {kind}; convert it first: .astype({str(kind)!r})"
    return None
