"""Units: what a plan runs in one call. A group of elementwise operations is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
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
        span: The positions in the graph of its first and of its last operation.
    """

    number: int
    operations: list[Operation]
    computes: str | None = None
    shape: tuple[int, ...] = ()
    before: set[int] = field(default_factory=set[int])
    apart: set[int] = field(default_factory=set[int])
    span: tuple[int, int] = (0, 0)

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

    A unit that became part of another is found by its number nevertheless, so that a merge
    touches neither the other units nor their sets.
    """

    def __init__(self, memory: Memory) -> None:
        self._units: dict[int, Unit] = {}
        self._became: dict[int, int] = {}  # a unit's number: that of the one it is part of
        self._memory = memory
        self._made_by: dict[int, int] = {}  # a value that is no view: its unit's number
        self._folds: set[int] = set()  # values that are folds
        self._readers: dict[int, set[int]] = {}  # units that read a memory
        self._places: dict[int, int] = {}  # of operations in the graph
        self._number = count()

    def add(self, operation: Operation) -> None:
        """Puts an operation into a unit that is there, or into a new one."""
        self._places[id(operation)] = len(self._places)
        computes, fold = computed_in(operation), folded_as(operation)
        if fold:
            self._folds.update(value.number for value in operation.outputs)
        if computes is None and fold:
            self._join(operation, self._folding(operation))
        else:
            shape = operation.outputs[0].shape if computes else ()
            self._join(operation, Unit(next(self._number), [], computes, shape))
        if computes:
            self._merge_makers(operation)

    def finished(self) -> dict[int, Unit]:
        """The units, by number; each lists its operations in the order of the graph."""
        for unit in self._units.values():
            unit.operations.sort(key=lambda each: self._places[id(each)])
            unit.before = self._before(unit)
        return self._units

    def _unit(self, number: int) -> Unit:
        """The unit that a number stands for now."""
        last = number
        while last in self._became:
            last = self._became[last]
        while number != last:  # the next search is short
            after = self._became[number]
            self._became[number] = last
            number = after
        return self._units[last]

    def _before(self, unit: Unit) -> set[int]:
        """The units that must run before, by their numbers of now."""
        unit.before = {self._unit(number).number for number in unit.before} - {unit.number}
        return unit.before

    def _maker(self, number: int) -> Unit | None:
        """The unit that makes a value."""
        return self._unit(self._made_by[number]) if number in self._made_by else None

    def _folding(self, operation: Operation) -> Unit:
        """The group that makes what is folded, or a new one."""
        x = operation.args[0]
        maker = self._maker(x.number)
        if (
            maker
            and maker.computes
            and maker.shape == x.shape
            and x.number not in self._folds
        ):
            return maker
        computes = "float64" if x.dtype.name == "float64" else "float32"
        return Unit(next(self._number), [], computes, x.shape)

    def _join(self, operation: Operation, unit: Unit) -> None:
        """An operation becomes the unit's last."""
        self._units[unit.number] = unit
        place = self._places[id(operation)]
        unit.span = (unit.span[0] if unit.operations else place, place)
        unit.operations.append(operation)
        for value in operation.inputs():
            self._need(value, unit)
            self._readers.setdefault(self._memory.root(value), set()).add(unit.number)
        for root in self._memory.written(operation):
            unit.before |= self._readers[root]
        for value in operation.outputs:
            self._made_by[value.number] = unit.number

    def _need(self, value: Value, unit: Unit) -> None:
        """A unit runs after the one that makes a value."""
        maker = self._maker(self._memory.origin(value))
        if maker is None or maker is unit:
            return
        unit.before.add(maker.number)
        if value.number not in self._made_by or value.number in self._folds:
            unit.apart.add(maker.number)

    def _merge_makers(self, operation: Operation) -> None:
        """The groups that made the operands take the operation's in, where they can."""
        for value in operation.inputs():
            unit = self._unit(self._made_by[operation.outputs[0].number])
            maker = self._maker(value.number) or unit
            if maker is not unit and self._are_alike(maker, unit):
                self._merge(maker, unit)

    def _are_alike(self, one: Unit, other: Unit) -> bool:
        """Whether two units may be one: no third runs between them."""
        if one.computes is None or (one.computes, one.shape) != (
            other.computes,
            other.shape,
        ):
            return False
        if self._is_apart(one, other) or self._is_apart(other, one):
            return False
        return not (self._leads(one, other) or self._leads(other, one))

    def _is_apart(self, one: Unit, other: Unit) -> bool:
        """Whether the other needs what the first has only when it is done."""
        other.apart = {self._unit(number).number for number in other.apart}
        return one.number in other.apart

    def _leads(self, first: Unit, last: Unit) -> bool:
        """Whether the last needs the first by way of a third."""
        seen = {first.number}
        ahead = list(self._before(last) - seen)
        while ahead:
            third = self._units[ahead.pop()]
            # What ended before the first began cannot need it, nor can what that needs.
            if third.span[1] < first.span[0]:
                continue
            before = self._before(third)
            if first.number in before:
                return True
            ahead += before - seen
            seen |= before
        return False

    def _merge(self, one: Unit, other: Unit) -> None:
        """Two units become one, with the number of the first."""
        del self._units[other.number]
        self._became[other.number] = one.number
        # The shorter list is moved: `finished` puts the operations in order.
        lists = sorted((one.operations, other.operations), key=len)
        one.operations = lists[1]
        one.operations += lists[0]
        one.before |= other.before
        one.apart |= other.apart
        one.span = min(one.span[0], other.span[0]), max(one.span[1], other.span[1])


def in_order(units: dict[int, Unit]) -> list[Unit]:
    """The units, each after those it needs: urgent ones as soon as they can."""
    waits = {number: len(unit.before) for number, unit in units.items()}
    after: dict[int, list[int]] = {number: [] for number in units}
    for number, unit in units.items():
        for before in unit.before:
            after[before].append(number)
    able: list[tuple[bool, int]] = []

    def offer(number: int) -> None:
        if waits[number] == 0:
            heappush(able, (not units[number].is_urgent(), number))

    for number in units:
        offer(number)
    ordered: list[Unit] = []
    while able:
        _, number = heappop(able)
        ordered.append(units[number])
        for each in after[number]:
            waits[each] -= 1
            offer(each)
    return ordered
