"""Conversions of a tensor: to NumPy, Python, other libraries and other backends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom.errors import ArgumentError, DTypeError, ShapeError
from seqloom.tensor import _exchange as exchange
from seqloom.tensor._dispatch import find_backend, includes_backend
from seqloom.tensor._origin import move_to_outer_scope
from seqloom.tensor._state import TensorState, TrackedArray

if TYPE_CHECKING:
    from seqloom.tensor._families import ArrayFunctions


class TensorConversions(TensorState):
    """Methods of `Tensor` that convert its values or copy them to another device."""

    __slots__ = ()

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Dtype of the values, as a NumPy dtype on every backend."""
        return self.backend.dtype(self._value)

    @property
    def device(self) -> str:
        """Device that stores the values."""
        return self.backend.device

    def numpy(self) -> Any:
        """Return the values as a NumPy array, without a copy if the backend allows it.

        The array is read-only and cannot be made writeable, because tensors are
        immutable. The array remains valid after the tensor is released. Use
        ``np.array(x)`` for a copy that you can write to.

        Returns:
            A read-only ``numpy.ndarray`` of the same shape.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0]).numpy().tolist()
            [1.0]
        """
        return exchange.to_numpy(self)

    def item(self) -> Any:
        """Return the value of a tensor with one element.

        Returns:
            A Python number.

        Raises:
            ShapeError: The tensor does not have exactly one element.

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
        """Return the values as nested lists of Python numbers.

        Returns:
            A list, or a number if the tensor has no axes.

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
            return self.raw.__array__()  # raises: NumPy would lose the gradient
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
        # Tensors are immutable, so a copy can share the array.
        return type(self)(self.raw, self.backend)

    def detach(self) -> Self:
        """Return the same values on the innermost backend, which does not record gradients.

        Returns:
            A tensor on the innermost backend.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> A.tensor([1.0], requires_grad=True).detach().backend
            numpy
        """
        return exchange.detach(self)

    def to(self, backend: str | ArrayFunctions) -> Self:
        """Copy the tensor to another backend or device.

        Args:
            backend: The backend, or its name, such as ``"torch:cuda"``.

        Returns:
            A tensor on that backend; this tensor if it is already on that backend.

        Raises:
            ArgumentError: `backend` is neither a backend nor a name.
            BackendError: No backend has the given name.
            GradientError: The tensor records gradients, which the copy would lose.

        Examples:
            >>> import seqloom as sl
            >>> x = sl.tensor.backend("numpy").tensor([1.0])
            >>> x.to("numpy").backend
            numpy
        """
        target = find_backend(backend)
        if includes_backend(self.backend, target):
            return self
        if includes_backend(target, self.backend):
            return type(self)(self.raw, target)
        plain = exchange.require_constant(self, f"moving to {target}")
        return type(self)(target.adopt(plain.raw, plain.backend), target)

    def to_device(self, device: str, /, *, stream: None = None) -> Self:
        """Copy the tensor to a device, as in the Array API standard.

        Args:
            device: The name of the device, such as ``"cpu"`` or ``"cuda:0"``.
            stream: Must be None: streams of other libraries are not supported.

        Returns:
            A tensor on the device; this tensor if it is already on the device.

        Raises:
            ArgumentError: `stream` is not None.
            BackendError: The library does not have the given device.

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

    # Methods for memory and gradients.

    def keep(self) -> Self:
        """Do not release this tensor when its scope ends.

        The tensor is moved to the enclosing scope, if it exists.

        Returns:
            This tensor.

        Examples:
            >>> import seqloom as sl
            >>> with sl.tensor.scope():
            ...     x = sl.tensor.backend("numpy").tensor([1.0]).keep()
            >>> x.item()
            1.0
        """
        move_to_outer_scope(self)
        return self
