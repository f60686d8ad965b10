"""Param and Buffer: the arrays of a module."""

from __future__ import annotations

import copy
import threading
from itertools import count
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom._system import run_after_fork
from seqloom.errors import ArgumentError, DTypeError, RecordError, ShapeError
from seqloom.nn._initialisers import (
    call_initialiser,
    cast_array,
    copy_array,
    find_dtype_after_move,
    find_dtype_misfit,
    is_float,
    parse_dtype,
    to_dtype_name,
    to_float_dtype_name,
)
from seqloom.nn._processes import find_tensor
from seqloom.record._array import to_numpy
from seqloom.tensor import Tensor
from seqloom.tensor._compile._symbol import require_declared_leaf
from seqloom.tensor._elements import explain_misfit
from seqloom.tensor._leaves import Leaf
from seqloom.tensor._replaced_gradients import is_recomputing

if TYPE_CHECKING:
    from seqloom._key import Key
    from seqloom.nn._initialisers import Initialiser
    from seqloom.tensor._backend import Array, Backend

_array_ids = count(1)


class _CreationLock:
    """Lock for the creation of arrays; replaced by a new lock in a forked process."""

    lock = threading.RLock()  # reentrant, because initialisers may read parameters

    @classmethod
    def renew(cls) -> None:
        """Replace the lock, which another thread may have held during the fork."""
        cls.lock = threading.RLock()


run_after_fork(_CreationLock.renew)


class ModuleArray(Leaf):
    """Array of a module; memory is allocated on first use.

    Args:
        shape: Shape of the array.
        initial: Initialiser of the values.
        dtype: Name of the element type.
        least_dtype: Name of the narrowest float type to which the array may be converted.

    Attributes:
        id: Number that is unique in this process; gradients are stored by this number.
        path: Path in the model; set when the model is bound to a backend.
        dtype: Name of the element type.
        least_dtype: Name of the narrowest float type that `Module.to` and a recorder may
            convert the array to; None for no limit.
        version: Number of times that the values were written.
        is_recorded: False if a record of the module omits the values because a
            different file contains them, such as the base model of adapters.
    """

    # Default for parameters that an earlier version of seqloom pickled.
    least_dtype: str | None = None
    is_recorded = True

    def __init__(
        self,
        shape: tuple[int, ...],
        initial: Initialiser,
        *,
        dtype: str = "float32",
        least_dtype: str | None = None,
    ) -> None:
        super().__init__(None, None)
        self.shape = shape
        self.initial = initial
        self.id = next(_array_ids)
        self.path = ""
        self.dtype = "float32" if dtype == "float32" else to_dtype_name("dtype", dtype)
        if least_dtype is not None:
            self.least_dtype = _check_least_dtype(self.dtype, least_dtype)
        self._key: Key | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set a new id in a copy, because gradients are stored by id."""
        super().__setstate__(state)
        self.id = next(_array_ids)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy the array; share the initialiser, which may be any object."""
        reduced: Any = self.__reduce_ex__(4)  # copies are made when a step is captured
        make, args, state = reduced[:3]
        twin = memo[id(self)] = make(*args)
        twin.__setstate__({**state, "array": copy.deepcopy(state["array"], memo)})
        return twin

    def bind(self, path: str, backend: Backend, key: Key) -> None:
        """Set the path, the backend, and the key that initialises the values."""
        if self.array is not None and self.backend is not backend:
            self.move(backend)  # move existing values to the new backend
        self.path, self.backend, self._key = path, backend, key

    @property
    def static(self) -> tuple[object, ...]:
        """Shape, dtype and path: part of the key of a compiled program."""
        return (self.purpose, self.path, self.shape, self.dtype)

    @property
    def value(self) -> Tensor:
        """Values as a tensor, which does not change if the parameter changes."""
        return Tensor(self.share(), self.bound_backend)

    @property
    def bound_backend(self) -> Backend:
        """Backend of the values."""
        if self.backend is None:
            raise RecordError(
                "the module is not bound to a backend; create it by its config's "
                'init(), or call module.bind("numpy", sl.Key(0))'
            )
        return self.backend

    def numpy(self) -> Any:
        """Return a copy of the values as a NumPy array.

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
        """Return a copy of the values, as `numpy` does."""
        if copy is False:
            raise ArgumentError(
                "a parameter cannot be shared with NumPy, because a step overwrites its "
                "memory; omit copy=False"
            )
        return np.asarray(self.numpy(), dtype=dtype)

    def assign(self, values: Any) -> None:
        """Replace the values.

        Args:
            values: Array or tensor with the shape of the current values. The new values
                are cast to the current dtype.

        Raises:
            ShapeError: `values` do not have the shape of the current values.
            DTypeError: `values` are complex or too large for the current dtype, or
                `values` is a tensor whose dtype is wider than the current integer
                dtype.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(1, 1).bind("numpy", sl.Key(0))
            >>> layer.bias.assign([2.0])
            >>> layer.bias.numpy().tolist()
            [2.0]
        """
        backend = self.bound_backend
        if problem := self.explain_misfit(values):
            raise DTypeError(f"{self.path or 'a parameter'}: the new value {problem}")
        # Cast an array in NumPy first, because the library may lack the array's type.
        is_tensor = isinstance(values, Tensor)
        raw = values.detach().raw if is_tensor else self._to_dtype(values)
        array = cast_array(backend, backend.asarray(raw), self.dtype)
        if tuple(array.shape) != self.shape:
            name, given = self.path or "a parameter", tuple(array.shape)
            raise ShapeError(f"{name} has shape {self.shape}, got values of shape {given}")
        # Copy, because the caller may overwrite its array later.
        self.put(copy_array(backend, array))

    def explain_misfit(self, values: Any) -> str | None:
        """Return a message if the element type cannot represent new values."""
        kind = parse_dtype(self.dtype)
        if not isinstance(values, Tensor):
            return explain_misfit(to_numpy(self.path or "a parameter", values), kind)
        # For a tensor, only check the type: reading the values would wait for the
        # device.
        return find_dtype_misfit(values.dtype, kind)

    def move(self, backend: Backend, dtype: str | None = None) -> None:
        """Move the values to another backend or element type.

        Args:
            backend: The new backend.
            dtype: Name of the new element type; default: the current type. Integers and
                booleans keep their type, and floats are not narrowed below `least_dtype`.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(1, 1).bind("numpy", sl.Key(0))
            >>> layer.bias.move(sl.tensor.backend("numpy"), "float64")
            >>> layer.bias.value.dtype
            dtype('float64')
        """
        before = self.bound_backend
        self.dtype = find_dtype_after_move(self.dtype, dtype, self.least_dtype)
        if self.array is not None:
            values = self._to_dtype(before.to_numpy(self.array))
            self.put(backend.asarray(values, copy=True))
        self.backend = backend

    def _to_dtype(self, values: Any) -> Any:
        """Convert values to a NumPy array of the element type."""
        array = to_numpy(self.path or "a parameter", values)
        return array.astype(parse_dtype(self.dtype))

    def storage(self) -> Array:
        """Return the stored array itself, which is valid until the next write."""
        require_declared_leaf(self)
        if self.array is not None:
            return self.array
        backend = self.bound_backend
        with _CreationLock.lock:  # another thread may have created the values
            if self.array is None:
                initial, key, shape = self.initial, self._key, self.shape
                values = call_initialiser(initial, backend, key, shape, self.dtype)
                self.array = cast_array(backend, values, self.dtype)
            return self.array

    def on(self, backend: Backend) -> Array:
        """Return the array; only the method `move` changes the array's backend."""
        del backend
        return self.storage()

    def copy(self) -> Self:
        """Return a copy with the same values."""
        twin = copy.copy(self)
        if self.array is not None:
            twin.array, twin.is_shared = self.share(), True
        return twin

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.shape}"


class Param(ModuleArray):
    """Trainable array of a module.

    Args:
        shape: Shape of the array.
        initial: Initialiser of the values. On first use, the initialiser is called with
            the backend, a key of this parameter, and the shape.
        trainable: If False, `value_and_grad` computes no gradient for the parameter.
        dtype: Name of the element type: a float or complex type.
        least_dtype: Name of the narrowest float type to which the parameter may be
            converted. With ``least_dtype="float32"``, the parameter is float32 even if
            the module or a record of the module is converted to float16.

    Raises:
        DTypeError: `dtype` is not a float or complex type, or `least_dtype` is not a
            float type or is wider than `dtype`.

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
        self,
        shape: tuple[int, ...],
        initial: Initialiser,
        *,
        trainable: bool = True,
        dtype: str = "float32",
        least_dtype: str | None = None,
    ) -> None:
        super().__init__(shape, initial, dtype=dtype, least_dtype=least_dtype)
        if self.dtype != "float32" and parse_dtype(self.dtype).kind in "iub":
            raise DTypeError(
                f'dtype of a Param must be a float type, such as "float32", got {dtype!r}, '
                "which has no gradient; use a Buffer for integers and booleans"
            )
        self.trainable = trainable

    @property
    def static(self) -> tuple[object, ...]:
        """Shape, dtype, path and `trainable`: part of the key of a compiled program."""
        return (Param, self.path, self.shape, self.dtype, self.trainable)

    @property
    def value(self) -> Tensor:
        """Values as a tensor, which records a gradient inside `value_and_grad`."""
        tracked = find_tensor(self.id, self.path)
        return Tensor(self.share(), self.bound_backend) if tracked is None else tracked


class Buffer(ModuleArray):
    """Array of a module that is saved but not trained, such as running means.

    Args:
        shape: Shape of the array.
        initial: Initialiser of the values.
        dtype: Name of the element type; integers (``"int64"``) and ``"bool"`` are
            allowed.
        least_dtype: Name of the narrowest float type to which the buffer may be
            converted, as for `Param`.
        optional: If True, a record may lack the buffer. A missing buffer keeps its
            value, and the report of `Module.load_record` lists the buffer.

    Raises:
        DTypeError: `dtype` is not an element type, or `least_dtype` is not a float type
            or is wider than `dtype`.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.Buffer((2,), sl.nn.Fill(0.0))
        Buffer(2,)
        >>> class Counter(sl.nn.Module):
        ...     seen: sl.nn.Buffer
        >>> counter = Counter(sl.nn.Buffer((), sl.nn.Fill(0), dtype="int64"))
        >>> counter.bind("numpy", sl.Key(0)).to("numpy", "float16").seen.value.dtype
        dtype('int64')
    """

    purpose = "buffers"
    is_optional = False

    def __init__(
        self,
        shape: tuple[int, ...],
        initial: Initialiser,
        *,
        dtype: str = "float32",
        least_dtype: str | None = None,
        optional: bool = False,
    ) -> None:
        super().__init__(shape, initial, dtype=dtype, least_dtype=least_dtype)
        if optional:
            self.is_optional = True

    def assign(self, values: Any) -> None:
        """Replace the values; do nothing while `checkpoint` recomputes.

        Args:
            values: Array or tensor with the shape of the current values. The new values
                are cast to the current dtype.

        Raises:
            ShapeError: `values` do not have the shape of the current values.

        Examples:
            >>> import seqloom as sl
            >>> norm = sl.nn.BatchNorm1d(1).bind("numpy", sl.Key(0))
            >>> norm.running_mean.assign([2.0])
            >>> norm.running_mean.numpy().tolist()
            [2.0]
        """
        if not is_recomputing():
            super().assign(values)


def get_value(stored: Param | Buffer | None) -> Tensor | None:
    """Return the values of a parameter or buffer, or None if it is absent."""
    return None if stored is None else stored.value


def _check_least_dtype(dtype: str, least_dtype: str) -> str:
    """Return the name of the narrowest allowed type; raise if `dtype` is narrower."""
    least = to_float_dtype_name("least_dtype", least_dtype)
    kind = parse_dtype(dtype)
    if not is_float(kind) or kind.itemsize < parse_dtype(least).itemsize:
        raise DTypeError(
            f"least_dtype={least!r} needs a float type that is at least as wide, got "
            f"dtype={dtype!r}; pass a wider dtype, or omit least_dtype"
        )
    return least
