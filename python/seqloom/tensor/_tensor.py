"""Tensor: one class over every backend's arrays; Gradients: what its backward returns."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias

import numpy as np

from seqloom.errors import (
    ArgumentError,
    DTypeError,
    GradientError,
    ShapeError,
)
from seqloom.tensor import _exchange as exchange
from seqloom.tensor._dispatch import apply, contains, find_shared_backend
from seqloom.tensor._index import check_axis, join_axes, normalize_key
from seqloom.tensor._operators import At, binary, differentiable, reflect, unary
from seqloom.tensor._registry import find_backend
from seqloom.tensor._scope import move_outwards
from seqloom.tensor._state import TensorState
from seqloom.tensor._tape import TrackedArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seqloom.tensor._families import Array, ArrayFunctions

Axis: TypeAlias = int | tuple[int, ...] | None


class Tensor(TensorState):
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
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return tuple(self._value.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._value.shape)

    @property
    def size(self) -> int:
        """The number of values."""
        return math.prod(self._value.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
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

    # Reductions. `axis` is one axis, several, or None for all of them.

    def sum(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Computes the sum over an axis, several, or all.

        Args:
            axis: The axis or axes; default all.
            keepdims: Whether the reduced axes stay in the shape, with length 1.

        Returns:
            A tensor without those axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).sum().item()
            3.0
        """
        return apply("sum", self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Computes the mean over an axis, several, or all.

        Args:
            axis: The axis or axes; default all.
            keepdims: Whether the reduced axes stay in the shape, with length 1.

        Returns:
            A tensor without those axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).mean().item()
            1.5
        """
        return apply("mean", self, axis=axis, keepdims=keepdims)

    def var(
        self, axis: Axis = None, *, correction: float = 0, keepdims: bool = False
    ) -> Self:
        """Computes the variance over an axis, several, or all.

        Args:
            axis: The axis or axes; default all.
            correction: Subtracted from the count: 0 for the variance of the values, 1 for
                an estimate of the variance of the population that they were drawn from.
            keepdims: Whether the reduced axes stay in the shape, with length 1.

        Returns:
            A tensor without those axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 3.0]).var().item()
            1.0
        """
        return apply("var", self, axis=axis, correction=correction, keepdims=keepdims)

    def std(
        self, axis: Axis = None, *, correction: float = 0, keepdims: bool = False
    ) -> Self:
        """Computes the standard deviation over an axis, several, or all: the root of `var`.

        Args:
            axis: The axis or axes; default all.
            correction: Subtracted from the count, as in `var`; torch's default is 1.
            keepdims: Whether the reduced axes stay in the shape, with length 1.

        Returns:
            A tensor without those axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 3.0]).std().item()
            1.0
        """
        return apply("std", self, axis=axis, correction=correction, keepdims=keepdims)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Finds the largest value over an axis, several, or all.

        Args:
            axis: The axis or axes; default all.
            keepdims: Whether the reduced axes stay in the shape, with length 1.

        Returns:
            A tensor without those axes; equal maxima share the gradient.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).max().item()
            2.0
        """
        return apply("max", self, axis=axis, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Finds the smallest value over an axis, several, or all.

        Args:
            axis: The axis or axes; default all.
            keepdims: Whether the reduced axes stay in the shape, with length 1.

        Returns:
            A tensor without those axes; equal minima share the gradient.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).min().item()
            1.0
        """
        return apply("min", self, axis=axis, keepdims=keepdims)

    def prod(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Computes the product over an axis, several, or all.

        Args:
            axis: The axis or axes; default all.
            keepdims: Whether the reduced axes stay in the shape, with length 1.

        Returns:
            A tensor without those axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([2.0, 3.0]).prod().item()
            6.0
        """
        return apply("prod", self, axis=axis, keepdims=keepdims)

    def any(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Tests whether at least one value is true, or not 0.

        Args:
            axis: The axis or axes; default all.
            keepdims: Whether the reduced axes stay in the shape, with length 1.

        Returns:
            A tensor of booleans without those axes.

        Examples:
            >>> import seqloom as sl
            >>> bool((sl.tensor.backend("numpy").tensor([1.0, 2.0]) > 1).any())
            True
        """
        return apply("any", self, axis=axis, keepdims=keepdims)

    def all(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Tests whether every value is true, or not 0.

        Args:
            axis: The axis or axes; default all.
            keepdims: Whether the reduced axes stay in the shape, with length 1.

        Returns:
            A tensor of booleans without those axes.

        Examples:
            >>> import seqloom as sl
            >>> bool((sl.tensor.backend("numpy").tensor([1.0, 2.0]) > 1).all())
            False
        """
        return apply("all", self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Finds the index of the largest value along an axis; of equal ones the first.

        Args:
            axis: The axis; default the index among all values, flattened.
            keepdims: Whether the reduced axis stays in the shape, with length 1.

        Returns:
            A tensor of integers.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 3.0, 2.0]).argmax().item()
            1
        """
        return apply("argmax", self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Finds the index of the smallest value along an axis; of equal ones the first.

        Args:
            axis: The axis; default the index among all values, flattened.
            keepdims: Whether the reduced axis stays in the shape, with length 1.

        Returns:
            A tensor of integers.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 3.0, 2.0]).argmin().item()
            0
        """
        return apply("argmin", self, axis=axis, keepdims=keepdims)

    # The same values in another shape, or of another type.

    @property
    def T(self) -> Self:  # noqa: N802  # the standard's name
        """The transpose of a matrix."""
        if len(self._value.shape) != 2:  # noqa: PLR2004  # a matrix
            raise ShapeError(
                f".T is the transpose of a matrix; this tensor has shape {self.shape}: use "
                ".mT, or .permute_dims(...)"
            )
        return apply("matrix_transpose", self)

    @property
    def mT(self) -> Self:  # noqa: N802  # the standard's name
        """The last two axes exchanged."""
        return apply("matrix_transpose", self)

    def reshape(self, *shape: int | tuple[int, ...]) -> Self:
        """Arranges the same values in another shape.

        Args:
            *shape: The lengths of the axes, or a tuple of them; one may be -1.

        Returns:
            A tensor of that shape.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).reshape(2, 1).shape
            (2, 1)
        """
        return apply("reshape", self, _unpack(shape))

    def permute_dims(self, *axes: int | tuple[int, ...]) -> Self:
        """Puts the axes in another order.

        Args:
            *axes: All axes in the new order, or a tuple of them.

        Returns:
            A tensor of the same values.

        Examples:
            >>> import seqloom as sl
            >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 2.0]]])
            >>> x.permute_dims(2, 0, 1).shape
            (2, 1, 1)
        """
        return apply("permute_dims", self, _unpack(axes))

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        """Joins neighbouring axes to one, as torch's ``flatten``.

        Args:
            start_dim: First of the axes.
            end_dim: Last of the axes.

        Returns:
            A tensor with one axis in place of these.

        Raises:
            ShapeError: The tensor does not have the axes in this order.

        Examples:
            >>> import seqloom as sl
            >>> x = sl.tensor.backend("numpy").tensor([[[1.0], [2.0]]])
            >>> x.flatten().shape, x.flatten(1).shape
            ((2,), (1, 2))
        """
        return apply("reshape", self, join_axes(self.shape, start_dim, end_dim))

    def transpose(self, dim0: int, dim1: int) -> Self:
        """Exchanges two axes, as torch's ``transpose``.

        Args:
            dim0: One axis.
            dim1: The other.

        Returns:
            A tensor of the same values.

        Raises:
            OutOfRangeError: There is no such axis.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[[1.0, 2.0]]]).transpose(0, 2).shape
            (2, 1, 1)
        """
        axes = list(range(self.ndim))
        first, second = (check_axis(dim, len(axes), "transpose") for dim in (dim0, dim1))
        axes[first], axes[second] = second, first
        return apply("permute_dims", self, tuple(axes))

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Self:
        """Removes an axis, or several, of length 1.

        Args:
            axis: The axis or axes; default every axis of length 1.

        Returns:
            A tensor of fewer axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).squeeze().shape
            (2,)
        """
        if axis is None:
            axis = tuple(axis for axis, size in enumerate(self.shape) if size == 1)
        return apply("squeeze", self, axis=axis)

    def expand_dims(self, axis: int) -> Self:
        """Adds a new axis of length 1.

        Args:
            axis: The position of the new axis in the result.

        Returns:
            A tensor of one axis more.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 2.0]).expand_dims(0).shape
            (1, 2)
        """
        return apply("expand_dims", self, axis=axis)

    def astype(self, dtype: Any) -> Self:
        """Converts the values to another element type.

        Args:
            dtype: The name of the type, such as ``"float64"``, or a NumPy type.

        Returns:
            A tensor of that type.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0]).astype("float64").dtype
            dtype('float64')
        """
        return apply("astype", self, dtype)

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
        return Gradients(
            level.gradients(self.raw, self._seed(gradient, shape)), level.inner
        )

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


class Gradients:
    """Gradients by the leaves of one computation; tensors themselves store none.

    Args:
        arrays: The arrays by the number of the leaf, or the id of the parameter.
        backend: The backend of the arrays.
        inputs: Further tensors, each with its gradient or None; optimisers ignore them.

    Examples:
        >>> import seqloom as sl
        >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
        >>> x = A.tensor([3.0, 4.0], requires_grad=True)
        >>> grads = (x * x).sum().backward()
        >>> grads.norm(), len(grads)
        (10.0, 1)
    """

    __slots__ = ("_arrays", "_inputs", "backend")

    def __init__(
        self,
        arrays: dict[int, Array],
        backend: Any,
        *,
        inputs: Sequence[tuple[Tensor, Array | None]] = (),
    ) -> None:
        self._arrays = arrays
        self._inputs = inputs
        self.backend = backend

    def wrt(self, leaf: Any) -> Tensor:
        """Returns the gradient by a leaf.

        Args:
            leaf: A tensor made with ``requires_grad=True``, or a parameter.

        Returns:
            A tensor of the leaf's shape, on the plain backend.

        Raises:
            GradientError: The result does not depend on it.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> x = A.tensor([3.0], requires_grad=True)
            >>> (2 * x).sum().backward().wrt(x).item()
            2.0
        """
        known = [array for tensor, array in self._inputs if tensor is leaf]
        found = known[0] if known else self.get(_leaf_number(leaf))
        if found is None:
            raise GradientError(
                "the result does not depend on this tensor, or the tensor does not record "
                "gradients (requires_grad=True)"
            )
        return Tensor(found, self.backend)

    def get(self, number: int | None) -> Array | None:
        """Returns the array by the id of a parameter or the number of a leaf.

        Args:
            number: The id or number; None is allowed.

        Returns:
            The array, or None if the result does not depend on it.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.Gradients({}, sl.tensor.backend("numpy")).get(1) is None
            True
        """
        return None if number is None else self._arrays.get(number)

    def arrays(self) -> list[Array]:
        """Returns all gradients, as arrays of the backend.

        Returns:
            Those by leaves and parameters, then those by further inputs.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> len(sl.tensor.Gradients({1: B.zeros((2,))}, B).arrays())
            1
        """
        inputs = [array for _, array in self._inputs if array is not None]
        return [*self._arrays.values(), *inputs]

    def norm(self) -> float:
        """Computes the Euclidean norm of all gradients together.

        Returns:
            The root of the sum of squares.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> sl.tensor.Gradients({1: B.asarray([3.0, 4.0])}, B).norm()
            5.0
        """
        b = self.backend
        squares = (b.to_numpy(b.sum(b.square(array))) for array in self._arrays.values())
        return math.sqrt(sum(float(square) for square in squares))

    def clip(
        self, norm: Any = None, *, value: float | None = None, of: Any = None
    ) -> Gradients:
        """Makes gradients smaller: by their common norm, or each number by itself.

        Args:
            norm: The largest norm allowed (Pascanu et al. 2013); all gradients are scaled
                by one factor.
            value: The largest absolute value allowed, in place of `norm`; each number that
                is beyond it becomes it.
            of: A module: only the gradients of its parameters are clipped, by their own
                norm; default: all.

        Returns:
            New gradients; of the same values if they are small enough.

        Raises:
            ArgumentError: Both or none of `norm` and `value` are given, or it is not a
                number above 0.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> grads = sl.tensor.Gradients({1: B.asarray([3.0, 4.0])}, B)
            >>> round(grads.clip(1.0).norm(), 3)
            1.0
            >>> grads.clip(value=3.5).arrays()[0].tolist()
            [3.0, 3.5]
        """
        limit = _require_limit(norm, value)
        wanted = None if of is None else {param.id for _, param in of.parameters()}
        chosen = [n for n in self._arrays if wanted is None or n in wanted]
        if not chosen:
            return self
        arrays = [self._arrays[n] for n in chosen]
        if value is None:
            clipped, _ = self.backend.clip_by_global_norm(arrays, limit)
        else:
            clipped = [self.backend.clip(array, -limit, limit) for array in arrays]
        found = {**self._arrays, **dict(zip(chosen, clipped, strict=True))}
        return Gradients(found, self.backend, inputs=self._inputs)

    def multiply(self, factor: float) -> Gradients:
        """Multiplies all gradients by a number, those by inputs too.

        Args:
            factor: The number.

        Returns:
            New gradients.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> grads = sl.tensor.Gradients({1: B.asarray([3.0, 4.0])}, B)
            >>> grads.multiply(0.5).get(1).tolist()
            [1.5, 2.0]
        """
        times = self.backend.multiply
        arrays = {number: times(array, factor) for number, array in self._arrays.items()}
        inputs = [
            (tensor, None if array is None else times(array, factor))
            for tensor, array in self._inputs
        ]
        return Gradients(arrays, self.backend, inputs=inputs)

    def __iter__(self) -> Iterator[int]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"Gradients of {len(self)} leaves on {self.backend}"


def _require_limit(norm: Any, value: Any) -> Any:
    """Returns the limit of `Gradients.clip`; a norm may be a tensor."""
    if (norm is None) == (value is None):
        raise ArgumentError(
            "clip needs a norm or a value, such as clip(1.0) or clip(value=0.5), got "
            f"norm={norm} and value={value}"
        )
    if isinstance(norm, Tensor):
        return norm.raw
    name, limit = ("norm", norm) if value is None else ("value", value)
    if not isinstance(limit, Real) or not float(limit) > 0:
        raise ArgumentError(f"{name} must be a number above 0, got {limit!r}")
    return limit


def _unpack(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Returns integers that were passed one by one, or as one tuple or list."""
    first: Any = sizes[0] if len(sizes) == 1 else None
    found: Any = first if type(first) in (tuple, list) else sizes
    return tuple([size if isinstance(size, int) else int(size) for size in found])


def _leaf_number(leaf: Any) -> int | None:
    """Returns the number by which a leaf's gradient is found."""
    if hasattr(leaf, "id"):
        return leaf.id
    find = getattr(getattr(leaf, "backend", None), "leaf_number", None)
    return None if find is None else find(leaf.raw)
