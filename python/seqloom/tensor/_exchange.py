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
    from collections.abc import Callable
    from typing import Self

    from seqloom.tensor._backend import Backend


class Exchange(Operators):
    """What takes the numbers of a tensor elsewhere."""

    __slots__ = ()

    def numpy(self) -> Any:
        """The values as a NumPy array, sharing memory where the backend can.

        What shares memory cannot be written to, nor be made writeable: a tensor does not
        change. It stays as it is after the tensor is released. ``np.array(x)`` gives a copy
        of one's own.

        Returns:
            A read-only ``numpy.ndarray`` of the same shape.

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
        return _sealed(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  # NumPy's protocol
        values = self.numpy()
        if isinstance(self.raw, Traced):
            raise GradientError(
                "NumPy would lose the gradient of a tensor that is followed; use the "
                "tensor's own functions, or .detach() it first"
            )
        return np.array(values, dtype=dtype, copy=copy)

    def __array_function__(
        self, function: Any, _types: Any, args: Any, options: Any
    ) -> Any:
        """NumPy's functions: on the values, as arrays that it cannot write."""
        as_array = _shaped if function in _OF_SHAPES else np.asarray
        return function(*_arrays(args, as_array), **_arrays(options, as_array))

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A copy: not every library heeds DLPack's word for read-only memory."""
        if copy is False:
            raise ArgumentError(
                "a tensor leaves by DLPack as a copy, since who takes it could write to "
                "it; leave out copy=False, or share read-only memory by x.numpy()"
            )
        asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device}
        options = {name: each for name, each in asked.items() if each is not None}
        plain = self._plain("DLPack")
        try:
            return plain._plain_copy().__dlpack__(**options)  # noqa: SLF001
        except Exception as error:
            raise translated(error, "__dlpack__", (self,), self.backend) from error

    def __dlpack_device__(self) -> tuple[int, int]:
        raw = self._plain("DLPack").raw
        on_host = isinstance(raw, np.generic)
        return (np.asarray(cast("Any", raw)) if on_host else raw).__dlpack_device__()

    def _plain_copy(self) -> Any:
        """The array again, in memory of its own."""
        return self.backend.asarray(self.raw, copy=True)

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

    def __format__(self, spec: str) -> str:
        """A tensor without axes as its number, as in torch; any other as its text."""
        if not self.raw.shape:
            return format(self.item(), spec)
        if not spec:
            return str(self)
        raise ShapeError(
            f"{spec!r} is a format of one number, this tensor has shape "
            f"{tuple(self.raw.shape)}; take one by x[...].item(), or all by x.tolist()"
        )

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


# What NumPy asks of a shape alone, which it may know of any tensor.
_OF_SHAPES = frozenset((np.shape, np.ndim, np.size))


def _shaped(x: Any) -> Any:
    """An array of that shape, without the values."""
    return np.broadcast_to(np.int8(0), x.shape)


def _arrays(given: Any, as_array: Callable[[Any], Any]) -> Any:
    """Arguments with arrays in place of tensors, also within lists, tuples and dicts."""
    if isinstance(given, Exchange):
        return as_array(given)
    if type(given) is dict:
        items = cast("dict[str, Any]", given).items()
        return {name: _arrays(each, as_array) for name, each in items}
    if type(given) in (list, tuple):
        return type(given)(_arrays(each, as_array) for each in given)
    return given


def _sealed(values: Any) -> Any:
    """The same memory as an array that nobody can make writeable."""
    # A read-only view can be made writeable again; memory that is offered read-only cannot.
    dtype = values.dtype
    if dtype.kind not in "?biufc":  # bfloat16, say: Python's buffers have no name for it
        whole = values.view(f"u{dtype.itemsize}")
        return _sealed(whole).view(dtype)
    return np.asarray(memoryview(values).toreadonly())


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
