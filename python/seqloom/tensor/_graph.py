"""Graph: a step as a list of operations on numbered values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from seqloom.tensor._element_types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One array that a graph takes or makes."""

    number: int  # its name within the graph
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    # An input that is a Python number, which takes the type of the other operand.
    weak: bool = False

    @property
    def nbytes(self) -> int:
        """The size of the array in bytes."""
        total = self.dtype.itemsize
        for size in self.shape:
            total *= size
        return total

    def __repr__(self) -> str:
        return f"%{self.number}"

    def declare(self) -> str:
        """Returns the name with type and shape, for the text of a graph."""
        kind = "number" if self.weak else f"{self.dtype}{list(self.shape)}"
        return f"%{self.number}: {kind}"


@dataclass(slots=True, eq=False)
class Operation:
    """One call of a backend's function."""

    # A ``scan`` has the arguments ``init``, ``xs`` and ``around`` (lists of values). Its
    # body, the `Graph` in the options, takes the carried values, one slice of each of
    # ``xs``, and the values around it; it returns the carried values and one slice of each
    # result.

    name: str  # of the function
    # Values, plain constants, and lists or tuples of both: the arrays of ``concat``, say.
    args: tuple[Any, ...]
    options: dict[str, Any]  # keyword arguments, all plain
    outputs: tuple[Value, ...]  # more than one if the function returns a tuple
    where: str = ""  # the line of the user's code that called it, as ``file:line``

    def inputs(self) -> list[Value]:
        """Returns the values among the arguments, each as often as it occurs."""
        return values_in(self.args)

    def __str__(self) -> str:
        made = ", ".join(value.declare() for value in self.outputs)
        options = [f"{name}={_format(value)}" for name, value in self.options.items()]
        arguments = ", ".join([*map(_format, self.args), *options])
        return f"{made} = {self.name}({arguments})" + (
            f"  # {self.where}" if self.where else ""
        )


@dataclass(slots=True, eq=False)
class Graph:
    """A step as one program: inputs, operations in order, outputs."""

    inputs: list[Value] = field(default_factory=list["Value"])
    # The arrays that are the same at every call, by the value's number.
    constants: dict[int, Array] = field(default_factory=dict[int, "Array"])
    # In order of computation: each after the operations that it depends on.
    operations: list[Operation] = field(default_factory=list["Operation"])
    outputs: list[Value] = field(default_factory=list["Value"])  # one may be an input
    # By input position, the position of the output that may reuse the input's memory,
    # because the caller does not use the input any more.
    donated: dict[int, int] = field(default_factory=dict[int, int])

    def uses(self) -> dict[int, int]:
        """Counts how often each value is read, by number; an output is read once."""
        found: dict[int, int] = {}
        for operation in self.operations:
            for value in operation.inputs():
                found[value.number] = found.get(value.number, 0) + 1
        for value in self.outputs:
            found[value.number] = found.get(value.number, 0) + 1
        return found

    def __str__(self) -> str:
        taken = ", ".join(value.declare() for value in self.inputs)
        lines = [f"graph({taken})"]
        lines += [
            f"  %{number} = constant {_kind(c)}" for number, c in self.constants.items()
        ]
        lines += [f"  {operation}" for operation in self.operations]
        lines.append(f"  return {', '.join(map(repr, self.outputs))}")
        if self.donated:
            pairs = (f"{i} to {o}" for i, o in self.donated.items())
            lines.append(f"  donated inputs to outputs: {', '.join(pairs)}")
        return "\n".join(lines)


def values_in(tree: Any) -> list[Value]:
    """Returns the values within nested lists and tuples."""
    if isinstance(tree, Value):
        return [tree]
    found: list[Value] = []
    if isinstance(tree, (list, tuple)):
        for part in cast("list[Any]", tree):
            if isinstance(part, Value):
                found.append(part)
            elif isinstance(part, (list, tuple)):
                found += values_in(part)
    return found


def flatten(made: object) -> list[Array]:
    """Returns the arrays of a result, also of nested lists and tuples, as one list."""
    if isinstance(made, (list, tuple)):
        return [array for part in cast("list[Any]", made) for array in flatten(part)]
    return [made]


def map_values(tree: Any, change: Callable[[Value], Any]) -> Any:
    """Replaces each value within nested lists and tuples."""
    if isinstance(tree, Value):
        return change(tree)
    if type(tree) in (list, tuple):
        return type(tree)(map_values(part, change) for part in cast("list[Any]", tree))
    return tree


def _format(arg: object) -> str:
    """Formats an argument for the text of a graph."""
    if isinstance(arg, Graph):
        return "{" + "; ".join(str(arg).split("\n")) + "}"
    if isinstance(arg, (list, tuple)):
        inside = ", ".join(_format(part) for part in cast("list[Any]", arg))
        return f"[{inside}]" if isinstance(arg, list) else f"({inside})"
    return repr(arg)


def _kind(constant: Array) -> str:
    """Formats the type and shape of a constant."""
    return f"{constant.dtype}{list(constant.shape)}"
