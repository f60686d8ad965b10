"""Products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._compile._shapes._layout import bare
from seqloom.tensor._compile._shapes._trial import promoted

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._shapes._trial import Kind, Rule


def _product(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """Rows of the left, columns of the right, the axes before them broadcast."""
    left, right = args[0].shape, args[1].shape
    dtype = promoted(target, name, args[:2], options)
    if len(left) == 1 or len(right) == 1:
        return np.matmul(bare(left), bare(right)).shape, dtype
    _check(left[-1] == right[-2], left, right)
    return (*np.broadcast_shapes(left[:-2], right[:-2]), left[-2], right[-1]), dtype


def _linear(
    target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """The weight's rows in place of the last axis."""
    x, weight = args[:2]
    _check(x.shape[-1] == weight.shape[1], x.shape, weight.shape)
    return (*x.shape[:-1], weight.shape[0]), promoted(target, "add", (x, weight), {})


def _contracted(
    target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """The axes that are not summed over, those of the left first."""
    x, y = args[:2]
    axes = options.get("axes", args[2] if len(args) > 2 else 2)  # noqa: PLR2004
    if isinstance(axes, int):
        axes = list(range(-axes, 0)), list(range(axes))
    left, right = (_rest(each.shape, gone) for each, gone in zip((x, y), axes, strict=True))
    return (*left, *right), promoted(target, "multiply", (x, y), {})


def _rest(shape: tuple[int, ...], gone: Any) -> list[int]:
    """A shape without some axes."""
    places = {axis % len(shape) for axis in gone}
    return [size for place, size in enumerate(shape) if place not in places]


def _einsum(
    target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """The axes that the equation names after its arrow."""
    equation, *operands = args
    made = np.einsum(equation, *(bare(each.shape) for each in operands))
    dtype = operands[0].dtype
    if len(operands) > 1:
        dtype = promoted(target, "multiply", tuple(operands[:2]), {})
    return made.shape, dtype


def _check(fits: bool, left: Any, right: Any) -> None:  # noqa: FBT001
    """Refuses factors that do not fit, as the product itself would."""
    if not fits:
        raise ValueError(f"shapes {left} and {right} do not go together")


RULES: dict[str, Rule] = {
    "matmul": _product,
    "linear": _linear,
    "tensordot": _contracted,
    "einsum": _einsum,
}
