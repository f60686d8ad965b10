"""Tensor: one face over every backend's arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

from seqloom.errors import ArgumentError, GradientError, ShapeError
from seqloom.tensor._at import At
from seqloom.tensor._dispatch import apply, contains, shared_backend
from seqloom.tensor._gradients import Gradients
from seqloom.tensor._index import plain_key
from seqloom.tensor._memory._scope import keep
from seqloom.tensor._repr import shown
from seqloom.tensor._shaping import Shaping

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from seqloom.tensor._backend import Array
    from seqloom.tensor._namespace import ArrayNamespace

__all__ = ["Tensor", "apply"]


class Tensor(Shaping):
    """An array of some backend, with operators.

    Tensors are values: no operation changes one. Operators broadcast and promote as the
    Array API standard says; Python numbers take the tensor's type, and an index is
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
        """Where the values are."""
        return self.backend.device

    @property
    def at(self) -> At:
        """The places of this tensor: ``x.at[key].set(values)`` and ``.add(values)``."""
        return At(self)

    def __array_namespace__(self, *, api_version: str | None = None) -> ArrayNamespace:
        from seqloom.tensor._namespace import namespace_of

        return namespace_of(self.backend, api_version)

    def to_device(self, device: str, /, *, stream: None = None) -> Self:
        """The same values on a device, as the Array API standard says it.

        Args:
            device: Its name, such as ``"cpu"`` or ``"cuda:0"``.
            stream: None: no library's streams are passed on.

        Returns:
            This tensor where it is there already, else one on that device's backend.

        Raises:
            ArgumentError: A stream is given.
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

    def __len__(self) -> int:
        if not self._value.shape:
            raise ShapeError("a tensor without axes has no length")
        return self._value.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, key: Any) -> Self:
        return apply("index", self, plain_key(key, self.shape))

    def __repr__(self) -> str:
        return shown(self)

    def keep(self) -> Self:
        """Lets this tensor outlive the scope that it was made in.

        It belongs to the scope around that one from now on, or to none.

        Returns:
            This tensor.

        Examples:
            >>> import seqloom as sl
            >>> with sl.tensor.scope():
            ...     x = sl.tensor.backend("numpy").tensor([1.0]).keep()
            >>> x.item()
            1.0
        """
        keep(self)
        return self

    def backward(self, gradient: Any = None) -> Gradients:
        """The gradients of this tensor by everything followed that it was made of.

        What was recorded is consumed: memory falls while it runs, and a second call needs
        a second computation.

        Args:
            gradient: The gradient by this tensor, of its shape: a tensor, an array or a
                list; default 1, for a scalar.

        Returns:
            The gradients; ``.wrt(x)`` gives the one by `x`.

        Raises:
            GradientError: Nothing followed is in it, it is not a scalar and no gradient is
                given, or it was consumed before.
            ShapeError: `gradient` has another shape than this tensor.
            DTypeError: `gradient` holds no numbers.
            BackendError: `gradient` is a tensor of another library.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> x = A.tensor(3.0, requires_grad=True)
            >>> (x**2).backward().wrt(x).item()
            6.0
        """
        level: Any = self.backend
        # Its shape is asked for first: a released tensor says so itself.
        shape = self.shape
        if not hasattr(level, "leaf_number") or level.leaf_number(self.raw) is None:
            raise GradientError(
                "backward on a tensor that nothing followed led to; make the leaves with "
                "Autodiff(backend).tensor(..., requires_grad=True)"
            )
        return Gradients(
            level.gradients(self.raw, self._seed(gradient, shape)), level.inner
        )

    def _seed(self, gradient: Any, shape: tuple[int, ...]) -> Array:
        """The gradient by this tensor, an array of the inner backend."""
        level: Any = self.backend
        if gradient is None and shape != ():
            raise GradientError(
                f"backward needs a scalar or a gradient; this tensor has shape {shape}"
            )
        if gradient is None:
            return level.inner.ones((), dtype=self.dtype)
        if not isinstance(gradient, Tensor):
            gradient = level.inner.tensor(gradient)
        if gradient.shape != shape:
            raise ShapeError(f"the gradient has shape {gradient.shape}, the tensor {shape}")
        if gradient.dtype != self.dtype:
            gradient = gradient.astype(self.dtype)
        shared_backend([self, gradient])  # refuses one of another library
        within = contains(level.inner, gradient.backend)
        return gradient.raw if within else level.lower(gradient.raw)
