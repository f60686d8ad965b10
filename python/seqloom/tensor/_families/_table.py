"""The default implementations, gradient rules and shape rules of all operations."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from seqloom.tensor._families._rule import (
    ArrayFunctions,
    Call,
    ShapeRule,
    Spec,
    infer_by_running,
)
from seqloom.tensor._operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._families._rule import Rule


FAMILY_MODULES = {
    line.family: import_module(f"seqloom.tensor._families._{line.family}")
    for line in OPERATIONS.values()
}
GRAD_RULES: dict[str, Rule] = {
    name: replace(FAMILY_MODULES[line.family].GRAD_RULES[name], name=name)
    for name, line in OPERATIONS.items()
    if line.has_rule
}
SHAPE_RULES: dict[str, ShapeRule] = {
    name: FAMILY_MODULES[line.family].SHAPE_RULES[name]
    for name, line in OPERATIONS.items()
    if line.has_shape
}
# The functions that a backend must implement, as in the Array API standard. ``index``
# has a default implementation, but a captured step records it as one operation.
REQUIRED_OPS = frozenset(
    name for name, line in OPERATIONS.items() if not line.has_default or name == "index"
)
# Functions that a backend may implement. `Backend` itself defines `to_full_precision`.
EXTENSION_OPS = frozenset(OPERATIONS) - REQUIRED_OPS - {"to_full_precision"}

for _name in EXTENSION_OPS | {"index"}:
    setattr(ArrayFunctions, _name, vars(FAMILY_MODULES[OPERATIONS[_name].family])[_name])


def infer_specs(
    call: Call, run_default: Callable[[Call], Spec | list[Spec]]
) -> tuple[list[Spec], bool]:
    """Return the shapes and dtypes of the results, and whether the result is a list."""
    if call.name in SHAPE_RULES:
        found = SHAPE_RULES[call.name](call)
    elif call.name in OPERATIONS and OPERATIONS[call.name].has_default:
        found = run_default(call)
    else:  # The function is required, or was defined by the user.
        found = infer_by_running(call)
    return (found, True) if isinstance(found, list) else ([found], False)
