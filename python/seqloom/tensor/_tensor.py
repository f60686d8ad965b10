"""Tensor: one class over every backend's arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from seqloom.errors import (
    ArgumentError,
    DTypeError,
    GradientError,
    ShapeError,
)
from seqloom.tensor import _exchange as exchange
from seqloom.tensor._dispatch import apply, contains, find_backend, find_shared_backend
from seqloom.tensor._elements import normalize_key
from seqloom.tensor._operators import At, binary, differentiable, reflect, unary
from seqloom.tensor._origin import move_outwards
from seqloom.tensor._state import TensorState, TrackedArray
from seqloom.tensor._tensor_methods import ArrayMethods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.tensor._families import Array, ArrayFunctions
    from seqloom.tensor._gradients import Gradients


class Tensor(ArrayMethods, TensorState):
    """An array of some backend, with operators.

    Tensors are values: no operation changes one. Operators broadcast and promote as the
    Array API standard says; Python numbers take the tensor's type, and indexing is
    NumPy's. Tensors are made by a backend's ``tensor``.

    Args:
        raw: The backend's own array.
        backend: The backend that computes.

    Attributes:
        raw: The backend's own array.
        backend: The backend that computes.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> (x @ x + 1).sum(axis=0)
        Tensor([24., 34.], shape=(2,), dtype=float32, backend=numpy)
    """

    __slots__ = ()

    # Operators, by the backend's function. NumPy's arrays let ours go first, and its
    # functions refuse a tensor: they would silently lose the gradient.

    __array_ufunc__ = None
    __add__, __radd__ = differentiable("add"), reflect("add")
    __sub__, __rsub__ = differentiable("subtract"), reflect("subtract")
    __mul__, __rmul__ = differentiable("multiply"), reflect("multiply")
    __truediv__, __rtruediv__ = differentiable("divide"), reflect("divide")
    __floordiv__, __rfloordiv__ = binary("floor_divide"), reflect("floor_divide")
    __mod__, __rmod__ = binary("remainder"), reflect("remainder")
    __pow__, __rpow__ = differentiable("pow"), reflect("pow")
    __matmul__, __rmatmul__ = differentiable("matmul"), reflect("matmul")
    __and__, __rand__ = binary("bitwise_and"), reflect("bitwise_and")
    __or__, __ror__ = binary("bitwise_or"), reflect("bitwise_or")
    __xor__, __rxor__ = binary("bitwise_xor"), reflect("bitwise_xor")
    __lshift__, __rlshift__ = binary("bitwise_left_shift"), reflect("bitwise_left_shift")
    __rshift__ = binary("bitwise_right_shift")
    __rrshift__ = reflect("bitwise_right_shift")
    __lt__, __le__ = binary("less"), binary("less_equal")
    __gt__, __ge__ = binary("greater"), binary("greater_equal")
    __eq__, __ne__ = binary("equal"), binary("not_equal")
    __neg__, __pos__, __abs__ = unary("negative"), unary("positive"), unary("abs")
    __invert__ = unary("bitwise_invert")
    __hash__ = object.__hash__

    # Shape and type.

    @property
    def size(self) -> int:
        """The number of values."""
        return math.prod(self._value.shape)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The element type, as NumPy's on every backend."""
        return self.backend.dtype(self._value)

    @property
    def device(self) -> str:
        """The device that stores the values."""
        return self.backend.device

    def __len__(self) -> int:
        if not self._value.shape:
            raise ShapeError("a tensor without axes has no length")
        return self._value.shape[0]

    def __repr__(self) -> str:
        return exchange.represent(self)

    # Indexing.

    @property
    def at(self) -> At[Self]:
        """Elements to change in a copy: ``x.at[key].set(values)`` and ``.add(values)``.

        Both return a new tensor. `values` is a number, an array or a tensor that broadcasts
        to the elements. ``add`` adds as often as the key repeats an index.

        Examples:
            >>> import seqloom as sl
            >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0])
            >>> x.at[0].set(9.0).tolist(), x.at[1:].add(x[:2]).tolist()
            ([9.0, 2.0, 3.0], [1.0, 3.0, 5.0])
        """
        return At(self)

    def __getitem__(self, key: Any) -> Self:
        return apply("index", self, normalize_key(key, self.shape))

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise ArgumentError(
            "a tensor does not change; x.at[key].set(value) returns a new one with those "
            "elements replaced, x.at[key].add(value) one with value added to them"
        )

    def __iter__(self) -> Iterator[Self]:
        return (self[index] for index in range(len(self)))

    # To NumPy, Python, other libraries and other backends.

    def numpy(self) -> Any:
        """Returns the values as a NumPy array that shares memory if the backend can.

        The array is read-only and cannot be made writeable: a tensor does not change. It
        stays valid after the tensor is released. ``np.array(x)`` makes a copy that you may
        write to.

        Returns:
            A read-only ``numpy.ndarray`` of the same shape.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0]).numpy().tolist()
            [1.0]
        """
        return exchange.to_numpy(self)

    def item(self) -> Any:
        """Returns the value of a tensor of one element.

        Returns:
            A Python number.

        Raises:
            ShapeError: There is not exactly one element.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([2.0]).item()
            2.0
        """
        values = self.numpy()
        if values.size != 1:
            raise ShapeError(
                f"item() needs one element, this tensor has shape {tuple(values.shape)}"
            )
        return values.item()

    def tolist(self) -> Any:
        """Returns the values as nested lists of Python numbers.

        Returns:
            A list; of a tensor without axes, a number.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).tolist()
            [[1.0, 2.0]]
        """
        return self.numpy().tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise DTypeError(
                f"a tensor of {self.dtype} cannot be an index; only integers can"
            )
        return self.item()

    def __format__(self, spec: str) -> str:
        return exchange.format_tensor(self, spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  # NumPy's protocol
        values = self.numpy()
        if isinstance(self.raw, TrackedArray):
            return self.raw.__array__()  # refuses: NumPy would lose the gradient
        return np.array(values, dtype=dtype, copy=copy)

    def __array_function__(
        self, function: Any, _types: Any, args: Any, options: Any
    ) -> Any:
        return exchange.call_numpy(function, args, options)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return self.backend.array_namespace(api_version)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return exchange.export_dlpack(
            self, copy=copy, stream=stream, max_version=max_version, dl_device=dl_device
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return exchange.dlpack_device(self)

    def __reduce__(self) -> Any:
        return exchange.reduce_for_pickle(self)

    def __copy__(self) -> Self:
        # Another tensor of the same array: it does not change.
        return type(self)(self.raw, self.backend)

    def detach(self) -> Self:
        """Returns the same values on the plain backend, which records no gradients.

        Returns:
            A tensor of the innermost backend.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> A.tensor([1.0], requires_grad=True).detach().backend
            numpy
        """
        return exchange.detach(self)

    def to(self, backend: str | ArrayFunctions) -> Self:
        """Moves the values to another backend or device.

        Args:
            backend: The backend, or its name, such as ``"torch:cuda"``.

        Returns:
            A tensor of that backend; this tensor if it is there already.

        Raises:
            ArgumentError: `backend` is neither a backend nor a name.
            BackendError: There is no backend of that name.
            GradientError: The tensor records gradients, which the move would lose.

        Examples:
            >>> import seqloom as sl
            >>> x = sl.tensor.backend("numpy").tensor([1.0])
            >>> x.to("numpy").backend
            numpy
        """
        target = find_backend(backend)
        if contains(self.backend, target):
            return self
        if contains(target, self.backend):
            return type(self)(self.raw, target)
        plain = exchange.require_constant(self, f"moving to {target}")
        return type(self)(target.adopt(plain.raw, plain.backend), target)

    def to_device(self, device: str, /, *, stream: None = None) -> Self:
        """Moves the values to a device, as in the Array API standard.

        Args:
            device: The name of the device, such as ``"cpu"`` or ``"cuda:0"``.
            stream: None; streams of other libraries are not supported.

        Returns:
            This tensor if it is there already, else one on that device's backend.

        Raises:
            ArgumentError: `stream` is not None.
            BackendError: The library has no such device.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0]).to_device("cpu").tolist()
            [1.0]
        """
        if stream is not None:
            raise ArgumentError(f"to_device: stream must be None, got {stream!r}")
        if device == self.device:
            return self
        library = self.detach().backend.name.partition(":")[0]
        return self.to(f"{library}:{device}")

    # Memory and gradients.

    def keep(self) -> Self:
        """Lets this tensor outlive the scope that it was made in.

        From now on it belongs to the scope around that one, or to none.

        Returns:
            This tensor.

        Examples:
            >>> import seqloom as sl
            >>> with sl.tensor.scope():
            ...     x = sl.tensor.backend("numpy").tensor([1.0]).keep()
            >>> x.item()
            1.0
        """
        move_outwards(self)
        return self

    def backward(self, gradient: Any = None) -> Gradients:
        """Computes the gradients of this tensor by all leaves that it was computed from.

        The recorded operations are consumed: memory is freed during the pass, and a second
        call needs a second computation.

        Args:
            gradient: The gradient by this tensor, of its shape: a tensor, an array or a
                list; default 1, for a scalar.

        Returns:
            The gradients; ``.wrt(x)`` returns the one by `x`.

        Raises:
            GradientError: No leaf led to this tensor; or it is not a scalar and `gradient`
                is missing; or the recorded operations were consumed before.
            ShapeError: `gradient` has another shape than this tensor.
            DTypeError: `gradient` contains no numbers.
            BackendError: `gradient` is a tensor of another library.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> x = A.tensor(3.0, requires_grad=True)
            >>> (x**2).backward().wrt(x).item()
            6.0
        """
        level = self.backend
        # The shape comes first: a released tensor raises its own error here.
        shape = self.shape
        if not hasattr(level, "leaf_number") or level.leaf_number(self.raw) is None:
            raise GradientError(
                "backward needs a tensor that was computed from leaves; make the leaves "
                "with Autodiff(backend).tensor(..., requires_grad=True)"
            )
        from seqloom.tensor._gradients import Gradients

        arrays = level.gradients(self.raw, self._seed(gradient, shape))
        return Gradients(arrays, level.inner)

    def _seed(self, gradient: Any, shape: tuple[int, ...]) -> Array:
        """Returns the gradient by this tensor as an array of the inner backend."""
        level = self.backend
        if gradient is None:
            if shape:
                raise GradientError(
                    "backward needs a scalar, or the argument gradient; this tensor has "
                    f"shape {shape}"
                )
            return level.inner.ones((), dtype=self.dtype)
        if not isinstance(gradient, Tensor):
            gradient = level.inner.tensor(gradient)
        if gradient.shape != shape:
            raise ShapeError(
                f"gradient must have the tensor's shape {shape}, got {gradient.shape}"
            )
        if gradient.dtype != self.dtype:
            gradient = gradient.astype(self.dtype)
        find_shared_backend([self, gradient])  # refuses one of another library
        is_inner = contains(level.inner, gradient.backend)
        return gradient.raw if is_inner else level.lower(gradient.raw)
