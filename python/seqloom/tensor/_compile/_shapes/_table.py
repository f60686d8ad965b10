"""The shapes of all operations, by name: those that the table of operations finds."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from seqloom.tensor._compile._shapes._call import run_on_ones
from seqloom.tensor._operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._compile._shapes._call import Call, Kind, Rule

RULES: dict[str, Rule] = {
    name: import_module(f"seqloom.tensor._compile._shapes.{files.shape}").RULES[name]
    for name, files in OPERATIONS.items()
    if files.shape
}


def find_kinds(
    call: Call, run_default: Callable[[Call], Kind | list[Kind]]
) -> tuple[list[Kind], bool]:
    """Returns shapes and dtypes of a call's results, and whether there may be several."""
    if call.name in RULES:
        found = RULES[call.name](call)
    elif call.name in OPERATIONS and OPERATIONS[call.name].default:
        found = run_default(call)
    else:  # a required function, or one of the target's own
        found = run_on_ones(call)
    return (found, True) if isinstance(found, list) else ([found], False)
