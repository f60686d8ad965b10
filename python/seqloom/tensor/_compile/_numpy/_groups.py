"""Groups the operations of a graph, each group run by one call, and orders the groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from seqloom.tensor._compile._numpy._fuse import find_dtype, find_reduction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from seqloom.tensor._compile._numpy._layout import Aliases
    from seqloom.tensor._graph import Operation, Value


@dataclass(slots=True, eq=False)
class OperationGroup:
    """Operations that run together: one fused group, or one single operation."""

    number: int  # in order of creation
    operations: list[Operation]
    dtype: str | None = None  # in which a fused group computes; None: a single operation
    shape: tuple[int, ...] = ()  # over which a fused group iterates
    dependencies: set[int] = field(default_factory=set[int])  # groups that run before
    # The dependencies that cannot be merged with this group, because it needs their
    # complete result, such as that of a reduction.
    barriers: set[int] = field(default_factory=set[int])
    span: tuple[int, int] = (0, 0)  # positions of the first and the last operation

    def is_urgent(self) -> bool:
        """Returns True if the group runs as soon as its dependencies have run."""
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
        """Yields each value that the operations read and this group does not compute.

        A value that is read twice comes twice.
        """
        own = {value.number for value in self.outputs()}
        for operation in self.operations:
            yield from (value for value in operation.inputs() if value.number not in own)


class Grouping:
    """Adds the operations, in the order of the graph, to groups, and merges these.

    The number of a merged group stays valid: `_find` goes from it to the group that took it
    in (a union-find). So a merge does not have to update the sets of the other groups.
    """

    def __init__(
        self,
        aliases: Aliases,
        find_dtype: Callable[[Operation], str | None] = find_dtype,
        *,
        with_reductions: bool = True,
    ) -> None:
        # find_dtype returns the dtype in which a fused group computes an operation.
        self._find_dtype = find_dtype
        self._with_reductions = with_reductions
        self._groups: dict[int, OperationGroup] = {}
        self._merged_into: dict[int, int] = {}  # number of a merged group: of its new group
        self._aliases = aliases
        self._producers: dict[int, int] = {}  # value, not a view: number of its group
        self._reductions: set[int] = set()  # values that are results of reductions
        self._readers: dict[int, set[int]] = {}  # buffer: the groups that read it
        self._positions: dict[int, int] = {}  # id of an operation: position in the graph
        self._numbers = count()

    def add(self, operation: Operation) -> None:
        """Adds an operation to an existing group or to a new one."""
        self._positions[id(operation)] = len(self._positions)
        dtype = self._find_dtype(operation)
        reduction = find_reduction(operation) if self._with_reductions else None
        if reduction:
            self._reductions.update(value.number for value in operation.outputs)
        if dtype is None and reduction:
            self._append(operation, self._choose_reduction_group(operation))
        else:
            shape = operation.outputs[0].shape if dtype else ()
            self._append(operation, OperationGroup(next(self._numbers), [], dtype, shape))
        if dtype:
            for value in operation.inputs():
                group = self._find(self._producers[operation.outputs[0].number])
                producer = self._find_producer(value.number) or group
                if producer is not group and self._can_merge(producer, group):
                    self._merge(producer, group)

    def finish(self) -> dict[int, OperationGroup]:
        """Returns the groups by number; sorts the operations of each as in the graph."""
        for group in self._groups.values():
            group.operations.sort(key=lambda operation: self._positions[id(operation)])
            self._update_dependencies(group)
        return self._groups

    def _find(self, number: int) -> OperationGroup:
        """Returns the group with a number, or the group that it was merged into."""
        last = number
        while last in self._merged_into:
            last = self._merged_into[last]
        while number != last:  # path compression: the next search is one step
            following = self._merged_into[number]
            self._merged_into[number] = last
            number = following
        return self._groups[last]

    def _update_dependencies(self, group: OperationGroup) -> set[int]:
        """Replaces merged groups in a group's dependencies; returns these."""
        current = {self._find(number).number for number in group.dependencies}
        group.dependencies = current - {group.number}
        return group.dependencies

    def _find_producer(self, number: int) -> OperationGroup | None:
        """Returns the group that computes a value; None for an input of the graph."""
        return self._find(self._producers[number]) if number in self._producers else None

    def _choose_reduction_group(self, operation: Operation) -> OperationGroup:
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
        return OperationGroup(next(self._numbers), [], dtype, x.shape)

    def _append(self, operation: Operation, group: OperationGroup) -> None:
        """Appends an operation to a group, with its dependencies."""
        self._groups[group.number] = group
        position = self._positions[id(operation)]
        group.span = (group.span[0] if group.operations else position, position)
        group.operations.append(operation)
        for value in operation.inputs():
            self._add_dependency(group, value)
            self._readers.setdefault(self._aliases.root(value), set()).add(group.number)
        for root in self._aliases.overwritten_roots(operation):
            # The operation overwrites this buffer, so all groups that read it run first.
            group.dependencies |= self._readers[root]
        for value in operation.outputs:
            self._producers[value.number] = group.number

    def _add_dependency(self, group: OperationGroup, value: Value) -> None:
        """Makes a group run after the group that computes a value."""
        producer = self._find_producer(self._aliases.origin(value))
        if producer is None or producer is group:
            return
        group.dependencies.add(producer.number)
        if value.number not in self._producers or value.number in self._reductions:
            group.barriers.add(producer.number)

    def _can_merge(self, one: OperationGroup, other: OperationGroup) -> bool:
        """Returns True if two groups have one dtype and shape, and nothing runs between."""
        if one.dtype is None or (one.dtype, one.shape) != (other.dtype, other.shape):
            return False
        if self._is_barrier(one, other) or self._is_barrier(other, one):
            return False
        return not (
            self._has_indirect_path(one, other) or self._has_indirect_path(other, one)
        )

    def _is_barrier(self, first: OperationGroup, last: OperationGroup) -> bool:
        """Returns True if `last` needs the complete result of `first`."""
        last.barriers = {self._find(number).number for number in last.barriers}
        return first.number in last.barriers

    def _has_indirect_path(self, first: OperationGroup, last: OperationGroup) -> bool:
        """Returns True if `last` depends on `first` through a third group."""
        seen = {first.number}
        pending = list(self._update_dependencies(last) - seen)
        while pending:
            third = self._groups[pending.pop()]
            # A group that ends in the graph before `first` begins cannot depend on it, and
            # neither can its dependencies.
            if third.span[1] < first.span[0]:
                continue
            dependencies = self._update_dependencies(third)
            if first.number in dependencies:
                return True
            pending += dependencies - seen
            seen |= dependencies
        return False

    def _merge(self, one: OperationGroup, other: OperationGroup) -> None:
        """Merges the second group into the first, which keeps its number."""
        del self._groups[other.number]
        self._merged_into[other.number] = one.number
        # The shorter list is moved, for speed: `finish` sorts the operations later.
        lists = sorted((one.operations, other.operations), key=len)
        one.operations = lists[1]
        one.operations += lists[0]
        one.dependencies |= other.dependencies
        one.barriers |= other.barriers
        one.span = min(one.span[0], other.span[0]), max(one.span[1], other.span[1])


def sort_groups(groups: dict[int, OperationGroup]) -> list[OperationGroup]:
    """Sorts the groups so that each follows its dependencies; urgent ones come first."""
    missing = {number: len(group.dependencies) for number, group in groups.items()}
    dependents: dict[int, list[int]] = {number: [] for number in groups}
    for number, group in groups.items():
        for dependency in group.dependencies:
            dependents[dependency].append(number)
    ready: list[tuple[bool, int]] = []

    def push_if_ready(number: int) -> None:
        if missing[number] == 0:
            heappush(ready, (not groups[number].is_urgent(), number))

    for number in groups:
        push_if_ready(number)
    ordered: list[OperationGroup] = []
    while ready:
        _, number = heappop(ready)
        ordered.append(groups[number])
        for dependent in dependents[number]:
            missing[dependent] -= 1
            push_if_ready(dependent)
    return ordered
