"""Groups operations into units, each run by one call, and orders the units."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from seqloom.tensor._compile._numpy._fusable import computed_in, folded_as

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.tensor._compile._numpy._memory import Memory
    from seqloom.tensor._graph import Operation, Value


@dataclass(slots=True, eq=False)
class Unit:
    """Operations that run together: one fused group, or one single operation.

    Attributes:
        number: The number of the unit, in order of creation.
        operations: The operations of the unit.
        dtype: The dtype in which a fused group computes; ``None`` for a single operation.
        shape: The shape over which a fused group iterates.
        dependencies: The numbers of the units that must run first.
        barriers: The dependencies that cannot be merged with this unit, because it needs
            their complete result, such as that of a reduction.
        span: The positions in the graph of the first and of the last operation.
    """

    number: int
    operations: list[Operation]
    dtype: str | None = None
    shape: tuple[int, ...] = ()
    dependencies: set[int] = field(default_factory=set[int])
    barriers: set[int] = field(default_factory=set[int])
    span: tuple[int, int] = (0, 0)

    def is_urgent(self) -> bool:
        """Returns True if the unit runs as soon as its dependencies have run."""
        # An optimiser's update frees the memory of gradients. It waits for scalars, such as
        # the norm that clips them, so these are urgent too.
        if self.operations[0].name in ("adamw", "sgd"):
            return True
        return all(value.shape == () for value in self.outputs())

    def outputs(self) -> Iterator[Value]:
        """Yields each value that the operations compute."""
        for operation in self.operations:
            yield from operation.outputs

    def inputs(self) -> Iterator[Value]:
        """Yields each value that the operations read and this unit does not compute.

        A value that is read twice comes twice.
        """
        own = {value.number for value in self.outputs()}
        for operation in self.operations:
            yield from (value for value in operation.inputs() if value.number not in own)


class Grouping:
    """Adds the operations, in the order of the graph, to units, and merges the units.

    The number of a merged unit stays valid: `_find` follows it to the unit that took it in
    (a union-find). So a merge does not have to update the sets of the other units.
    """

    def __init__(self, memory: Memory) -> None:
        self._units: dict[int, Unit] = {}
        self._merged_into: dict[int, int] = {}  # number of a merged unit: of its new unit
        self._memory = memory
        self._producers: dict[int, int] = {}  # value, not a view: number of its unit
        self._reductions: set[int] = set()  # values that are results of reductions
        self._readers: dict[int, set[int]] = {}  # buffer: the units that read it
        self._positions: dict[int, int] = {}  # id of an operation: position in the graph
        self._numbers = count()

    def add(self, operation: Operation) -> None:
        """Adds an operation to an existing unit or to a new one."""
        self._positions[id(operation)] = len(self._positions)
        dtype, reduction = computed_in(operation), folded_as(operation)
        if reduction:
            self._reductions.update(value.number for value in operation.outputs)
        if dtype is None and reduction:
            self._append(operation, self._choose_reduction_unit(operation))
        else:
            shape = operation.outputs[0].shape if dtype else ()
            self._append(operation, Unit(next(self._numbers), [], dtype, shape))
        if dtype:
            self._merge_producers(operation)

    def finish(self) -> dict[int, Unit]:
        """Returns the units by number; sorts the operations of each as in the graph."""
        for unit in self._units.values():
            unit.operations.sort(key=lambda operation: self._positions[id(operation)])
            self._update_dependencies(unit)
        return self._units

    def _find(self, number: int) -> Unit:
        """Returns the unit with a number, or the unit that it was merged into."""
        last = number
        while last in self._merged_into:
            last = self._merged_into[last]
        while number != last:  # path compression: the next search is one step
            following = self._merged_into[number]
            self._merged_into[number] = last
            number = following
        return self._units[last]

    def _update_dependencies(self, unit: Unit) -> set[int]:
        """Replaces the numbers of merged units in a unit's dependencies; returns these."""
        current = {self._find(number).number for number in unit.dependencies}
        unit.dependencies = current - {unit.number}
        return unit.dependencies

    def _find_producer(self, number: int) -> Unit | None:
        """Returns the unit that computes a value; None for an input of the graph."""
        return self._find(self._producers[number]) if number in self._producers else None

    def _choose_reduction_unit(self, operation: Operation) -> Unit:
        """Returns the fused group that computes the reduction's input, or a new group."""
        x = operation.args[0]
        producer = self._find_producer(x.number)
        if (
            producer
            and producer.dtype
            and producer.shape == x.shape
            and x.number not in self._reductions
        ):
            return producer
        dtype = "float64" if x.dtype.name == "float64" else "float32"
        return Unit(next(self._numbers), [], dtype, x.shape)

    def _append(self, operation: Operation, unit: Unit) -> None:
        """Appends an operation to a unit, with its dependencies."""
        self._units[unit.number] = unit
        position = self._positions[id(operation)]
        unit.span = (unit.span[0] if unit.operations else position, position)
        unit.operations.append(operation)
        for value in operation.inputs():
            self._add_dependency(unit, value)
            self._readers.setdefault(self._memory.root(value), set()).add(unit.number)
        for root in self._memory.written(operation):
            # The operation overwrites this buffer, so all units that read it run first.
            unit.dependencies |= self._readers[root]
        for value in operation.outputs:
            self._producers[value.number] = unit.number

    def _add_dependency(self, unit: Unit, value: Value) -> None:
        """Makes a unit run after the unit that computes a value."""
        producer = self._find_producer(self._memory.origin(value))
        if producer is None or producer is unit:
            return
        unit.dependencies.add(producer.number)
        if value.number not in self._producers or value.number in self._reductions:
            unit.barriers.add(producer.number)

    def _merge_producers(self, operation: Operation) -> None:
        """Merges an operation's unit with the units of its operands, where possible."""
        for value in operation.inputs():
            unit = self._find(self._producers[operation.outputs[0].number])
            producer = self._find_producer(value.number) or unit
            if producer is not unit and self._can_merge(producer, unit):
                self._merge(producer, unit)

    def _can_merge(self, one: Unit, other: Unit) -> bool:
        """Returns True if two groups have one dtype and shape, and nothing runs between."""
        if one.dtype is None or (one.dtype, one.shape) != (other.dtype, other.shape):
            return False
        if self._is_barrier(one, other) or self._is_barrier(other, one):
            return False
        return not (
            self._has_indirect_path(one, other) or self._has_indirect_path(other, one)
        )

    def _is_barrier(self, first: Unit, last: Unit) -> bool:
        """Returns True if `last` needs the complete result of `first`."""
        last.barriers = {self._find(number).number for number in last.barriers}
        return first.number in last.barriers

    def _has_indirect_path(self, first: Unit, last: Unit) -> bool:
        """Returns True if `last` depends on `first` through a third unit."""
        seen = {first.number}
        pending = list(self._update_dependencies(last) - seen)
        while pending:
            third = self._units[pending.pop()]
            # A unit that ends in the graph before `first` begins cannot depend on it, and
            # neither can its dependencies.
            if third.span[1] < first.span[0]:
                continue
            dependencies = self._update_dependencies(third)
            if first.number in dependencies:
                return True
            pending += dependencies - seen
            seen |= dependencies
        return False

    def _merge(self, one: Unit, other: Unit) -> None:
        """Merges the second unit into the first, which keeps its number."""
        del self._units[other.number]
        self._merged_into[other.number] = one.number
        # The shorter list is moved, for speed: `finish` sorts the operations later.
        lists = sorted((one.operations, other.operations), key=len)
        one.operations = lists[1]
        one.operations += lists[0]
        one.dependencies |= other.dependencies
        one.barriers |= other.barriers
        one.span = min(one.span[0], other.span[0]), max(one.span[1], other.span[1])


def sort_units(units: dict[int, Unit]) -> list[Unit]:
    """Sorts the units so that each follows its dependencies; urgent ones come first."""
    missing = {number: len(unit.dependencies) for number, unit in units.items()}
    dependents: dict[int, list[int]] = {number: [] for number in units}
    for number, unit in units.items():
        for dependency in unit.dependencies:
            dependents[dependency].append(number)
    ready: list[tuple[bool, int]] = []

    def push_if_ready(number: int) -> None:
        if missing[number] == 0:
            heappush(ready, (not units[number].is_urgent(), number))

    for number in units:
        push_if_ready(number)
    ordered: list[Unit] = []
    while ready:
        _, number = heappop(ready)
        ordered.append(units[number])
        for dependent in dependents[number]:
            missing[dependent] -= 1
            push_if_ready(dependent)
    return ordered
