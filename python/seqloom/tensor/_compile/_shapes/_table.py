"""The shapes of all operations, by name: those that the table of operations finds."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from seqloom.tensor._compile._shapes._call import Call, run_on_ones
from seqloom.tensor._operations import OPERATIONS

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._shapes._call import Kind, Rule

RULES: dict[str, Rule] = {
    name: import_module(f"seqloom.tensor._compile._shapes.{files.shape}").RULES[name]
    for name, files in OPERATIONS.items()
    if files.shape
}


def find_kinds(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[list[Kind], bool]:
    """Returns shapes and dtypes of a call's results, and whether there may be several."""
    # A function without a rule, such as one of the target's own, is tried.
    found = RULES.get(name, run_on_ones)(Call(target, name, args, options))
    return (found, True) if isinstance(found, list) else ([found], False)
