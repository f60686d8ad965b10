"""Param and Buffer: what a module holds of numbers."""

from __future__ import annotations

import copy
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom.errors import ArgumentError, DTypeError, RecordError, ShapeError
from seqloom.tensor import Tensor, backend as find_backend
from seqloom.tensor._compile._substitute import check_declared
from seqloom.tensor._derivatives import is_recomputing
from seqloom.tensor._element_types import misfit
from seqloom.tensor._leaves import Leaf

if TYPE_CHECKING:
    from seqloom._key import Key
    from seqloom.nn._initialisers import Initialiser
    from seqloom.tensor._backend import Array, Backend

_ids = count(1)

# The parameters that the running `value_and_grad` of this thread follows, by their id.
lifted: ContextVar[dict[int, Tensor] | None] = ContextVar("lifted", default=None)


class Stored(Leaf):
    """Numbers that belong to a module: declared first, made on first use.

    Args:
        shape: The lengths of the axes.
        initial: How the first values are made.

    Attributes:
        id: A number that no other has in this process; gradients are kept by it.
        path: Where it stands in its model, once bound.
        dtype: The name of the element type.
        version: How often it was written.
    """

    def __init__(self, shape: tuple[int, ...], initial: Initialiser) -> None:
        super().__init__(None, None)
        self.shape = shape
        self.initial = initial
        self.id = next(_ids)
        self.path = ""
        self.dtype = "float32"
        self._key: Key | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy is another one: gradients of both must not meet under one id."""
        vars(self).update(state)
        self.id = next(_ids)

    def bind(self, path: str, backend: Backend, key: Key) -> None:
        """Says where it stands, on which backend and from which key it is made."""
        self.path, self.backend, self._key = path, backend, key

    @property
    def static(self) -> Any:
        """What of it decides the program of a step."""
        return (self.purpose, self.path, self.shape, self.dtype)

    @property
    def value(self) -> Tensor:
        """The numbers as a tensor, which keeps its values when these change."""
        return Tensor(self.lend(), self.bound_backend)

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
        return self.bound_backend.to_numpy(self.storage()).copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """A copy of the numbers, as `numpy` gives it."""
        if copy is False:
            raise ArgumentError(
                "a parameter leaves as a copy, since a step writes its memory; leave out "
                "copy=False"
            )
        return np.asarray(self.numpy(), dtype=dtype)

    def assign(self, values: Any) -> None:
        """Replaces the numbers.

        Args:
            values: An array or tensor of the same shape; converted to the element type.

        Raises:
            ShapeError: The shape is another.
            DTypeError: The element type cannot hold the numbers: complex ones, or such
                that would become infinite.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(1, 1).bind("numpy", sl.Key(0))
            >>> layer.bias.assign([2.0])
            >>> layer.bias.numpy().tolist()
            [2.0]
        """
        backend = self.bound_backend
        if problem := self.misfit(values):
            raise DTypeError(f"{self.path or 'a parameter'}: the new value {problem}")
        # An array is converted before it comes to a library that may lack its type.
        is_tensor = isinstance(values, Tensor)
        raw = values.detach().raw if is_tensor else np.asarray(values).astype(self._kind())
        array = backend.astype(backend.asarray(raw), self.dtype)
        if tuple(array.shape) != self.shape:
            name, found = self.path or "a parameter", tuple(array.shape)
            raise ShapeError(f"{name} has shape {self.shape}, got {found}")
        # A copy of its own: what came in may be written later by its owner.
        self.put(backend.multiply(array, 1))

    def misfit(self, values: Any) -> str | None:
        """What of new values the element type would lose."""
        kind = self._kind()
        if not isinstance(values, Tensor):
            return misfit(np.asarray(values), kind)
        # Of a tensor its type alone is asked: nobody waits for a device.
        is_complex = values.dtype.kind == "c" and kind.kind != "c"
        return f"holds complex numbers, expected {kind}" if is_complex else None

    def move(self, backend: Backend, dtype: str | None = None) -> None:
        """Goes to another backend, or another element type; what is not yet made stays so.

        Args:
            backend: Where the numbers live from now on.
            dtype: The name of their element type; default: as before.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(1, 1).bind("numpy", sl.Key(0))
            >>> layer.bias.move(sl.tensor.backend("numpy"), "float64")
            >>> layer.bias.value.dtype
            dtype('float64')
        """
        before, self.dtype = self.bound_backend, dtype or self.dtype
        if self.array is not None:
            values = before.to_numpy(self.array).astype(self._kind())
            self.put(backend.asarray(values, copy=True))
        self.backend = backend

    def _kind(self) -> np.dtype[Any]:
        """The element type as NumPy's."""
        plain = find_backend("numpy")
        return plain.dtype(plain.zeros((), dtype=self.dtype))

    def storage(self) -> Array:
        """The storage itself, for a reader who is done before the next write."""
        check_declared(self)
        if self.array is None:
            backend = self.bound_backend
            made = self.initial(backend, self._key, self.shape)  # pyright: ignore[reportArgumentType]
            self.array = backend.astype(made, self.dtype)
        return self.array

    def on(self, backend: Backend) -> Array:
        """The array, which `move` alone takes to another backend."""
        del backend
        return self.storage()

    def copy(self) -> Self:
        """Another one of the same numbers."""
        twin = copy.copy(self)
        if self.array is not None:
            twin.array, twin.lent = self.lend(), True
        return twin

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

    purpose = "parameters"

    def __init__(
        self, shape: tuple[int, ...], initial: Initialiser, *, trainable: bool = True
    ) -> None:
        super().__init__(shape, initial)
        self.trainable = trainable

    @property
    def static(self) -> Any:
        """What of it decides the program of a step: frozen ones are not followed."""
        return (Param, self.path, self.shape, self.dtype, self.trainable)

    @property
    def value(self) -> Tensor:
        """The numbers as a tensor; followed inside `value_and_grad`."""
        followed = lifted.get()
        if followed is not None and self.id in followed:
            return followed[self.id]
        return Tensor(self.lend(), self.bound_backend)


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

    purpose = "buffers"

    def assign(self, values: Any) -> None:
        """Replaces the numbers; does nothing while a checkpoint computes once more.

        Args:
            values: An array or tensor of the same shape; converted to the element type.

        Raises:
            ShapeError: The shape is another.

        Examples:
            >>> import seqloom as sl
            >>> norm = sl.nn.BatchNorm1d(1).bind("numpy", sl.Key(0))
            >>> norm.running_mean.assign([2.0])
            >>> norm.running_mean.numpy().tolist()
            [2.0]
        """
        if not is_recomputing():
            super().assign(values)


def value_of(param: Param | None) -> Tensor | None:
    """The numbers of a parameter that may be absent."""
    return None if param is None else param.value
