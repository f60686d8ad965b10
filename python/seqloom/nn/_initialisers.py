"""Dtypes of parameters, and initialisers with equal values on every machine."""

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
    """Function that creates the initial values of a parameter."""

    def __call__(self, backend: Backend, key: Key, shape: tuple[int, ...]) -> Array:
        """Return a new array with this shape.

        If an initialiser has an argument ``dtype``, the name of the element type is
        passed.
        """
        ...


def call_initialiser(
    initial: Initialiser,
    backend: Backend,
    key: Key | None,
    shape: tuple[int, ...],
    dtype: str,
) -> Array:
    """Call an initialiser; if its signature has `dtype`, pass the element type's name."""
    options = {"dtype": dtype} if "dtype" in signature(initial).parameters else {}
    return cast("Any", initial)(backend, key, shape, **options)


@dataclass(frozen=True, slots=True)
class Fill:
    """Initialiser that sets all elements to the same value.

    Attributes:
        value: Value of all elements.

    Examples:
        >>> import seqloom as sl
        >>> Fill(1.0)(sl.tensor.backend("numpy"), sl.Key(0), (2,)).tolist()
        [1.0, 1.0]
    """

    value: float

    def __call__(
        self,
        backend: Backend,
        key: Key,  # noqa: ARG002  # no random numbers
        shape: tuple[int, ...],
        dtype: str = "float32",
    ) -> Array:
        kind = parse_dtype(dtype)
        if problem := explain_misfit(np.asarray(self.value), kind):
            raise DTypeError(f"Fill({self.value!r}) {problem}")
        return backend.asarray(np.full(shape, self.value, kind))


@dataclass(frozen=True, slots=True)
class FanIn:
    """Initialiser with a uniform distribution on ±1/sqrt(fan_in) (LeCun 1998).

    PyTorch initialises linear layers and convolutions with this distribution.

    Attributes:
        fan_in: Number of inputs from which each output is computed.

    Examples:
        >>> import seqloom as sl
        >>> values = FanIn(4)(sl.tensor.backend("numpy"), sl.Key(0), (100,))
        >>> bool(abs(values).max() <= 0.5)
        True
    """

    fan_in: float

    def __call__(self, backend: Backend, key: Key, shape: tuple[int, ...]) -> Array:
        bound = self.fan_in**-0.5 if self.fan_in else 0.0  # avoids division by 0
        return backend.subtract(
            backend.multiply(backend.uniform(key, shape), 2 * bound), bound
        )


@dataclass(frozen=True, slots=True)
class Normal:
    """Initialiser with a normal distribution of mean 0, as for embeddings in PyTorch.

    Attributes:
        deviation: Standard deviation.

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


def to_dtype_name(argument: str, dtype: Any) -> str:
    """Return the name of an element type; raise if there is no such type."""
    kind = None
    with suppress(TypeError, ValueError, AttributeError):
        kind = parse_dtype(dtype if isinstance(dtype, str) else np.dtype(dtype).name)
    if kind is None or (kind.kind not in "biufc" and str(kind) != "bfloat16"):
        raise DTypeError(
            f'{argument} must be the name of an element type, such as "float32" or '
            f'"int64", got {dtype!r}'
        )
    return str(kind)


def to_float_dtype_name(argument: str, dtype: Any) -> str:
    """Return the name of a float type; raise for any other type."""
    name = to_dtype_name(argument, dtype)
    if not is_float(parse_dtype(name)):
        raise DTypeError(
            f'{argument} must be a float type, such as "float32", got {name!r}'
        )
    return name


@cache
def parse_dtype(name: str) -> DType:
    """Return the NumPy dtype with this name, including ``bfloat16``."""
    numpy = find_backend("numpy")
    return numpy.dtype(numpy.zeros((), dtype=name))


def is_float(kind: DType) -> bool:
    """Return whether a dtype is a real float type, including ``bfloat16``."""
    return kind.kind == "f" or str(kind) == "bfloat16"


def find_dtype_after_move(name: str, wanted: str | None, least: str | None) -> str:
    """Return the dtype that an array has after a conversion to `wanted`.

    Integers and booleans keep their dtype. Floats are converted to the dtype `wanted`,
    or to `least` if `least` is wider. Complex arrays are only converted to complex
    dtypes.
    """
    if wanted is None or not is_float(parse_dtype(name)):
        is_complex = wanted and parse_dtype(name).kind == parse_dtype(wanted).kind == "c"
        return wanted if wanted and is_complex else name
    is_too_narrow = least and parse_dtype(wanted).itemsize < parse_dtype(least).itemsize
    return least if least and is_too_narrow else wanted


def cast_array(backend: Backend, array: Any, name: str) -> Any:
    """Convert an array of a backend to the dtype with this name."""
    wanted = name
    if name in _WIDE_INTEGERS:  # JAX may use 32-bit integers instead
        wanted = str(backend.dtype(backend.asarray(np.zeros((), name))))
    return array if str(backend.dtype(array)) == wanted else backend.astype(array, wanted)


def copy_array(backend: Backend, array: Any) -> Any:
    """Copy an array by an operation, so that a captured step also contains the copy."""
    is_boolean = backend.dtype(array).kind == "b"
    return backend.logical_or(array, array) if is_boolean else backend.multiply(array, 1)


def find_dtype_misfit(dtype: DType, kind: DType) -> str | None:
    """Return a message if values of one dtype cannot all be converted to another."""
    if dtype.kind == "c" and kind.kind != "c":
        return f"holds complex numbers, expected {kind}"
    if kind.kind in "iub" and not np.can_cast(dtype, kind, "safe"):
        return f"holds {dtype}, expected {kind}; convert it first: .astype({str(kind)!r})"
    return None
