"""What shape and element type each function gives, without computing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._compile._shapes import (
    _elementwise,
    _fused,
    _layout,
    _places,
    _products,
    _random,
    _reductions,
    _windows,
)
from seqloom.tensor._compile._shapes._trial import tried

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._shapes._trial import Kind, Rule

RULES: dict[str, Rule] = {
    **_elementwise.RULES,
    **_reductions.RULES,
    **_layout.RULES,
    **_places.RULES,
    **_products.RULES,
    **_windows.RULES,
    **_fused.RULES,
    **_random.RULES,
}


def kinds(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[list[Kind], bool]:
    """The kinds of a call's results, and whether the call gives a tuple or list.

    Args:
        target: Whose function it is; its rules of promotion count.
        name: The function.
        args: Its positional arguments, a `Value` for each array.
        options: Its keyword arguments.

    Returns:
        The pairs of shape and element type, flattened; whether there may be several.
    """
    rule = RULES.get(name)
    found = (
        rule(target, name, args, options) if rule else tried(target, name, args, options)
    )
    return (found, True) if isinstance(found, list) else ([found], False)
