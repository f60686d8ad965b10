"""Rule: the derivative of one operation, as data; and what the rules share.

`save` declares what is kept of an operation (raw arrays, shapes, numbers), `pull` turns the
gradient by its output into those by its inputs, written in the functions of the inner
backend alone, so that it works on every backend and can itself be tracked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from seqloom.tensor._element_types import Array
from seqloom.tensor._families import _keep as keep

if TYPE_CHECKING:
    from seqloom.tensor._families._functions import Functions

Save: TypeAlias = Callable[[keep.Args, Any, keep.Needs, keep.Options], Any]
Parts: TypeAlias = Sequence[Array | None]
Pull: TypeAlias = "Callable[[Functions, Any, Any, keep.Needs], Parts]"

ALL = 1 << 30


@dataclass(frozen=True, slots=True)
class Rule:
    """The derivative of one operation.

    Attributes:
        save: What is kept, from (inputs, output, which inputs are tracked, options).
        pull: The gradients by the inputs, from (backend, what was kept, gradient, needs);
            None, or nothing, where none flows.
        of_sequence: The first argument is a list of arrays.
        tracked: How many of several outputs are tracked, `ALL` for each. With any other
            number than 1, ``pull`` gets a list of gradients, None where none arrived.
        name: The operation's, as errors call it.
    """

    save: Save
    pull: Pull
    of_sequence: bool = False
    tracked: int = 1
    name: str = ""


def add_rule(
    rules: dict[str, Rule],
    *names: str,
    save: Save,
    of_sequence: bool = False,
    tracked: int = 1,
) -> Callable[[Pull], Pull]:
    """Adds a function to the rules of a family, as the `pull` of these operations."""

    def add(pull: Pull) -> Pull:
        rule = Rule(save, pull, of_sequence, tracked)
        rules.update(dict.fromkeys(names, rule))
        return pull

    return add


def by_output(slope: Callable[[Functions, Array, Array], Array]) -> Rule:
    """The rule of a function of one input whose derivative needs only its output."""
    return Rule(keep.output, lambda b, out, grad, _: (slope(b, grad, out),))


def by_input(slope: Callable[[Functions, Array, Array], Array]) -> Rule:
    """The rule of a function of one input whose derivative needs only that input."""
    return Rule(keep.first, lambda b, x, grad, _: (slope(b, grad, x),))


def of_each_rank(rule: Callable[[str], Rule], name: str, end: str = "") -> dict[str, Rule]:
    """Makes the rules of an operation along one axis and along two."""
    return {f"{name}{rank}d{end}": rule(f"{name}{rank}d") for rank in (1, 2)}


# Gradients through broadcasting and reductions: summed where an input was repeated.


def unbroadcast(b: Functions, grad: Array, shape: tuple[int, ...]) -> Array:
    """Sums a gradient, at once, over the axes along which its input was repeated."""
    found = tuple(grad.shape)
    if found == shape:
        return grad
    extra = len(found) - len(shape)
    repeated = [
        axis + extra for axis, size in enumerate(shape) if size == 1 != found[axis + extra]
    ]
    axes = (*range(extra), *repeated)
    total = b.sum(grad, axis=axes) if axes else grad
    return b.reshape(total, shape) if repeated else total


def as_input(b: Functions, grad: Array, like: keep.Like) -> Array:
    """A gradient in the shape and the element type of its input."""
    shape, dtype = like
    grad = unbroadcast(b, grad, tuple(shape))
    return grad if grad.dtype == dtype else b.astype(grad, dtype)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """An option ``axis`` as axes from 0 up."""
    if axis is None or ndim == 0:
        return tuple(range(ndim))
    several = cast("tuple[int, ...]", axis) if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(axis % ndim for axis in several)


def broadcast_reduced(
    b: Functions, reduced: Array, shape: tuple[int, ...], options: Any
) -> Array:
    """What a reduction gave, over the axes that it removed."""
    return b.broadcast_to(restore_axes(b, reduced, shape, options), shape)


def restore_axes(
    b: Functions, reduced: Array, shape: tuple[int, ...], options: Any
) -> Array:
    """What a reduction gave, with the reduced axes of length 1 put back."""
    if options.get("keepdims", False):
        return reduced
    gone = axes_of(options.get("axis"), len(shape))
    kept = tuple(1 if axis in gone else size for axis, size in enumerate(shape))
    return b.reshape(reduced, kept)
