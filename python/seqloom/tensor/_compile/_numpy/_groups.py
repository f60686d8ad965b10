"""Forms groups of operations that run in one call, and finds values that share memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._compile._numpy._fuse import find_fused_dtype, find_reduction
from seqloom.tensor._elements import to_key_tuple
from seqloom.tensor._graph import OVERWRITES, Value, values_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from seqloom.tensor._graph import Graph, Operation

    Array = NDArray[Any]


@dataclass(slots=True, eq=False)
class OperationGroup:
    """Operations that run in one call: fused operations, or a single unfused operation."""

    number: int  # Groups are numbered in order of creation.
    operations: list[Operation]
    # The dtype of a fused group; None for an operation that is not fused.
    dtype: str | None = None
    shape: tuple[int, ...] = ()  # The shape over which a fused group iterates.
    # Numbers of the groups that run before this group.
    dependencies: set[int] = field(default_factory=set[int])
    # Groups that cannot be merged with this group, because it needs their complete
    # result (such as that of a reduction).
    barriers: set[int] = field(default_factory=set[int])
    # Indices of the first and the last operation in the graph.
    span: tuple[int, int] = (0, 0)

    def is_urgent(self) -> bool:
        """Return True if the group should run as soon as possible."""
        # An optimiser update runs early, because it frees the memory of gradients. The
        # scalars for which the update waits (such as the norm for clipping) run early
        # too.
        if self.operations[0].name in ("adamw", "sgd"):
            return True
        return all(value.shape == () for value in self.outputs())

    def outputs(self) -> Iterator[Value]:
        """Yield each value that the operations compute."""
        for operation in self.operations:
            yield from operation.outputs

    def inputs(self) -> Iterator[Value]:
        """Yield, with repetitions, the values that the group reads but does not compute."""
        own = {value.number for value in self.outputs()}
        for operation in self.operations:
            yield from (value for value in operation.inputs() if value.number not in own)


class Grouping:
    """Assigns the operations of a graph, in order, to groups, and merges groups.

    The number of a merged group remains valid: `_lookup` returns the group into which
    it was merged (union-find). Therefore a merge does not have to update groups that
    depend on the merged group.
    """

    def __init__(
        self,
        aliases: Aliases,
        find_dtype: Callable[[Operation], str | None] = find_fused_dtype,
        *,
        with_reductions: bool = True,
    ) -> None:
        # Returns the dtype in which a fused group computes an operation.
        self._find_dtype = find_dtype
        self._with_reductions = with_reductions
        self._groups: dict[int, OperationGroup] = {}
        # For the number of each merged group, the group into which it was merged.
        self._merged_into: dict[int, int] = {}
        self._aliases = aliases
        # For the number of each graph value, the group that computes the value.
        self._producers: dict[int, int] = {}
        # Numbers of values that are results of reductions.
        self._reductions: set[int] = set()
        # For each buffer, the groups that read the buffer.
        self._readers: dict[int, set[int]] = {}
        # The index of each operation in the graph, by the id of the operation.
        self._positions: dict[int, int] = {}
        self._numbers = count()

    def add_operation(self, operation: Operation) -> None:
        """Assign an operation to an existing group or to a new group."""
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
                group = self._lookup(self._producers[operation.outputs[0].number])
                producer = self._find_producer(value.number) or group
                if producer is not group and self._can_merge(producer, group):
                    self._merge_groups(producer, group)

    def list_groups(self) -> dict[int, OperationGroup]:
        """Return the groups by number, with their operations in graph order."""
        for group in self._groups.values():
            group.operations.sort(key=lambda operation: self._positions[id(operation)])
            self._update_dependencies(group)
        return self._groups

    def _lookup(self, number: int) -> OperationGroup:
        """Return the group with a number, or the group that it was merged into."""
        last = number
        while last in self._merged_into:
            last = self._merged_into[last]
        while number != last:  # Path compression makes the next search a single step.
            following = self._merged_into[number]
            self._merged_into[number] = last
            number = following
        return self._groups[last]

    def _update_dependencies(self, group: OperationGroup) -> set[int]:
        """Replace merged groups in the dependencies of a group; return all dependencies."""
        current = {self._lookup(number).number for number in group.dependencies}
        group.dependencies = current - {group.number}
        return group.dependencies

    def _find_producer(self, number: int) -> OperationGroup | None:
        """Return the group that computes a value, or None for an input of the graph."""
        return self._lookup(self._producers[number]) if number in self._producers else None

    def _choose_reduction_group(self, operation: Operation) -> OperationGroup:
        """Return the fused group that computes the reduction's input, or a new group."""
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
        """Append an operation to a group, and record its dependencies."""
        self._groups[group.number] = group
        position = self._positions[id(operation)]
        group.span = (group.span[0] if group.operations else position, position)
        group.operations.append(operation)
        for value in operation.inputs():
            self._add_dependency(group, value)
            self._readers.setdefault(self._aliases.root(value), set()).add(group.number)
        for root in self._aliases.overwritten_roots(operation):
            # All groups that read a buffer must run before the buffer is overwritten.
            group.dependencies |= self._readers[root]
        for value in operation.outputs:
            self._producers[value.number] = group.number

    def _add_dependency(self, group: OperationGroup, value: Value) -> None:
        """Make a group depend on the group that computes a value."""
        producer = self._find_producer(self._aliases.origin(value))
        if producer is None or producer is group:
            return
        group.dependencies.add(producer.number)
        if value.number not in self._producers or value.number in self._reductions:
            group.barriers.add(producer.number)

    def _can_merge(self, one: OperationGroup, other: OperationGroup) -> bool:
        """Return True if dtypes and shapes match, and no group must run in between."""
        if one.dtype is None or (one.dtype, one.shape) != (other.dtype, other.shape):
            return False
        if self._is_barrier(one, other) or self._is_barrier(other, one):
            return False
        return not (
            self._has_indirect_path(one, other) or self._has_indirect_path(other, one)
        )

    def _is_barrier(self, first: OperationGroup, last: OperationGroup) -> bool:
        """Return True if group `last` needs the complete result of group `first`."""
        last.barriers = {self._lookup(number).number for number in last.barriers}
        return first.number in last.barriers

    def _has_indirect_path(self, first: OperationGroup, last: OperationGroup) -> bool:
        """Return True if group `last` depends on group `first` through a third group."""
        seen = {first.number}
        pending = list(self._update_dependencies(last) - seen)
        while pending:
            third = self._groups[pending.pop()]
            # Neither a group that ends before `first` begins, nor its dependencies, can
            # depend on `first`.
            if third.span[1] < first.span[0]:
                continue
            dependencies = self._update_dependencies(third)
            if first.number in dependencies:
                return True
            pending += dependencies - seen
            seen |= dependencies
        return False

    def _merge_groups(self, one: OperationGroup, other: OperationGroup) -> None:
        """Merge the second group into the first group, which keeps its number."""
        del self._groups[other.number]
        self._merged_into[other.number] = one.number
        # Moving the shorter list is faster; `finish` sorts the operations later.
        lists = sorted((one.operations, other.operations), key=len)
        one.operations = lists[1]
        one.operations += lists[0]
        one.dependencies |= other.dependencies
        one.barriers |= other.barriers
        one.span = min(one.span[0], other.span[0]), max(one.span[1], other.span[1])


def sort_groups(groups: dict[int, OperationGroup]) -> list[OperationGroup]:
    """Sort the groups: each group after its dependencies, and urgent groups early."""
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


def _index_view(x: Array, key: object) -> Array:
    """Index an array with integers and slices; return an array even if no axis remains."""
    parts = to_key_tuple(key)
    return x[parts if any(part is ... for part in parts) else (*parts, ...)]


def _return_array(x: Array, *_: object) -> Array:
    return x


_VIEW_FUNCTIONS: dict[str, Callable[..., Any]] = {
    # NumPy raises ValueError if a view is not possible.
    "reshape": partial(np.reshape, copy=False),
    "permute_dims": np.permute_dims,
    "matrix_transpose": np.matrix_transpose,
    "expand_dims": np.expand_dims,
    "squeeze": np.squeeze,
    "broadcast_to": np.broadcast_to,
    "index": _index_view,
    "stop_gradient": _return_array,
    "astype": _return_array,
}


class Aliases:
    """Finds, for each value of a graph, the value whose memory it uses."""

    def __init__(self, graph: Graph, *, with_views: bool = True) -> None:
        # False if each operation creates a new array.
        # For the number of each view, the operation that returns the view.
        self.views: dict[int, Operation] = {}
        # The values of the graph by number.
        self.values: dict[int, Value] = {}
        self._with_views = with_views
        # For the number of each new value, the value that it overwrites.
        self._overwritten: dict[int, Value] = {}
        self._strided: dict[int, Array] = {}
        for value in (*graph.inputs, *graph.outputs):
            self.values[value.number] = value
        for operation in graph.operations:
            for value in (*operation.inputs(), *operation.outputs):
                self.values[value.number] = value
            if self._is_view(operation):
                self.views[operation.outputs[0].number] = operation
            for before, after in _pair_updates(operation):
                self._overwritten[after.number] = before

    def _is_view(self, operation: Operation) -> bool:
        """Return True if the result of an operation is a view."""
        # Fused programs only read memory forwards.
        is_backward = operation.name == "index" and _has_negative_step(operation.args[-1])
        can_view = self._with_views and is_alias(operation) and not is_backward
        return can_view and self._try_view(operation)

    def _try_view(self, operation: Operation) -> bool:
        """Return True if the strides allow a view; otherwise a reshape needs a copy."""
        try:
            view = make_view(operation, self._get_strided(operation.args[0]))
        except ValueError:
            return False
        self._strided[operation.outputs[0].number] = view
        return True

    def _get_strided(self, value: Value) -> Array:
        """Return an array with the strides of a value, whose memory must not be read."""
        if value.number not in self._strided:
            shape, dtype = value.shape, value.dtype
            steps = np.cumprod([dtype.itemsize, *(size or 1 for size in shape[:0:-1])])
            strides = tuple(int(step) for step in steps[::-1][len(steps) - len(shape) :])
            over_one = np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)
            self._strided[value.number] = over_one
        return self._strided[value.number]

    def origin(self, value: Value) -> int:
        """Return the number of the base value of a view, or of the value itself."""
        while value.number in self.views:
            value = self.views[value.number].args[0]
        return value.number

    def root(self, value: Value) -> int:
        """Return the number of the value whose memory the given value uses."""
        number = self.origin(value)
        while number in self._overwritten:
            number = self.origin(self._overwritten[number])
        return number

    def is_whole(self, value: Value) -> bool:
        """Return True if a value is contiguous and covers the memory that it shares."""
        return self._get_strided(value).flags.c_contiguous and (
            value.nbytes == self.values[self.root(value)].nbytes
        )

    def overwritten_roots(self, operation: Operation) -> set[int]:
        """Return the numbers of the values whose memory an operation overwrites."""
        return {self.root(before) for before, _ in _pair_updates(operation)}


def is_alias(operation: Operation) -> bool:
    """Return True if the result may share the memory of the first argument."""
    if operation.name not in _VIEW_FUNCTIONS:
        return False
    first, rest = operation.args[0], operation.args[1:]
    if not isinstance(first, Value) or any(values_in(rest)):
        return False
    if operation.name == "index":
        kinds = (int, slice, type(...), type(None))
        return all(isinstance(part, kinds) for part in to_key_tuple(rest[0]))
    return operation.name != "astype" or first.dtype == operation.outputs[0].dtype


def make_view(operation: Operation, x: Array) -> Array:
    """Run an operation that returns a view of `x`."""
    return _VIEW_FUNCTIONS[operation.name](x, *operation.args[1:], **operation.options)


def _has_negative_step(key: object) -> bool:
    """Return True if an index key contains a slice with a negative step."""
    steps = (getattr(part, "step", None) for part in to_key_tuple(key))
    return any(step is not None and step < 0 for step in steps)


def _pair_updates(operation: Operation) -> Iterator[tuple[Value, Value]]:
    """Yield each value that an update overwrites, together with the new value."""
    positions = OVERWRITES.get(operation.name, ())
    before = [value for position in positions for value in operation.args[position]]
    return zip(before, operation.outputs, strict=False)
