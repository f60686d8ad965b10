"""How windows lie: sizes that are whole numbers, and fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar, cast

from seqloom.errors import ArgumentError, ShapeError
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])
Size = int | Sequence[int]
_SHAPES = {3: "(n, c, l)", 4: "(n, c, h, w)"}


def number(name: str, size: Any, least: int) -> int:
    """A whole number that is not below the least; also as a sequence of one."""
    if type(size) is not int:
        size = _whole(name, size, 1)[0]
    if size < least:
        raise ArgumentError(f"{name} must be at least {least}, got {size}")
    return size


def pair(name: str, size: Any, least: int) -> tuple[int, int]:
    """One number for both axes, or one for each."""
    sizes = (size, size) if type(size) is int else _whole(name, size, 2)
    if sizes[0] < least or sizes[1] < least:
        raise ArgumentError(f"{name} must be at least {least}, got {size}")
    return sizes[0], sizes[1]


def _whole(name: str, size: Any, count: int) -> tuple[int, ...]:
    """Whole numbers, as many as there are axes."""
    given = cast("Sequence[Any]", size) if isinstance(size, (list, tuple)) else (size,)
    try:
        sizes = tuple(index(each) for each in given)
    except TypeError:
        sizes = ()
    if len(sizes) not in {1, count}:
        wanted = "an integer" + (" or a pair of integers" if count > 1 else "")
        raise ArgumentError(f"{name} must be {wanted}, got {size!r}")
    return sizes * count if len(sizes) < count else sizes


def of_one_or_many(rank: int) -> Callable[[Function], Function]:
    """Lets a function of arrays of `rank` axes also take one without the batch axis."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(x: Tensor, *args: Any, **options: Any) -> Any:
            if getattr(x, "ndim", rank) != rank - 1:
                return function(x, *args, **options)
            found = function(apply("expand_dims", x, axis=0), *args, **options)
            if isinstance(found, tuple):
                several = cast("tuple[Tensor, ...]", found)
                return tuple(apply("squeeze", each, axis=0) for each in several)
            return apply("squeeze", found, axis=0)

        return cast("Function", call)

    return decorate


def require_axes(name: str, rank: int, *arrays: Tensor) -> None:
    """Refuses arrays of another number of axes."""
    for x in arrays:
        if x.ndim != rank:
            raise ShapeError(
                f"{name} takes arrays of {rank} axes, its input {_SHAPES[rank]}, and got "
                f"shape {x.shape}: reshape it, one record as a batch of one"
            )


def require_pool(
    x: Tensor,
    kernel: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    name: str,
) -> None:
    """Refuses windows that see padding alone, or that are longer than the row."""
    shape, axes = x.shape, len(kernel)
    if len(shape) != axes + 2:
        require_axes(name, axes + 2, x)
    for wide, around in zip(kernel, padding, strict=True):
        if 2 * around > wide:
            raise ArgumentError(
                f"{name}: padding {around} is more than half the kernel of {wide}"
            )
    require_window(x, kernel, padding, dilation, name)


def require_window(
    x: Tensor,
    kernel: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    name: str,
) -> None:
    """Refuses windows that are longer than the row: jax gives nothing for them."""
    sizes = zip(x.shape[2:], kernel, padding, dilation, strict=True)
    for length, wide, around, apart in sizes:
        if apart * (wide - 1) + 1 > length + 2 * around:
            raise too_long(name, kernel, x.shape[2:])


def too_long(name: str, kernel: Sequence[int], sizes: Sequence[int]) -> ShapeError:
    """The error for a kernel that does not fit."""
    return ShapeError(
        f"{name}: no window of {list(kernel)} places fits into {list(sizes)} with its "
        "padding; give longer rows or a smaller kernel"
    )
