"""Compute slices of a network's values where its inputs changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.infer._changed_rules import ELEMENTWISE, LocalOperation, split_graph
from seqloom.tensor._graph import Graph, Operation, Value, flatten, lower_graph, map_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.infer._changed_rules import Axes
    from seqloom.tensor._backend import Array, Backend

    Integers = NDArray[np.int64]
    Bounds = tuple[int, int]  # the first position, and the position after the last

# NumPy and the convolution kernels may round very narrow arrays differently.
_MIN_WINDOWS = 16
_SHAPE_OPERATIONS = frozenset({"reshape", "broadcast_to"})


@dataclass(frozen=True, slots=True)
class Slices:
    """A value of several sequences, at positions that may have changed.

    Row ``i`` of `array` has the positions from ``starts[i]``. Its other positions are those
    of the row ``rows[i]`` of `reference`, whose first position is `reference_start`.
    `length` is the number of positions of the whole value.
    """

    array: NDArray[Any]
    axis: int
    length: int
    starts: Integers
    rows: Integers
    reference: NDArray[Any] | None = None
    reference_start: int = 0

    @classmethod
    def of_whole(cls, array: NDArray[Any], axis: int) -> Slices:
        """Return all positions of sequences."""
        rows = np.arange(len(array))
        return cls(array, axis, array.shape[axis], np.zeros_like(rows), rows, array)

    @property
    def width(self) -> int:
        """The number of positions of each slice."""
        return self.array.shape[self.axis]

    def read(self, starts: Integers, width: int, *, fill: float = 0) -> NDArray[Any]:
        """Return other slices of the value; `fill` is the value outside of its ends."""
        shifts = np.unique(starts - self.starts)
        if len(shifts) == 1 and 0 <= shifts[0] <= self.width - width:
            key = (slice(None),) * self.axis
            return self.array[(*key, slice(shifts[0], shifts[0] + width))]
        shape = list(self.array.shape)
        shape[self.axis] = width
        made = np.empty(shape, self.array.dtype)
        into, new = np.moveaxis(made, self.axis, 1), np.moveaxis(self.array, self.axis, 1)
        reference = self.reference if self.width < self.length else None
        old = None if reference is None else np.moveaxis(reference, self.axis, 1)
        places = zip(starts.tolist(), self.starts.tolist(), self.rows.tolist(), strict=True)
        for row, (start, own, source) in enumerate(places):
            if start < 0 or start + width > self.length:
                into[row] = fill
            if old is not None:
                _copy_overlap(into[row], start, old[source], first=self.reference_start)
            _copy_overlap(into[row], start, new[row], first=own)
        return made

    def to_whole(self) -> NDArray[Any]:
        """Return all positions of each sequence."""
        return self.read(np.zeros(len(self.starts), np.int64), self.length)


def _copy_overlap(
    into: NDArray[Any], start: int, source: NDArray[Any], *, first: int
) -> None:
    """Copy positions of `source` to an array with the positions from `start`."""
    low = max(start, first)
    high = min(start + len(into), first + len(source))
    if low < high:
        into[low - start : high - start] = source[low - first : high - first]


class LocalGraph:
    """A graph that computes changed positions of its local values, and the rest whole."""

    def __init__(self, graph: Graph, axes: Axes, backend: Backend) -> None:
        graph = replace(graph, operations=[_by_row(it) for it in graph.operations])
        parts = split_graph(graph, axes)
        self._backend, self._axes = backend, axes
        self.batch_size = graph.inputs[-1].shape[0]
        self._input, self._output = graph.inputs[-1], graph.outputs[0]
        self._constants = graph.constants
        self._fixed, self._local, self._whole = parts.fixed, parts.local, parts.whole
        used = [it for op in parts.whole for it in op.inputs()]
        self._ends = {it.number: it for it in (*used, self._output) if it.number in axes}
        self._bounds = _find_bounds(self._local, axes, self._ends)
        self._kept = self._ends.keys() | _find_read_values(self._local)
        self._last_uses = _find_last_uses(self._local)
        needed = [it for it in used if it.number not in axes]
        whole_made = {it.number for op in parts.whole for it in op.outputs}
        self._outside = {it.number: it for it in needed if it.number not in whole_made}
        self._finish = self._lower(self._whole, [*self._ends.values()])
        self.reference_bytes = sum(
            it.nbytes // self.batch_size
            for it in self._list_values()
            if it.number in self._kept
        )

    @property
    def has_windows(self) -> bool:
        """True if some positions need not be computed again."""
        return any(not it.is_aligned for it in self._local)

    def read_leaves(self, leaves: list[tuple[Value, Array]]) -> dict[int, Array]:
        """Compute the values that are the same for all inputs."""
        known = dict(self._constants) | {value.number: array for value, array in leaves}
        results = [it for op in self._fixed for it in op.outputs]
        fixed = Graph([value for value, _ in leaves], self._constants, self._fixed, results)
        made = lower_graph(fixed, self._backend)(*(array for _, array in leaves))
        return known | {it.number: x for it, x in zip(results, made, strict=True)}

    def run_whole(self, inputs: NDArray[Any], known: dict[int, Array]) -> dict[int, Slices]:
        """Compute the local values of whole sequences; return those that slices need."""
        values = {
            self._input.number: Slices.of_whole(inputs, self._axes[self._input.number])
        }
        return self._run(values, known, references={})

    def run_changed(
        self, inputs: Slices, known: dict[int, Array], references: dict[int, Slices]
    ) -> dict[int, Slices]:
        """Compute the changed positions of the local values."""
        return self._run({self._input.number: inputs}, known, references=references)

    def finish(
        self, values: dict[int, Slices], known: dict[int, Array]
    ) -> NDArray[np.float32]:
        """Return the outputs, which may depend on all positions."""
        if self._output.number in self._axes:
            return values[self._output.number].to_whole()
        ends = [values[it].to_whole() for it in self._ends]
        outside = [known[it] for it in self._outside]
        count, found = len(ends[0]), list[Any]()
        for start in range(0, count, self.batch_size):
            # The shapes of the graph have a fixed number of rows. So no row affects
            # the rounding of another row.
            rows = np.minimum(np.arange(start, start + self.batch_size), count - 1)
            (made,) = self._finish(*(it[rows] for it in ends), *outside)
            found.append(made[: count - start])
        return np.concatenate(found)

    def _list_values(self) -> list[Value]:
        return [self._input, *(it.operation.outputs[0] for it in self._local)]

    def _lower(self, operations: list[Operation], ends: list[Value]) -> Any:
        """Return a function of the values that need whole positions."""
        inputs = [*ends, *self._outside.values()]
        return lower_graph(Graph(inputs, {}, operations, [self._output]), self._backend)

    def _run(
        self,
        values: dict[int, Slices],
        known: dict[int, Array],
        *,
        references: dict[int, Slices],
    ) -> dict[int, Slices]:
        """Run the local operations."""
        for position, rule in enumerate(self._local):
            number = rule.operation.outputs[0].number
            array, starts = self._run_one(rule, values, known)
            original = references.get(number)
            reference = original.array if original is not None else None
            if not references and number in self._kept:
                reference = array
            values[number] = Slices(
                array,
                rule.axis,
                rule.length,
                starts,
                rows=values[self._input.number].rows,
                reference=reference,
                reference_start=self._bounds[number][0],
            )
            for unused in self._last_uses.get(position, ()):
                if unused not in self._ends and (references or unused not in self._kept):
                    del values[unused]
        return values

    def _run_one(
        self, rule: LocalOperation, values: dict[int, Slices], known: dict[int, Array]
    ) -> tuple[NDArray[Any], Integers]:
        """Return the slices of one result, and their starts."""
        numbers = [it.number for it in rule.operation.inputs()]
        bounds = self._bounds[rule.operation.outputs[0].number]
        local = [values[it] for it in numbers if it in values]
        if rule.is_aligned:
            starts, width = _join_ranges(local, bounds)
            arrays = {it: values[it].read(starts, width) for it in numbers if it in values}
            arrays |= self._read_known(rule, known, starts=starts, width=width)
            return self._call(_resize(rule, len(starts), width), arrays), starts
        (source,) = local
        starts, width = _find_windows(rule, source, bounds)
        operation, arrays = rule.operation, {it: known[it] for it in numbers if it in known}
        is_whole = width == rule.length and source.width == source.length
        if is_whole and not rule.is_padding:
            array = source.array
        else:
            first = starts * rule.stride - rule.padding
            array = source.read(first, rule.count_read(width), fill=rule.fill)
            operation = rule.narrow
        if operation is None or rule.is_padding:
            return array, starts
        arrays |= {it: array for it in numbers if it in values}
        return self._call(operation, arrays), starts

    def _read_known(
        self, rule: LocalOperation, known: dict[int, Array], *, starts: Integers, width: int
    ) -> dict[int, Array]:
        """Return the arguments that are not local, at the positions of the slices."""
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


def _join_ranges(local: list[Slices], bounds: Bounds) -> tuple[Integers, int]:
    """Return slices of one width that contain the slices of all values."""
    starts = np.minimum.reduce([it.starts for it in local])
    stops = np.maximum.reduce([it.starts + it.width for it in local])
    return _fit(starts, stops, bounds)


def _find_windows(
    rule: LocalOperation, source: Slices, bounds: Bounds
) -> tuple[Integers, int]:
    """Return the slices of the result that depend on the slices of the argument."""
    starts = -((rule.reach - rule.padding - source.starts) // rule.stride)
    last = (source.starts + source.width - 1 + rule.padding) // rule.stride
    return _fit(starts, last + 1, bounds, least=_MIN_WINDOWS)


def _fit(
    starts: Integers, stops: Integers, bounds: Bounds, *, least: int = 1
) -> tuple[Integers, int]:
    """Return starts and a common width of slices within the bounds."""
    low, high = bounds
    width = int((np.minimum(stops, high) - np.maximum(starts, low)).max())
    width = max(width, least)
    # Computing all positions costs little more than most positions.
    width = high - low if 8 * width >= 7 * (high - low) else width
    return np.clip(starts, low, high - width), width


def _resize(rule: LocalOperation, rows: int, width: int) -> Operation:
    """Write the number of rows and positions of the slices into a shape argument."""
    operation = rule.operation
    if operation.name not in _SHAPE_OPERATIONS:
        return operation
    shape = [rows, *operation.outputs[0].shape[1:]]
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
