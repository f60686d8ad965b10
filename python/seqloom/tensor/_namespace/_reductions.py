"""Functions of the standard over axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._dispatch import apply

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._tensor import Tensor

Axis = int | tuple[int, ...] | None


def _over(name: str) -> Any:
    """The function of that name over an axis, several, or all."""

    def call(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return apply(name, x, axis=axis, keepdims=keepdims)

    return _named(call, name)


def _spread(name: str) -> Any:
    """The function of that name that measures how far values lie apart."""

    def call(
        x: Tensor,
        /,
        *,
        axis: Axis = None,
        correction: float = 0.0,
        keepdims: bool = False,
    ) -> Tensor:
        return apply(name, x, axis=axis, correction=correction, keepdims=keepdims)

    return _named(call, name)


def _totalled(name: str) -> Any:
    """The sum or the product, in the type that is asked for."""

    def call(
        x: Tensor, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False
    ) -> Tensor:
        return apply(name, x, axis=axis, keepdims=keepdims, **_room(dtype))

    return _named(call, name)


def _running(name: str) -> Any:
    """The sums or products up to each place, in the type that is asked for."""

    def call(
        x: Tensor,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        include_initial: bool = False,
    ) -> Tensor:
        room = _room(dtype)
        return apply(name, x, axis=axis, include_initial=include_initial, **room)

    return _named(call, name)


def _named(call: Any, name: str) -> Any:
    """A function under the standard's name."""
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The Array API standard's ``{name}``."
    return staticmethod(call)


def _room(dtype: Any) -> dict[str, Any]:
    """The type of a total, where one is asked for; else the library's own is wide."""
    return {} if dtype is None else {"dtype": dtype}


def whole_type(backend: Backend) -> Any:
    """The element type that Python's whole numbers become."""
    return backend.dtype(backend.asarray(0))


class Reductions:
    """Sums, extremes, truths and what runs along an axis."""

    all = _over("all")
    any = _over("any")
    argmax = _over("argmax")
    argmin = _over("argmin")
    count_nonzero = _over("count_nonzero")
    max = _over("max")
    mean = _over("mean")
    min = _over("min")
    std = _spread("std")
    var = _spread("var")
    prod = _totalled("prod")
    sum = _totalled("sum")
    cumulative_prod = _running("cumulative_prod")
    cumulative_sum = _running("cumulative_sum")

    @staticmethod
    def diff(
        x: Tensor,
        /,
        *,
        axis: int = -1,
        n: int = 1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
    ) -> Tensor:
        """Each value less the one before it, n times."""
        return apply("diff", x, prepend, append, axis=axis, n=n)

    @staticmethod
    def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
        """The product of matrices."""
        return apply("matmul", x1, x2)

    @staticmethod
    def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
        """The sum of products over several axes."""
        return apply("tensordot", x1, x2, axes=axes)

    @staticmethod
    def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
        """The sum of products along an axis."""
        return apply("vecdot", x1, x2, axis=axis)
