"""Initialisers of parameters: a key gives the same bits on every machine."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from seqloom.errors import DTypeError
from seqloom.nn._dtype import kind_of
from seqloom.tensor._elements import misfit

if TYPE_CHECKING:
    from seqloom._key import Key
    from seqloom.tensor._backend import Array, Backend


class Initialiser(Protocol):
    """Makes the initial values of a parameter."""

    def __call__(self, backend: Backend, key: Key, shape: tuple[int, ...]) -> Array:
        """Returns a new array of the shape.

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
    """Calls an initialiser, with the name of the element type if it takes that."""
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
        if problem := misfit(np.asarray(self.value), kind):
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
