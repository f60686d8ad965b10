"""Units: what a plan runs in one call. A group of elementwise operations is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from seqloom.tensor._compile._numpy._fusable import computed_in, folded_as

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.tensor._compile._graph import Operation, Value
    from seqloom.tensor._compile._numpy._memory import Memory


@dataclass(slots=True, eq=False)
class Unit:
    """Operations that run together, each after what it needs.

    Attributes:
        number: Its place among the units as they were made.
        operations: What it does.
        computes: The type of a fused group; ``None`` for a single call.
        shape: The shape over which a group runs.
        before: Numbers of the units that must run before.
        apart: Those of them that can never become one with it: what it needs of them is
            there only when they are done.
    """

    number: int
    operations: list[Operation]
    computes: str | None = None
    shape: tuple[int, ...] = ()
    before: set[int] = field(default_factory=set[int])
    apart: set[int] = field(default_factory=set[int])

    def is_urgent(self) -> bool:
        """Whether it runs as soon as it can."""
        # Updates free the memory of gradients, and wait for single numbers.
        if self.operations[0].name in ("adamw", "sgd"):
            return True
        return all(value.shape == () for value in self.makes())

    def makes(self) -> Iterator[Value]:
        """All that its operations make."""
        for operation in self.operations:
            yield from operation.outputs

    def reads(self) -> Iterator[Value]:
        """What it needs from elsewhere, as often as it does."""
        mine = {value.number for value in self.makes()}
        for operation in self.operations:
            yield from (value for value in operation.inputs() if value.number not in mine)


class Grouping:
    """Puts operations into units, one after the other, in the order of the graph.

    Attributes:
        units: What there is, by number.
    """

    def __init__(self, memory: Memory) -> None:
        self.units: dict[int, Unit] = {}
        self._memory = memory
        self._made_by: dict[int, Unit] = {}  # by the number of a value that is no view
        self._readers: dict[int, set[int]] = {}  # units that read a memory
        self._places: dict[int, int] = {}  # of operations in the graph
        self._number = count()

    def add(self, operation: Operation) -> None:
        """Puts an operation into a unit that is there, or into a new one."""
        self._places[id(operation)] = len(self._places)
        computes, fold = computed_in(operation), folded_as(operation)
        if computes is None and fold:
            self._join(operation, self._folding(operation))
        else:
            shape = operation.outputs[0].shape if computes else ()
            self._join(operation, Unit(next(self._number), [], computes, shape))
        if computes:
            self._merge_makers(operation)

    def _folding(self, operation: Operation) -> Unit:
        """The group that makes what is folded, or a new one."""
        x = operation.args[0]
        maker = self._made_by.get(x.number)
        if maker and maker.computes and maker.shape == x.shape and not self._is_fold(x):
            return maker
        computes = "float64" if x.dtype.name == "float64" else "float32"
        return Unit(next(self._number), [], computes, x.shape)

    def _join(self, operation: Operation, unit: Unit) -> None:
        """An operation becomes the unit's last."""
        self.units[unit.number] = unit
        unit.operations.append(operation)
        for value in operation.inputs():
            self._need(value, unit)
            self._readers.setdefault(self._memory.root(value), set()).add(unit.number)
        for root in self._memory.written(operation):
            unit.before |= self._readers[root] - {unit.number}
        for value in operation.outputs:
            self._made_by[value.number] = unit

    def _need(self, value: Value, unit: Unit) -> None:
        """A unit runs after the one that makes a value."""
        maker = self._made_by.get(self._memory.origin(value))
        if maker is None or maker is unit:
            return
        unit.before.add(maker.number)
        if value.number not in self._made_by or self._is_fold(value):
            unit.apart.add(maker.number)

    def _is_fold(self, value: Value) -> bool:
        """Whether a value is a fold over what its unit computes."""
        makers = self._made_by[value.number].operations
        return any(value in made.outputs and folded_as(made) for made in makers)

    def _merge_makers(self, operation: Operation) -> None:
        """The groups that made the operands take the operation's in, where they can."""
        for value in operation.inputs():
            unit = self._made_by[operation.outputs[0].number]
            maker = self._made_by.get(value.number, unit)
            if maker is not unit and self._are_alike(maker, unit):
                self._merge(maker, unit)

    def _are_alike(self, one: Unit, other: Unit) -> bool:
        """Whether two units may be one: no third runs between them."""
        if one.computes is None or (one.computes, one.shape) != (
            other.computes,
            other.shape,
        ):
            return False
        if one.number in other.apart or other.number in one.apart:
            return False
        return not (self._leads(one, other) or self._leads(other, one))

    def _leads(self, first: Unit, last: Unit) -> bool:
        """Whether the last needs the first by way of a third."""
        seen = {first.number}
        ahead = list(last.before - seen)
        while ahead:
            before = self.units[ahead.pop()].before
            if first.number in before:
                return True
            ahead += before - seen
            seen |= before
        return False

    def _merge(self, one: Unit, other: Unit) -> None:
        """Two units become one, with the number of the first."""
        both = {one.number, other.number}
        one.operations += other.operations
        one.operations.sort(key=lambda each: self._places[id(each)])
        one.before = (one.before | other.before) - both
        one.apart |= other.apart
        del self.units[other.number]
        for value in other.makes():
            self._made_by[value.number] = one
        sets = [unit.before for unit in self.units.values()]
        sets += [unit.apart for unit in self.units.values()]
        for numbers in (*sets, *self._readers.values()):
            if other.number in numbers:
                numbers.remove(other.number)
                numbers.add(one.number)


def in_order(units: dict[int, Unit]) -> list[Unit]:
    """The units, each after those it needs: urgent ones as soon as they can."""
    done: set[int] = set()
    ordered: list[Unit] = []
    waiting = sorted(units)
    while waiting:
        able = [each for each in waiting if units[each].before <= done]
        ready = next((each for each in able if units[each].is_urgent()), able[0])
        waiting.remove(ready)
        done.add(ready)
        ordered.append(units[ready])
    return ordered
