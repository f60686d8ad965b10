"""The rules of all functions in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._compile._shapes import (
    _axes,
    _elementwise,
    _indexing,
    _layers,
    _windows,
)
from seqloom.tensor._compile._shapes._call import Call, run_on_ones

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._shapes._call import Kind, Rule

RULES: dict[str, Rule] = {
    **_elementwise.RULES,
    **_axes.RULES,
    **_indexing.RULES,
    **_layers.RULES,
    **_windows.RULES,
}


def find_kinds(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[list[Kind], bool]:
    """Returns shapes and dtypes of a call's results, and whether there may be several."""
    # A function without a rule, such as one of the target's own, is tried.
    found = RULES.get(name, run_on_ones)(Call(target, name, args, options))
    return (found, True) if isinstance(found, list) else ([found], False)
