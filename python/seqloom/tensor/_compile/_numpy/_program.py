"""A group of elementwise operations as one program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._compile._numpy._fusable import computed_in, folded_as, folded_axes
from seqloom.tensor._graph import Value

if TYPE_CHECKING:
    from seqloom.tensor._compile._numpy._units import Unit
    from seqloom.tensor._graph import Operation

# Powers that are cheaper than a power.
_POWERS = {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}


@dataclass(slots=True)
class Fused:
    """A program, and the values of the graph that it reads and stores.

    Attributes:
        program: What runs.
        inputs: What it reads, in order.
        outputs: What it stores, in order.
    """

    program: _native.ElementwiseProgram
    inputs: list[Value]
    outputs: list[Value]


def fused(unit: Unit, stored: set[int]) -> Fused:
    """The program of a group.

    Args:
        unit: The group.
        stored: Numbers of the values that others need.

    Returns:
        The program, which keeps its other values to itself.
    """
    draft = _Draft()
    own = {value.number for value in unit.outputs()}
    for operation in unit.operations:
        for arg in operation.args:
            draft.meet(arg, own)
    for operation in unit.operations:
        draft.add(operation)
    outputs = [value for value in unit.outputs() if value.number in stored]
    makers = {value.number: each for each in unit.operations for value in each.outputs}
    leaving = [draft.leaving(value, makers[value.number]) for value in outputs]
    double = unit.dtype == "float64"
    numbers = list(draft.constants)
    program = _native.ElementwiseProgram(
        double, len(draft.inputs), numbers, draft.steps, leaving
    )
    return Fused(program, draft.inputs, outputs)


@dataclass(slots=True)
class _Draft:
    """A program that is being written: inputs and constants first, then steps."""

    inputs: list[Value] = field(default_factory=list["Value"])
    constants: dict[float, int] = field(default_factory=dict[float, int])
    steps: list[tuple[str, list[int]]] = field(default_factory=list[tuple[str, list[int]]])
    _places: dict[int, int] = field(default_factory=dict[int, int])

    def meet(self, arg: Any, own: set[int]) -> None:
        """Notes an argument that comes from elsewhere."""
        if not isinstance(arg, Value):
            self.constants.setdefault(_number(arg), len(self.constants))
        elif arg.number not in own and arg.number not in self._places:
            self._places[arg.number] = len(self.inputs)
            self.inputs.append(arg)
        self.constants.setdefault(0.0, len(self.constants))

    def place(self, arg: Any) -> int:
        """The program's number of an argument."""
        if isinstance(arg, Value):
            return self._places[arg.number]
        return len(self.inputs) + self.constants[_number(arg)]

    def add(self, operation: Operation) -> None:
        """Writes an elementwise operation down; a fold is a way of leaving."""
        if computed_in(operation) is None:
            return
        name, args = _reduced(operation)
        places = [self.place(arg) for arg in args]
        if name is None:
            self._places[operation.outputs[0].number] = places[0]
            return
        self._places[operation.outputs[0].number] = self._next()
        self.steps.append((name, places))

    def _next(self) -> int:
        """The number of what the next step makes."""
        return len(self.inputs) + len(self.constants) + len(self.steps)

    def leaving(self, value: Value, maker: Operation) -> tuple[int, str | None, list[int]]:
        """How a value leaves the program."""
        if computed_in(maker) is not None:
            return self._places[value.number], None, []
        return self.place(maker.args[0]), folded_as(maker), list(folded_axes(maker))


def _reduced(operation: Operation) -> tuple[str | None, tuple[Any, ...]]:
    """An operation as the program knows it; no name where nothing is to be done."""
    name, args = operation.name, operation.args
    if name == "astype":
        to_truth = operation.outputs[0].dtype == np.bool_ != args[0].dtype
        return ("not_equal", (args[0], 0.0)) if to_truth else (None, args[:1])
    if name == "pow" and not isinstance(args[1], Value) and float(args[1]) in _POWERS:
        return _POWERS[float(args[1])], args[:1]
    return name, args


def _number(arg: Any) -> float:
    """A plain argument as a number; what is none, such as a type, does not matter."""
    known = isinstance(arg, (int, float, np.integer, np.floating))
    return float(cast("float", arg)) if known else 0.0
