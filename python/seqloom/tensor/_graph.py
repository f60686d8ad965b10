"""Graph: a step as a list of operations on numbered values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from seqloom.tensor._defaults import Array


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One array that a graph takes or makes.

    Attributes:
        number: Its name within the graph.
        shape: The lengths of its axes.
        dtype: Its element type.
        weak: A Python number that each call gives: it takes the type of what it meets.
            Inputs only.
    """

    number: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak: bool = False

    @property
    def nbytes(self) -> int:
        """How many bytes it holds."""
        total = self.dtype.itemsize
        for size in self.shape:
            total *= size
        return total

    def __repr__(self) -> str:
        return f"%{self.number}"

    def declared(self) -> str:
        """Its name with its type and shape."""
        kind = "number" if self.weak else f"{self.dtype}{list(self.shape)}"
        return f"%{self.number}: {kind}"


@dataclass(slots=True, eq=False)
class Operation:
    """One call of a backend's function.

    Attributes:
        name: The function.
        args: Its positional arguments: values, plain constants, and lists or tuples of
            both (the arrays of ``concat``, the key of ``index``).
        options: Its keyword arguments, all plain; the body of a ``scan`` is a `Graph`.
        outputs: What it makes; more than one where the function gives a tuple.
        where: The line of the user's code that called it, as ``file:line``.

    A ``scan`` has the arguments ``init``, ``xs`` and ``around`` (lists of values); its body
    takes the carried values, one slice of each of ``xs``, and those around it, and gives
    the carried values and one slice of each result.
    """

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any]
    outputs: tuple[Value, ...]
    where: str = ""

    def inputs(self) -> list[Value]:
        """The values among its arguments, as often as they stand there."""
        return values_in(self.args)

    def __str__(self) -> str:
        made = ", ".join(value.declared() for value in self.outputs)
        options = [f"{name}={_shown(value)}" for name, value in self.options.items()]
        given = ", ".join([*map(_shown, self.args), *options])
        return f"{made} = {self.name}({given})" + (
            f"  # {self.where}" if self.where else ""
        )


@dataclass(slots=True, eq=False)
class Graph:
    """A step as one program: inputs, operations in order, outputs.

    Attributes:
        inputs: The values that a call gives, in order.
        constants: The arrays that are the same at every call, by the value's number.
        operations: What is computed, each after what it needs.
        outputs: The values that a call returns, in order; one may be an input.
        donated: Inputs whose memory the output of the given position may take, because
            the caller does not use them any more: input position to output position.
    """

    inputs: list[Value] = field(default_factory=list["Value"])
    constants: dict[int, Array] = field(default_factory=dict[int, "Array"])
    operations: list[Operation] = field(default_factory=list["Operation"])
    outputs: list[Value] = field(default_factory=list["Value"])
    donated: dict[int, int] = field(default_factory=dict[int, int])

    def uses(self) -> dict[int, int]:
        """How often each value is read, by number; an output counts as one reading."""
        found: dict[int, int] = {}
        for operation in self.operations:
            for value in operation.inputs():
                found[value.number] = found.get(value.number, 0) + 1
        for value in self.outputs:
            found[value.number] = found.get(value.number, 0) + 1
        return found

    def __str__(self) -> str:
        taken = ", ".join(value.declared() for value in self.inputs)
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
    """The values within nested lists and tuples."""
    if isinstance(tree, Value):
        return [tree]
    found: list[Value] = []
    if isinstance(tree, (list, tuple)):
        for each in cast("list[Any]", tree):
            if isinstance(each, Value):
                found.append(each)
            elif isinstance(each, (list, tuple)):
                found += values_in(each)
    return found


def map_values(tree: Any, change: Callable[[Value], Any]) -> Any:
    """Replaces each value within nested lists and tuples."""
    if isinstance(tree, Value):
        return change(tree)
    if type(tree) in (list, tuple):
        return type(tree)(map_values(part, change) for part in cast("list[Any]", tree))
    return tree


def _shown(arg: Any) -> str:
    """An argument as the text of a graph names it."""
    if isinstance(arg, Graph):
        return "{" + "; ".join(str(arg).split("\n")) + "}"
    if isinstance(arg, (list, tuple)):
        inside = ", ".join(_shown(each) for each in cast("list[Any]", arg))
        return f"[{inside}]" if isinstance(arg, list) else f"({inside})"
    return repr(arg)


def _kind(constant: Array) -> str:
    """The type and shape of a constant."""
    return f"{constant.dtype}{list(constant.shape)}"
