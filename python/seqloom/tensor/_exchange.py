"""Numbers out of a tensor: to NumPy, to Python, to another library or backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import ArgumentError, DTypeError, GradientError, ShapeError
from seqloom.tensor._autodiff import Traced
from seqloom.tensor._dispatch import contains
from seqloom.tensor._native_error import translated
from seqloom.tensor._operators import Operators

if TYPE_CHECKING:
    from typing import Self

    from seqloom.tensor._backend import Backend


class Exchange(Operators):
    """What takes the numbers of a tensor elsewhere."""

    __slots__ = ()

    def numpy(self) -> Any:
        """The values as a NumPy array, sharing memory where the backend can.

        What shares memory cannot be written to: a tensor does not change. It stays as it
        is after the tensor is released.

        Returns:
            A ``numpy.ndarray`` of the same shape.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0]).numpy().tolist()
            [1.0]
        """
        try:
            values = self.backend.to_numpy(self.raw)
        except Exception as error:
            if (ours := translated(error, "numpy", (self,), self.backend)) is error:
                raise
            raise ours from error
        if values.flags.writeable:
            values = values.view()
            values.flags.writeable = False
        return values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  # NumPy's protocol
        values = self.numpy()
        if isinstance(self.raw, Traced):
            raise GradientError(
                "NumPy would lose the gradient of a tensor that is followed; use the "
                "tensor's own functions, or .detach() it first"
            )
        return np.array(values, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        raw = self._lent(options.get("max_version"))
        try:
            return raw.__dlpack__(**options)
        except Exception as error:
            raise translated(error, "__dlpack__", (self,), self.backend) from error

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._lent(None).__dlpack_device__()

    def _lent(self, version: tuple[int, int] | None) -> Any:
        """The array that another library gets: read-only where it can be told so."""
        plain = self._plain("DLPack")
        raw, backend = plain.raw, plain.backend
        if isinstance(raw, np.generic):
            raw = np.asarray(cast("Any", raw))
        # DLPack has a word for read-only since version 1.0, and only NumPy says it.
        told = version is not None and version >= (1, 0)
        on_cpu = told and backend.device == "cpu" and backend.dtype(raw).kind in "biufc"
        return plain.numpy() if on_cpu else raw

    def __reduce__(self) -> Any:
        """Pickles hold the values, by NumPy, and which backend they were on."""
        plain = self._plain("a pickle or a deep copy")
        return _again, (type(self), np.array(plain.numpy()), plain.backend)

    def __copy__(self) -> Self:
        """Another tensor of the same array: it does not change."""
        return type(self)(self.raw, self.backend)

    def item(self) -> Any:
        """The one value of a tensor of one element.

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
        """The values as nested lists of Python numbers.

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
        if self.backend.dtype(self.raw).kind not in "iu":
            raise DTypeError(
                f"a tensor of {self.backend.dtype(self.raw)} is no index; only integers are"
            )
        return self.item()

    def detach(self) -> Self:
        """The same values on the plain backend, followed by nobody.

        Returns:
            A tensor of the innermost backend.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> A.tensor([1.0], requires_grad=True).detach().backend
            numpy
        """
        raw, backend = self.raw, self.backend
        while (lower := getattr(backend, "lower", None)) is not None:
            raw, backend = lower(raw), backend.inner
        return type(self)(raw, backend)

    def to(self, backend: str | Backend) -> Self:
        """The same values on another backend or device.

        Args:
            backend: The backend, or its name, such as ``"torch:cuda"``.

        Returns:
            A tensor of that backend; this one where it is there already.

        Raises:
            ArgumentError: `backend` is neither a backend nor a name.
            BackendError: No backend is called that.
            GradientError: The tensor is followed: its gradient would be lost on the way.

        Examples:
            >>> import seqloom as sl
            >>> x = sl.tensor.backend("numpy").tensor([1.0])
            >>> x.to("numpy").backend
            numpy
        """
        target = _backend_of(backend)
        if contains(self.backend, target):
            return self
        if contains(target, self.backend):
            return type(self)(self.raw, target)
        plain = self._plain(f"moving to {target}")
        return type(self)(target.adopt(plain.raw, plain.backend), target)

    def _plain(self, purpose: str) -> Self:
        """The tensor itself, or its constant values; one that is followed is refused."""
        if isinstance(self.raw, Traced):
            raise GradientError(
                f"{purpose} would lose the gradient of a tensor that is followed; "
                ".detach() it first"
            )
        return self.detach()


def _backend_of(backend: Any) -> Backend:
    """The backend of a name."""
    from seqloom.tensor._backend import Backend as Kind
    from seqloom.tensor._registry import backend as found

    if not isinstance(backend, (str, Kind)):
        raise ArgumentError(
            'a tensor moves to a backend, or to the name of one, such as "torch:cuda"; '
            f"this is {type(backend).__name__}"
        )
    return found(backend) if isinstance(backend, str) else backend


def _again(kind: type[Exchange], values: Any, backend: Backend) -> Exchange:
    """The tensor that a pickle meant."""
    return kind(backend.asarray(values), backend)
