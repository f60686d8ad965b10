"""Initialisers of parameters: a key gives the same bits on every machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from seqloom._key import Key
    from seqloom.tensor._backend import Array, Backend


class Initialiser(Protocol):
    """Makes the initial values of a parameter."""

    def __call__(self, backend: Backend, key: Key, shape: tuple[int, ...]) -> Array:
        """Returns a new array of the shape."""
        ...


@dataclass(frozen=True, slots=True)
class Fill:
    """Fills a parameter with one number.

    Attributes:
        value: The number.

    Examples:
        >>> import seqloom as sl
        >>> Fill(1.0)(sl.tensor.backend("numpy"), sl.Key(0), (2,)).tolist()
        [1.0, 1.0]
    """

    value: float

    def __call__(self, backend: Backend, key: Key, shape: tuple[int, ...]) -> Array:  # noqa: ARG002
        return backend.multiply(backend.ones(shape), self.value)


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
