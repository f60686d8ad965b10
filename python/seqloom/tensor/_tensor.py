"""Tensor: one face over every backend's arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import BackendError, GradientError, ShapeError
from seqloom.tensor._autodiff import Autodiff, Traced, backward
from seqloom.tensor._gradients import Gradients

if TYPE_CHECKING:
    from seqloom.tensor._backend import Array, Backend


class Tensor:
    """An array of some backend, with operators.

    Tensors are values: no operation changes one. Operators broadcast and promote as NumPy's
    do; Python numbers take the tensor's type. Tensors are made by a backend's ``tensor``.

    Attributes:
        raw: The backend's own array.
        backend: The backend that computes.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> (x @ x + 1).sum(axis=0)
        Tensor([24., 34.], shape=(2,), dtype=float32, backend=numpy)
    """

    __slots__ = ("backend", "raw")
    # NumPy's arrays let our operators go first, and its functions refuse a tensor: they
    # would drop what is followed without a word.
    __array_ufunc__ = None

    def __init__(self, raw: Array, backend: Backend) -> None:
        self.raw = raw
        self.backend = backend

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return tuple(self.raw.shape)

    @property
    def dtype(self) -> Any:
        """The element type, as the backend names it."""
        return self.raw.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.raw.shape)

    def __len__(self) -> int:
        return self.raw.shape[0]

    # Out of the tensor --------------------------------------------------------------------

    def numpy(self) -> Any:
        """The values as a NumPy array, sharing memory where the backend can.

        Returns:
            A ``numpy.ndarray`` of the same shape.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0]).numpy().tolist()
            [1.0]
        """
        return self.backend.to_numpy(self.raw)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  # NumPy's protocol
        import numpy as np

        if isinstance(self.raw, Traced):
            raise GradientError(
                "NumPy would lose the gradient of a tensor that is followed; use the "
                "tensor's own functions, or .detach() it first"
            )
        return np.array(self.numpy(), dtype=dtype, copy=copy)

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
                f"item() needs one element, this tensor has shape {self.shape}"
            )
        return values.item()

    def __float__(self) -> float:
        return float(self.item())

    def detach(self) -> Tensor:
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
        while isinstance(backend, Autodiff):
            raw, backend = raw.value if isinstance(raw, Traced) else raw, backend.inner
        return Tensor(raw, backend)

    def backward(self, gradient: Tensor | None = None) -> Gradients:
        """The gradients of this tensor by everything followed that it was made of.

        What was recorded is consumed: memory falls while it runs, and a second call needs
        a second computation.

        Args:
            gradient: The gradient by this tensor, of its shape; default 1, for a scalar.

        Returns:
            The gradients; ``.wrt(x)`` gives the one by `x`.

        Raises:
            GradientError: Nothing followed is in it, it is not a scalar and no gradient is
                given, or it was consumed before.

        Examples:
            >>> import seqloom as sl
            >>> A = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
            >>> x = A.tensor(3.0, requires_grad=True)
            >>> (x**2).backward().wrt(x).item()
            6.0
        """
        if not isinstance(self.raw, Traced) or not isinstance(self.backend, Autodiff):
            raise GradientError(
                "backward on a tensor that nothing followed led to; make the leaves with "
                "Autodiff(backend).tensor(..., requires_grad=True)"
            )
        inner = self.backend.inner
        if gradient is None and self.shape != ():
            raise GradientError(
                f"backward needs a scalar or a gradient; this tensor has shape {self.shape}"
            )
        seed = (
            inner.ones((), dtype=self.dtype) if gradient is None else gradient.detach().raw
        )
        return Gradients(backward(self.raw, seed), inner)

    # Operators ----------------------------------------------------------------------------

    def __add__(self, other: Any) -> Tensor:
        return apply("add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return apply("add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return apply("subtract", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return apply("subtract", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return apply("multiply", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return apply("multiply", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return apply("divide", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return apply("divide", other, self)

    def __pow__(self, other: Any) -> Tensor:
        return apply("pow", self, other)

    def __rpow__(self, other: Any) -> Tensor:
        return apply("pow", other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return apply("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return apply("matmul", other, self)

    def __neg__(self) -> Tensor:
        return apply("negative", self)

    def __abs__(self) -> Tensor:
        return apply("abs", self)

    def __lt__(self, other: Any) -> Tensor:
        return apply("less", self, other)

    def __le__(self, other: Any) -> Tensor:
        return apply("less_equal", self, other)

    def __gt__(self, other: Any) -> Tensor:
        return apply("greater", self, other)

    def __ge__(self, other: Any) -> Tensor:
        return apply("greater_equal", self, other)

    def __eq__(self, other: object) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return apply("equal", self, other)

    def __ne__(self, other: object) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return apply("not_equal", self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return bool(self.item())

    def __getitem__(self, key: Any) -> Tensor:
        return apply("index", self, key)

    # Methods that read better behind the tensor -------------------------------------------

    @property
    def mT(self) -> Tensor:  # noqa: N802  # the standard's name
        """The last two axes exchanged."""
        return apply("matrix_transpose", self)

    def sum(
        self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False
    ) -> Tensor:
        """The sum over an axis, several, or all.

        Args:
            axis: The axis or axes; default all.
            keepdims: Leave the summed axes in the shape, with length 1.

        Returns:
            A tensor without those axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).sum().item()
            3.0
        """
        return apply("sum", self, axis=axis, keepdims=keepdims)

    def mean(
        self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False
    ) -> Tensor:
        """The mean over an axis, several, or all; arguments as in `sum`.

        Args:
            axis: The axis or axes; default all.
            keepdims: Leave the axes in the shape, with length 1.

        Returns:
            A tensor without those axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).mean().item()
            1.5
        """
        return apply("mean", self, axis=axis, keepdims=keepdims)

    def max(
        self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False
    ) -> Tensor:
        """The largest value over an axis, several, or all; arguments as in `sum`.

        Args:
            axis: The axis or axes; default all.
            keepdims: Leave the axes in the shape, with length 1.

        Returns:
            A tensor without those axes; equal maxima share the gradient.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).max().item()
            2.0
        """
        return apply("max", self, axis=axis, keepdims=keepdims)

    def reshape(self, *shape: int) -> Tensor:
        """The same values in another shape.

        Args:
            *shape: The lengths of the axes; one may be -1.

        Returns:
            A tensor of that shape.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).reshape(2, 1).shape
            (2, 1)
        """
        return apply("reshape", self, shape)

    def astype(self, dtype: str) -> Tensor:
        """The values as another element type.

        Args:
            dtype: Its name, such as ``"float64"``.

        Returns:
            A tensor of that type.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0]).astype("float64").dtype
            dtype('float64')
        """
        import numpy as np

        return apply("astype", self, np.dtype(dtype))

    def __repr__(self) -> str:
        import numpy as np

        values = np.array2string(
            self.detach().numpy(), separator=", ", threshold=100, prefix="Tensor("
        )
        facts = f"shape={self.shape}, dtype={self.dtype}, backend={self.backend}"
        return f"Tensor({values}, {facts})"


def apply(name: str, *args: Any, **options: Any) -> Any:
    """Calls the backend's function of that name on tensors and constants.

    Args:
        name: A function of `Backend`.
        *args: Tensors, lists of tensors, numbers, NumPy arrays, keys.
        **options: Passed on.

    Returns:
        A tensor, or a tuple of tensors where the function gives several arrays.

    Raises:
        ShapeError: The shapes or types do not go together; it names them.

    Examples:
        >>> import seqloom as sl
        >>> sl.tensor.apply("exp", sl.tensor.backend("numpy").tensor([0.0])).item()
        1.0
    """
    backend = _shared_backend(args)
    raws = [_raw(arg) for arg in args]
    try:
        out = getattr(backend, name)(*raws, **options)
    except (ValueError, TypeError, IndexError) as error:
        inputs = ", ".join(map(_described, args))
        raise ShapeError(f"{name}({inputs}): {error}") from error
    if isinstance(out, tuple):
        return tuple(Tensor(each, backend) for each in cast("tuple[Any, ...]", out))
    return Tensor(out, backend)


def _raw(arg: Any) -> Any:
    """The array of a tensor; other things as they are."""
    if type(arg) is Tensor:
        return arg.raw
    if type(arg) is list:
        return [_raw(item) for item in cast("list[Any]", arg)]
    return arg


def _shared_backend(args: tuple[Any, ...]) -> Backend:
    """The outermost backend among the arguments; the others must lie inside it."""
    found: Backend | None = None
    for arg in args:
        within = cast("list[Any]", arg) if type(arg) is list else (arg,)
        for each in within:
            if type(each) is Tensor and each.backend is not found:
                found = each.backend if found is None else _outer(found, each.backend)
    if found is None:
        raise BackendError("none of the arguments is a tensor: there is no backend to ask")
    return found


def _outer(one: Backend, other: Backend) -> Backend:
    """Of two backends, the one that contains the other."""
    if _contains(one, other):
        return one
    if _contains(other, one):
        return other
    raise BackendError(
        f"tensors of {one} and of {other} cannot meet; make both on the same backend"
    )


def _contains(outer: Backend, inner: Backend) -> bool:
    """Whether `inner` is `outer` or one of the backends that it is over."""
    while outer is not inner:
        if not isinstance(outer, Autodiff):
            return outer.name == inner.name
        outer = outer.inner
    return True


def _described(arg: Any) -> str:
    """An argument as an error names it."""
    if hasattr(arg, "shape"):
        return f"{getattr(arg, 'dtype', '')}{list(arg.shape)}"
    return repr(arg)
