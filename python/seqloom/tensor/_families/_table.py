"""What the table of operations finds in the families: default bodies, rules and shapes."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from seqloom.tensor._families._rule import Call, Kind, ShapeRule, run_on_ones
from seqloom.tensor._operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families._rule import Rule


_NONE: Mapping[str, Callable[..., Any]] = MappingProxyType({})


class ArrayFunctions:
    """The functions of a backend over its arrays: those of the table of operations.

    Arguments are those of the standard (2025.12), with three additions. A Python number
    may stand where an array may, and takes the other array's type. A dtype may be a name,
    a NumPy type, or the library's own. ``index(x, key)`` is ``x[key]``.

    Examples:
        >>> import seqloom as sl
        >>> isinstance(sl.tensor.backend("numpy"), ArrayFunctions)
        True
    """

    threads: int
    float_dtype: str
    deterministic: bool  # of NumPy's backend alone

    def __init_subclass__(
        cls, *, functions: Mapping[str, Callable[..., Any]] = _NONE, **options: Any
    ) -> None:
        """Makes functions, which take the backend first, methods of the class by name."""
        super().__init_subclass__(**options)
        for name, function in functions.items():
            setattr(cls, name, function)

    def dtype(self, x: Array) -> np.dtype[np.generic]:
        """The element type of an array as NumPy's; of bfloat16, as ml_dtypes'."""
        return np.dtype(x.dtype)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Any operation of the table."""


# Short, because each function of a family has it first.
Functions: TypeAlias = ArrayFunctions

FAMILIES = {
    line.family: import_module(f"seqloom.tensor._families._{line.family}")
    for line in OPERATIONS.values()
}
RULES: dict[str, Rule] = {
    name: replace(FAMILIES[line.family].RULES[name], name=name)
    for name, line in OPERATIONS.items()
    if line.has_rule
}
SHAPES: dict[str, ShapeRule] = {
    name: FAMILIES[line.family].SHAPES[name]
    for name, line in OPERATIONS.items()
    if line.has_shape
}
# The functions that a backend must have, as in the Array API standard. ``index`` has a
# default body, but a captured step records it as one operation.
REQUIRED = frozenset(
    name for name, line in OPERATIONS.items() if not line.has_default or name == "index"
)
# Those that it need not have. `Backend.to_full_precision` is a method of its own.
EXTENSION = frozenset(OPERATIONS) - REQUIRED - {"to_full_precision"}

for _name in EXTENSION | {"index"}:
    setattr(ArrayFunctions, _name, vars(FAMILIES[OPERATIONS[_name].family])[_name])


def find_kinds(
    call: Call, run_default: Callable[[Call], Kind | list[Kind]]
) -> tuple[list[Kind], bool]:
    """Returns shapes and dtypes of a call's results, and whether there may be several."""
    if call.name in SHAPES:
        found = SHAPES[call.name](call)
    elif call.name in OPERATIONS and OPERATIONS[call.name].has_default:
        found = run_default(call)
    else:  # a required function, or one of the target's own
        found = run_on_ones(call)
    return (found, True) if isinstance(found, list) else ([found], False)
