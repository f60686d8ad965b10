"""Param and Buffer: what a module holds of numbers."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from seqloom.errors import RecordError, ShapeError
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from seqloom._key import Key
    from seqloom.tensor._backend import Array, Backend

_ids = count(1)

# The parameters that the running `value_and_grad` of this thread follows, by their id.
lifted: ContextVar[dict[int, Tensor] | None] = ContextVar("lifted", default=None)


class Initialiser(Protocol):
    """Makes the first values of a parameter."""

    def __call__(self, backend: Backend, key: Key, shape: tuple[int, ...]) -> Array:
        """A new array of that shape."""
        ...


@dataclass(frozen=True, slots=True)
class Fill:
    """One number everywhere.

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
    """Uniform in ±1/sqrt(fan_in): torch's default for Linear and Conv (LeCun et al. 1998).

    Attributes:
        fan_in: The inputs that one output sums over.

    Examples:
        >>> import seqloom as sl
        >>> values = FanIn(4)(sl.tensor.backend("numpy"), sl.Key(0), (100,))
        >>> bool(abs(values).max() <= 0.5)
        True
    """

    fan_in: float

    def __call__(self, backend: Backend, key: Key, shape: tuple[int, ...]) -> Array:
        bound = self.fan_in**-0.5
        return backend.subtract(
            backend.multiply(backend.uniform(key, shape), 2 * bound), bound
        )


class Stored:
    """Numbers that belong to a module: declared first, made on first use.

    Args:
        shape: The lengths of the axes.
        initial: How the first values are made.

    Attributes:
        id: A number that no other has in this process; gradients are kept by it.
        path: Where it stands in its model, once bound.
        version: How often it was written.
    """

    def __init__(self, shape: tuple[int, ...], initial: Initialiser) -> None:
        self.shape = shape
        self.initial = initial
        self.id = next(_ids)
        self.path = ""
        self.version = 0
        self.backend: Backend | None = None
        self._key: Key | None = None
        self._array: Array = None
        self._lent = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy is another one: gradients of both must not meet under one id."""
        vars(self).update(state)
        self.id = next(_ids)

    def bind(self, path: str, backend: Backend, key: Key) -> None:
        """Says where it stands, on which backend and from which key it is made."""
        self.path, self.backend, self._key = path, backend, key

    @property
    def value(self) -> Tensor:
        """The numbers as a tensor, which keeps its values when these change."""
        self._lent = True
        return Tensor(self._stored(), self.bound_backend)

    @property
    def bound_backend(self) -> Backend:
        """The backend that the numbers are on."""
        if self.backend is None:
            raise RecordError(
                "this module is bound to no backend yet; make it by its config's init(), "
                'or call module.bind("numpy", sl.Key(0))'
            )
        return self.backend

    def numpy(self) -> Any:
        """A copy of the numbers as a NumPy array.

        Returns:
            A new ``numpy.ndarray``.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(2, 3).bind("numpy", sl.Key(0))
            >>> layer.weight.numpy().shape
            (3, 2)
        """
        return self.bound_backend.to_numpy(self._stored()).copy()

    def assign(self, values: Any) -> None:
        """Replaces the numbers.

        Args:
            values: An array or tensor of the same shape; converted to the element type.

        Raises:
            ShapeError: The shape is another.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(1, 1).bind("numpy", sl.Key(0))
            >>> layer.bias.assign([2.0])
            >>> layer.bias.numpy().tolist()
            [2.0]
        """
        backend = self.bound_backend
        raw = values.detach().raw if isinstance(values, Tensor) else values
        array = backend.astype(backend.asarray(raw), backend.zeros(()).dtype)
        if tuple(array.shape) != self.shape:
            name, found = self.path or "a parameter", tuple(array.shape)
            raise ShapeError(f"{name} has shape {self.shape}, got {found}")
        # A copy of its own: what came in may be written later by its owner.
        self._array, self._lent = backend.multiply(array, 1), False
        self.version += 1

    def writable(self) -> Array:
        """The storage, for a writer who changes it in place now.

        Whoever took the values before keeps them: storage that was lent is copied first.

        Returns:
            The backend's own array.
        """
        array = self._stored()
        if self._lent:
            self._array = array = self.bound_backend.multiply(array, 1)
            self._lent = False
        self.version += 1
        return array

    def _stored(self) -> Array:
        """The storage; made on first use."""
        if self._array is None:
            backend = self.bound_backend
            self._array = self.initial(backend, self._key, self.shape)  # pyright: ignore[reportArgumentType]
        return self._array

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.shape}"


class Param(Stored):
    """Numbers that are learned.

    Args:
        shape: The lengths of the axes.
        initial: How the first values are made; called on first use with the backend, a key
            of its own and the shape.
        trainable: Whether `value_and_grad` follows it.

    Examples:
        >>> import seqloom as sl
        >>> class Scale(sl.nn.Module):
        ...     factor: sl.nn.Param
        ...
        ...     def __call__(self, x):
        ...         return x * self.factor.value
        >>> scale = Scale(sl.nn.Param((1,), sl.nn.Fill(2.0))).bind("numpy", sl.Key(0))
        >>> scale(sl.tensor.backend("numpy").tensor([3.0])).item()
        6.0
    """

    def __init__(
        self, shape: tuple[int, ...], initial: Initialiser, *, trainable: bool = True
    ) -> None:
        super().__init__(shape, initial)
        self.trainable = trainable

    @property
    def value(self) -> Tensor:
        """The numbers as a tensor; followed inside `value_and_grad`."""
        followed = lifted.get()
        if followed is not None and self.id in followed:
            return followed[self.id]
        self._lent = True
        return Tensor(self._stored(), self.bound_backend)

    def storage(self) -> Array:
        """The storage itself, for a reader who is done before the next write."""
        return self._stored()


class Buffer(Stored):
    """Numbers that a module keeps but does not learn, such as running means.

    Args:
        shape: The lengths of the axes.
        initial: How the first values are made.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.Buffer((2,), sl.nn.Fill(0.0))
        Buffer(2,)
    """
