"""Compute a graph for references whole, and for alternatives only where they differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom.infer._changed_rules import ELEMENTWISE, LocalOperation, split_graph
from seqloom.infer._changed_slices import Piece, Range, Reference, Slices
from seqloom.tensor._graph import Graph, Operation, Value, flatten, lower_graph, map_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.infer._changed_rules import Axes
    from seqloom.tensor._backend import Array, Backend

    Integers = NDArray[np.int64]
    Bounds = tuple[int, int]  # the first position, and the position after the last
    References = dict[int, Reference]

# The convolution kernels may round differently if there are fewer windows.
_MIN_WINDOWS = 16
_SHAPE_OPERATIONS = frozenset({"reshape", "broadcast_to"})


class Plan(NamedTuple):
    """The slices of a result; see `Slices`."""

    middle: Range
    left: Range | None
    right: Range | None
    before: Integers | None
    after: Integers | None
    left_stop: int
    right_start: int


class Origin(NamedTuple):
    """The values of the references, and the graph that computed them."""

    graph: LocalGraph
    references: References


class LocalGraph:
    """A graph that computes changed positions of its local values, and the rest whole."""

    def __init__(self, graph: Graph, axes: Axes, backend: Backend) -> None:
        graph = replace(graph, operations=[_by_row(it) for it in graph.operations])
        parts = split_graph(graph, axes)
        self._backend, self._axes = backend, axes
        self.batch_size = graph.inputs[-1].shape[0]
        self._input, self._output = graph.inputs[-1], graph.outputs[0]
        self._constants = graph.constants
        self._fixed, self.local = parts.fixed, parts.local
        used = [it for op in parts.whole for it in op.inputs()]
        self._ends = {it.number: it for it in (*used, self._output) if it.number in axes}
        self._bounds = _find_bounds(self.local, axes, self._ends)
        self._kept = self._ends.keys() | _find_read_values(self.local)
        self._last_uses = _find_last_uses(self.local)
        needed = [it for it in used if it.number not in axes]
        whole_made = {it.number for op in parts.whole for it in op.outputs}
        self._outside = {it.number: it for it in needed if it.number not in whole_made}
        inputs = [*self._ends.values(), *self._outside.values()]
        finish = Graph(inputs, {}, parts.whole, [self._output])
        self._finish = lower_graph(finish, backend)
        values = [self._input, *(it.operation.outputs[0] for it in self.local)]
        self._values = {it.number: it for it in values}
        sizes = {it.number: it.nbytes // self.batch_size for it in values}
        self.row_bytes = max(sizes.values())
        self.reference_bytes = sum(sizes.get(it, 0) for it in self._kept)

    @property
    def has_windows(self) -> bool:
        """True if some positions need not be computed again."""
        return any(not it.is_aligned for it in self.local)

    def describe(self, number: int) -> tuple[Bounds, int]:
        """Return the needed positions of a value, and the number of all its positions."""
        value = self._values[number]
        return self._bounds[number], value.shape[self._axes[number]]

    def read_leaves(self, leaves: list[tuple[Value, Array]]) -> dict[int, Array]:
        """Compute the values that are the same for all inputs."""
        known = dict(self._constants) | {value.number: array for value, array in leaves}
        results = [it for op in self._fixed for it in op.outputs]
        fixed = Graph([value for value, _ in leaves], self._constants, self._fixed, results)
        made = lower_graph(fixed, self._backend)(*(array for _, array in leaves))
        return known | {it.number: x for it, x in zip(results, made, strict=True)}

    def run_whole(
        self, inputs: NDArray[Any], known: dict[int, Array], references: References
    ) -> list[NDArray[Any]]:
        """Compute whole sequences, and add the values that slices need to `references`."""
        number = self._input.number
        values = {number: Slices.of_whole(inputs, self._axes[number])}
        self._keep(number, values[number], references)
        for position, rule in enumerate(self.local):
            made = rule.operation.outputs[0].number
            values[made] = self._run_one(rule, values, known)
            if made in self._kept:
                self._keep(made, values[made], references)
            self._forget(values, position)
        return [values[it].to_whole() for it in self._ends]

    def run_changed(
        self, inputs: Slices, known: dict[int, Array], origin: Origin
    ) -> list[NDArray[Any]]:
        """Compute the changed positions of the local values."""
        values = {self._input.number: inputs}
        for position, rule in enumerate(self.local):
            made = rule.operation.outputs[0].number
            values[made] = self._run_one(rule, values, known, origin=origin)
            self._forget(values, position)
        return [values[it].to_whole() for it in self._ends]

    def finish(
        self, ends: list[NDArray[Any]], known: dict[int, Array]
    ) -> NDArray[np.float32]:
        """Return the outputs, which may depend on all positions."""
        if self._output.number in self._axes:
            return ends[[*self._ends].index(self._output.number)]
        outside = [known[it] for it in self._outside]
        count, found = len(ends[0]), list[Any]()
        for start in range(0, count, self.batch_size):
            # The shapes of the graph have a fixed number of rows. So no row affects
            # the rounding of another row.
            rows = np.minimum(np.arange(start, start + self.batch_size), count - 1)
            is_full = start == 0 and count == self.batch_size
            (made,) = self._finish(*(it if is_full else it[rows] for it in ends), *outside)
            found.append(made[: count - start])
        return np.concatenate(found)

    def _keep(self, number: int, value: Slices, references: References) -> None:
        """Add the rows of a value to the references."""
        start = int(value.middle.starts[0])
        old = references.get(number)
        rows = [*(old.rows if old is not None else ()), *value.middle.array]
        references[number] = Reference(rows, start, start + value.width, value.length)

    def _forget(self, values: dict[int, Slices], position: int) -> None:
        """Delete the values that no later operation reads."""
        for unused in self._last_uses.get(position, ()):
            if unused not in self._ends:
                del values[unused]

    def _run_one(
        self,
        rule: LocalOperation,
        values: dict[int, Slices],
        known: dict[int, Array],
        *,
        origin: Origin | None = None,
    ) -> Slices:
        """Return the slices of one result."""
        number = rule.operation.outputs[0].number
        local = {
            it.number: values[it.number]
            for it in rule.operation.inputs()
            if it.number in values
        }
        if not self._keeps_moves(rule, local, known):
            local = {it: x.merge(*self._bounds[it]) for it, x in local.items()}
            values.update(local)
        plan = _plan(rule, [*local.values()], self._find_extent(rule, number, origin))
        pieces = [
            Piece(self._call_rule(rule, values, known, places=it), it.starts) if it else it
            for it in (plan.left, plan.right)
        ]
        array = self._call_rule(rule, values, known, places=plan.middle)
        return Slices(
            rule.axis,
            rule.length,
            next(iter(local.values())).runs,
            Piece(array, plan.middle.starts),
            None if origin is None else origin.references.get(number),
            *pieces,
            *plan[3:],
        )

    def _find_extent(
        self, rule: LocalOperation, number: int, origin: Origin | None
    ) -> _Extent:
        low, high = self._bounds[number]
        if origin is None:
            return _Extent(low, high, low, high, 0, least=high - low)
        bounds, length = origin.graph.describe(number)
        least = 1 if rule.is_aligned else _MIN_WINDOWS
        return _Extent(low, high, *bounds, rule.length - length, least=least)

    def _keeps_moves(
        self, rule: LocalOperation, local: dict[int, Slices], known: dict[int, Array]
    ) -> bool:
        """Return whether moved positions of the arguments give moved positions."""
        shifts = [
            x for it in local.values() for x in (it.before, it.after) if x is not None
        ]
        if not shifts:
            return True
        rank = len(rule.operation.outputs[0].shape)
        inputs = [it for it in rule.operation.inputs() if it.number in known]
        has_table = any(
            rule.axis >= rank - len(it.shape)
            and it.shape[rule.axis - rank + len(it.shape)] > 1
            for it in inputs
        )
        is_table = has_table and rule.operation.name in ELEMENTWISE
        return not is_table and not any((it % rule.stride).any() for it in shifts)

    def _call_rule(
        self,
        rule: LocalOperation,
        values: dict[int, Slices],
        known: dict[int, Array],
        *,
        places: Range,
    ) -> NDArray[Any]:
        """Compute slices of one result."""
        numbers = [it.number for it in rule.operation.inputs()]
        arrays = {it: known[it] for it in numbers if it in known}
        if rule.is_aligned:
            arrays |= self._read_known(rule, known, places)
            arrays |= {it: values[it].read(places) for it in numbers if it in values}
            return self._call(_resize(rule, *places), arrays)
        (number,) = (it for it in numbers if it in values)
        source, operation = values[number], rule.narrow
        is_whole = places.width == rule.length and source.width == source.length
        if is_whole and not rule.is_padding:
            array, operation = source.middle.array, rule.operation
        else:
            first = places.starts * rule.stride - rule.padding
            part = Range(first, rule.count_read(places.width))
            array = source.read(part, fill=rule.fill)
            copies = (*source.copies, Piece(array, first))
            values[number] = replace(source, copies=copies)
        if operation is None or rule.is_padding:
            return array
        return self._call(operation, arrays | {number: array})

    def _read_known(
        self, rule: LocalOperation, known: dict[int, Array], places: Range
    ) -> dict[int, Array]:
        """Return the arguments that are not local, at the positions of the slices."""
        starts, width = places
        inputs = [it for it in rule.operation.inputs() if it.number in known]
        found = {it.number: known[it.number] for it in inputs}
        if width == rule.length or rule.operation.name not in ELEMENTWISE:
            return found
        rank = len(rule.operation.outputs[0].shape)
        for value in inputs:
            array = np.reshape(
                found[value.number], (1,) * (rank - len(value.shape)) + value.shape
            )
            if array.shape[rule.axis] > 1:
                parts = [np.take(array, range(it, it + width), rule.axis) for it in starts]
                found[value.number] = np.concatenate(parts)
        return found

    def _call(self, operation: Operation, arrays: dict[int, Array]) -> Any:
        """Call the backend's function; return its first result."""
        args = map_values(operation.args, lambda value: arrays[value.number])
        function = getattr(self._backend, operation.name)
        return flatten(function(*args, **operation.options))[0]


def _by_row(operation: Operation) -> Operation:
    """Replace a linear layer by a function in which no row affects another row."""
    return (
        replace(operation, name="linear_by_row")
        if operation.name == "linear"
        else operation
    )


# Slices of a result ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Extent:
    """The needed positions of a result, and the positions of the references."""

    low: int
    high: int
    first: int
    last: int
    longer: int  # how many more positions alternatives have
    least: int  # the minimum width of slices

    def fit(self, starts: Integers, stops: Integers) -> Range:
        """Return slices of a common width within the needed positions."""
        low, high = self.low, self.high
        width = int((np.minimum(stops, high) - np.maximum(starts, low)).max())
        width = min(max(width, self.least), high - low)
        return Range(np.clip(starts, low, high - width), width)

    def fit_end(self, start: int, stop: int, rows: int) -> Range | None:
        """Return positions that are the same in each row; None if none is needed."""
        if max(start, self.low) >= min(stop, self.high):
            return None
        return self.fit(np.full(rows, start), np.full(rows, stop))


def _plan(rule: LocalOperation, local: Sequence[Slices], extent: _Extent) -> Plan:
    """Return the slices of a result that differ from the reference."""
    before = _scale([it.before for it in local], rule.stride)
    after = _scale([it.after for it in local], rule.stride)
    starts = np.minimum.reduce([it.middle.starts for it in local])
    stops = np.maximum.reduce([it.middle.starts + it.width for it in local])
    starts, stops = rule.find_first(starts), rule.find_stop(stops)
    left_stop, right_start = 0, rule.length
    if before is not None:
        left_stop = rule.find_stop(max(it.left_stop for it in local))
        left_stop = max(left_stop, extent.first + int(before.max()))
        starts = np.minimum(starts, extent.last + before)
    if after is not None:
        stops = np.maximum(stops, extent.first + after)
    if after is not None and (after != extent.longer).any():
        right_start = rule.find_first(min(it.right_start for it in local))
        right_start = min(right_start, extent.last + int(after.min()), rule.length)
    middle = extent.fit(starts, stops)
    left, right = (
        extent.fit_end(*it, len(starts))
        for it in ((0, left_stop), (right_start, rule.length))
    )
    total = sum(it.width for it in (middle, left, right) if it is not None)
    low, high = extent.low, extent.high
    # Computing all positions costs little more than most positions.
    if 8 * total >= 7 * (high - low):
        middle = Range(np.full_like(starts, low), high - low)
        return Plan(middle, None, None, None, None, 0, rule.length)
    return Plan(middle, left, right, before, after, left_stop, right_start)


def _scale(moves: list[Integers | None], stride: int) -> Integers | None:
    """Return the moves of a result; all its local arguments have the same moves."""
    found = [it for it in moves if it is not None]
    return found[0] // stride if len(found) == len(moves) else None


def _resize(rule: LocalOperation, starts: Integers, width: int) -> Operation:
    """Write the number of rows and positions of the slices into a shape argument."""
    operation = rule.operation
    if operation.name not in _SHAPE_OPERATIONS:
        return operation
    shape = [len(starts), *operation.outputs[0].shape[1:]]
    shape[rule.axis] = width
    return replace(operation, args=(operation.args[0], tuple(shape)), options={})


def _find_bounds(
    local: list[LocalOperation], axes: Axes, ends: dict[int, Value]
) -> dict[int, Bounds]:
    """Return the positions of each local value on which the outputs depend."""
    found = {number: (0, value.shape[axes[number]]) for number, value in ends.items()}
    for rule in reversed(local):
        low, high = found[rule.operation.outputs[0].number]
        first = low * rule.stride - rule.padding
        stop = first + rule.count_read(high - low)
        for value in rule.operation.inputs():
            if value.number in axes:
                length = value.shape[axes[value.number]]
                old = found.get(value.number, (length, 0))
                new = min(max(first, 0), length - 1), max(min(stop, length), 1)
                found[value.number] = min(old[0], new[0]), max(old[1], new[1])
    return found


def _find_read_values(local: list[LocalOperation]) -> set[int]:
    """Return the values of whole sequences from which slices are read."""
    found: set[int] = set()
    once: set[int] = set()
    for rule in local:
        numbers = {it.number for it in rule.operation.inputs()}
        # A value with several readers may have wider slices than a reader needs.
        found |= numbers & once
        once |= numbers
        if len(numbers) > 1 or not rule.is_aligned:
            found |= numbers
    return found


def _find_last_uses(local: list[LocalOperation]) -> dict[int, list[int]]:
    """Return the local values that no later local operation reads, by position."""
    made = {rule.operation.outputs[0].number for rule in local}
    last = {
        it.number: position
        for position, rule in enumerate(local)
        for it in rule.operation.inputs()
        if it.number in made
    }
    found: dict[int, list[int]] = {}
    for number, position in last.items():
        found.setdefault(position, []).append(number)
    return found
