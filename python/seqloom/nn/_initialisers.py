"""Initialisers of parameters, the same bits on every machine; and their element types."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from seqloom.errors import DTypeError
from seqloom.tensor import backend as find_backend
from seqloom.tensor._elements import explain_misfit

if TYPE_CHECKING:
    from seqloom._key import Key
    from seqloom.tensor._backend import Array, Backend


class Initialiser(Protocol):
    """Makes the initial values of a parameter."""

    def __call__(self, backend: Backend, key: Key, shape: tuple[int, ...]) -> Array:
        """Return a new array of the shape.

        An initialiser that has an argument ``dtype`` gets the name of the element type.
        """
        ...


def initialise(
    initial: Initialiser,
    backend: Backend,
    key: Key | None,
    shape: tuple[int, ...],
    dtype: str,
) -> Array:
    """Call an initialiser, with the name of the element type if it takes that."""
    options = {"dtype": dtype} if "dtype" in signature(initial).parameters else {}
    return cast("Any", initial)(backend, key, shape, **options)


@dataclass(frozen=True, slots=True)
class Fill:
    """Fills a parameter with one number, which is exact in the parameter's own dtype.

    Attributes:
        value: The number.

    Examples:
        >>> import seqloom as sl
        >>> Fill(1.0)(sl.tensor.backend("numpy"), sl.Key(0), (2,)).tolist()
        [1.0, 1.0]
    """

    value: float

    def __call__(
        self,
        backend: Backend,
        key: Key,  # noqa: ARG002  # nothing is drawn
        shape: tuple[int, ...],
        dtype: str = "float32",
    ) -> Array:
        kind = kind_of(dtype)
        if problem := explain_misfit(np.asarray(self.value), kind):
            raise DTypeError(f"Fill({self.value!r}) {problem}")
        return backend.asarray(np.full(shape, self.value, kind))


@dataclass(frozen=True, slots=True)
class FanIn:
    """Draws uniformly from ±1/sqrt(fan_in), as torch for Linear and Conv (LeCun 1998).

    Attributes:
        fan_in: Number of inputs that each output sums over.

    Examples:
        >>> import seqloom as sl
        >>> values = FanIn(4)(sl.tensor.backend("numpy"), sl.Key(0), (100,))
        >>> bool(abs(values).max() <= 0.5)
        True
    """

    fan_in: float

    def __call__(self, backend: Backend, key: Key, shape: tuple[int, ...]) -> Array:
        bound = self.fan_in**-0.5 if self.fan_in else 0.0  # an output without inputs
        return backend.subtract(
            backend.multiply(backend.uniform(key, shape), 2 * bound), bound
        )


@dataclass(frozen=True, slots=True)
class Normal:
    """Draws from a normal distribution with mean 0, as torch for embeddings.

    Attributes:
        deviation: The standard deviation.

    Examples:
        >>> import seqloom as sl
        >>> values = Normal(0.02)(sl.tensor.backend("numpy"), sl.Key(0), (1000,))
        >>> bool(0.015 < values.std() < 0.025)
        True
    """

    deviation: float

    def __call__(self, backend: Backend, key: Key, shape: tuple[int, ...]) -> Array:
        return backend.multiply(backend.normal(key, shape), self.deviation)


DType = np.dtype[np.generic]

_WIDE_INTEGERS = frozenset({"int64", "uint64"})


def to_name(argument: str, dtype: Any) -> str:
    """Return the name of an element type; refuses what is none."""
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
    """Return the name of a float type; refuses other types."""
    name = to_name(argument, dtype)
    if not is_float(kind_of(name)):
        raise DTypeError(
            f'{argument} must be a float type, such as "float32", got {name!r}'
        )
    return name


@cache
def kind_of(name: str) -> DType:
    """Return NumPy's type of a name; ``bfloat16`` too."""
    plain = find_backend("numpy")
    return plain.dtype(plain.zeros((), dtype=name))


def is_float(kind: DType) -> bool:
    """Return whether a type is one of real floats, ``bfloat16`` included."""
    return kind.kind == "f" or str(kind) == "bfloat16"


def narrowed(name: str, wanted: str | None, least: str | None) -> str:
    """Return the type that a move to the type `wanted` gives.

    Whole numbers and truths keep theirs; floats get the wanted one, or the least one if
    that has more bits; complex numbers change to other complex numbers only.
    """
    if wanted is None or not is_float(kind_of(name)):
        is_complex = wanted and kind_of(name).kind == kind_of(wanted).kind == "c"
        return wanted if wanted and is_complex else name
    is_too_narrow = least and kind_of(wanted).itemsize < kind_of(least).itemsize
    return least if least and is_too_narrow else wanted


def cast_array(backend: Backend, array: Any, name: str) -> Any:
    """Return an array of a backend in the type of that name."""
    wanted = name
    if name in _WIDE_INTEGERS:  # jax has them as narrow ones
        wanted = str(backend.dtype(backend.asarray(np.zeros((), name))))
    return array if str(backend.dtype(array)) == wanted else backend.astype(array, wanted)


def copy_of(backend: Backend, array: Any) -> Any:
    """Return a copy of an array, in a captured step too."""
    is_truth = backend.dtype(array).kind == "b"
    return backend.logical_or(array, array) if is_truth else backend.multiply(array, 1)


def misfit_of_type(given: DType, kind: DType) -> str | None:
    """Say what numbers of one type would lose in another, whatever their values."""
    if given.kind == "c" and kind.kind != "c":
        return f"holds complex numbers, expected {kind}"
    if kind.kind in "iub" and not np.can_cast(given, kind, "safe"):
        return f"holds {given}, expected {kind}; convert it first: .astype({str(kind)!r})"
    return None
