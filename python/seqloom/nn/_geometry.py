"""Sizes of windows: integers, and no window longer than its input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from seqloom.errors import ArgumentError, ShapeError
from seqloom.tensor import apply
from seqloom.tensor._elements import to_integer

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])
Size = int | Sequence[int]
_SHAPES = {3: "(n, c, l)", 4: "(n, c, h, w)"}


def as_size(name: str, size: Any, least: int) -> int:
    """Converts an integer, or a sequence of one, to an integer of at least `least`."""
    number = size if type(size) is int else _to_integers(name, size, 1)[0]
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, got {size}")
    return number


def as_sizes(name: str, size: Any, least: int, axes: int) -> tuple[int, ...]:
    """Converts an argument to one integer for each axis: from one integer, or from each."""
    if type(size) is int and size >= least:  # the usual case
        return (size,) * axes
    sizes = _to_integers(name, size, axes)
    if min(sizes) < least:
        raise ArgumentError(f"{name} must be at least {least}, got {size}")
    return sizes


def as_option(sizes: tuple[int, ...]) -> int | tuple[int, ...]:
    """Converts sizes to what operations take: a number for one axis."""
    return sizes if len(sizes) != 1 else sizes[0]


def _to_integers(name: str, size: Any, axes: int) -> tuple[int, ...]:
    """Converts any integer or sequence of integers to as many as there are axes."""
    parts = cast("Sequence[Any]", size) if isinstance(size, (list, tuple)) else (size,)
    sizes: tuple[int, ...] = ()
    with suppress(TypeError):
        sizes = tuple(to_integer(part) for part in parts)
    if len(sizes) not in {1, axes}:
        expected = "an integer" + (" or a pair of integers" if axes > 1 else "")
        raise ArgumentError(f"{name} must be {expected}, got {size!r}")
    return sizes * axes if len(sizes) < axes else sizes


def with_or_without_batch(rank: int) -> Callable[[Function], Function]:
    """Lets a function of arrays of `rank` axes also take one without the batch axis."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(x: Tensor, *args: Any, **options: Any) -> Any:
            if getattr(x, "ndim", rank) != rank - 1:
                return function(x, *args, **options)
            found = function(apply("expand_dims", x, axis=0), *args, **options)
            if isinstance(found, tuple):
                several = cast("tuple[Tensor, ...]", found)
                return tuple(apply("squeeze", part, axis=0) for part in several)
            return apply("squeeze", found, axis=0)

        return cast("Function", call)

    return decorate


def require_axes(name: str, rank: int, *arrays: Tensor) -> None:
    """Raises an error for arrays of another number of axes."""
    for x in arrays:
        if x.ndim != rank:
            raise ShapeError(
                f"{name} takes arrays of {rank} axes, its input {_SHAPES[rank]}, and got "
                f"shape {x.shape}; reshape it: one record is a batch of one"
            )


def require_pool(
    x: Tensor,
    kernel: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    name: str,
) -> None:
    """Raises an error for windows of padding only, or longer than the input."""
    axes = len(kernel)
    if x.ndim != axes + 2:
        require_axes(name, axes + 2, x)
    for size, around in zip(kernel, padding, strict=True):
        if 2 * around > size:
            raise ArgumentError(
                f"{name}: padding must be at most half of kernel_size {size}, got {around}"
            )
    require_window(x, kernel, padding, dilation, name)


def require_window(
    x: Tensor,
    kernel: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    name: str,
) -> None:
    """Raises an error for windows longer than the input: jax returns nothing for them."""
    sizes = zip(x.shape[2:], kernel, padding, dilation, strict=True)
    for length, size, around, apart in sizes:
        if apart * (size - 1) + 1 > length + 2 * around:
            raise ShapeError(
                f"{name}: a window of {list(kernel)} positions does not fit into an input "
                f"of {list(x.shape[2:])} with its padding and dilation; pass a longer "
                "input or a smaller kernel"
            )
