"""Compute a graph for references whole, and for alternatives only where they differ."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.infer._changed_rules import LocalOperation, split_graph
from seqloom.infer._changed_slices import (
    Extent,
    Range,
    Reference,
    Slice,
    SlicePlan,
    Slices,
    plan_slices,
)
from seqloom.infer._changed_steps import LocalStep
from seqloom.tensor._graph import Graph, Operation, Value, lower_graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.infer._changed_rules import Axes
    from seqloom.tensor._backend import Array, Backend

    Integers = NDArray[np.int64]
    Bounds = tuple[int, int]  # the first position, and the position after the last
    References = dict[int, Reference]

# The maximum number of groups whose plans are stored.
_MAX_PLANS = 64
# The convolution kernels may round differently if there are fewer windows.
_MIN_WINDOWS = 16


@dataclass(frozen=True, slots=True)
class Origin:
    """The values of the references, and the graph that computed them."""

    graph: LocalGraph
    references: References
    # Many variants change the same positions of their windows.
    _plans: dict[Any, dict[int, SlicePlan]] = field(
        default_factory=dict[Any, dict[int, SlicePlan]]
    )

    @property
    def inputs(self) -> Reference:
        """The references themselves."""
        return self.references[self.graph.input_number]

    def find_plans(self, inputs: Slices) -> dict[int, SlicePlan]:
        """Return the plans of slices that begin as these inputs."""
        arrays = inputs.middle.starts, inputs.before, inputs.after
        key = (
            inputs.length,
            inputs.width,
            *(None if it is None else it.tobytes() for it in arrays),
        )
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        return self._plans.setdefault(key, {})


class LocalGraph:
    """A graph that computes changed positions of its local values, and the rest whole."""

    def __init__(self, graph: Graph, axes: Axes, backend: Backend) -> None:
        # No row affects the rounding of another row in `linear_by_row`.
        operations = [
            replace(it, name="linear_by_row") if it.name == "linear" else it
            for it in graph.operations
        ]
        parts = split_graph(replace(graph, operations=operations), axes)
        self._backend, self._axes = backend, axes
        self.batch_size = graph.inputs[-1].shape[0]
        self._input, self._output = graph.inputs[-1], graph.outputs[0]
        self._constants = graph.constants
        self._fixed = parts.fixed
        self.steps = [LocalStep(it, axes, backend) for it in parts.local]
        used = [it for op in parts.whole for it in op.inputs()]
        self._ends = {it.number: it for it in (*used, self._output) if it.number in axes}
        self._bounds = _find_bounds(parts.local, axes, self._ends)
        # The inputs are always whole.
        self.length = self._input.shape[axes[self._input.number]]
        self._bounds[self._input.number] = 0, self.length
        self._kept = self._ends.keys() | _find_read_values(self.steps, self._bounds)
        self._last_uses = _find_last_uses(self.steps)
        self._outside = _find_outside(parts.whole, axes)
        inputs = [*self._ends.values(), *self._outside.values()]
        finish = Graph(inputs, {}, parts.whole, [self._output])
        self._finish = lower_graph(finish, backend)
        self._strides = _find_strides(self.steps)
        values = [self._input, *(it.operation.outputs[0] for it in parts.local)]
        self._values = {it.number: it for it in values}
        sizes = {it.number: it.nbytes // self.batch_size for it in values}
        self.row_bytes = max(sizes.values())
        self.reference_bytes = sum(sizes.get(it, 0) for it in self._kept)

    @property
    def has_windows(self) -> bool:
        """True if some positions need not be computed again."""
        return any(not it.rule.is_aligned for it in self.steps)

    @property
    def shared_step(self) -> int | None:
        """The number of positions between references that may share a longer pass.

        None if the values of a reference depend on the ends of its window.
        """
        for step in self.steps:
            rule, (low, high) = step.rule, self._bounds[step.number]
            first = low * rule.stride - rule.padding
            is_inside = first >= 0 and first + rule.count_read(high - low) <= step.length
            # The convolution kernels may round differently if there are few windows.
            is_wide = rule.is_aligned or high - low >= _MIN_WINDOWS
            if step.has_tables or not is_inside or not is_wide:
                return None
        return math.lcm(*self._strides.values())

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the output of one sequence."""
        return self._output.shape[1:]

    @property
    def input_number(self) -> int:
        """The number of the value of the inputs."""
        return self._input.number

    def continues(self, other: LocalGraph) -> bool:
        """Return whether both graphs compute the same function of nearby positions."""
        if not (
            [str(it) for it in self._fixed] == [str(it) for it in other._fixed]
            and self._constants.keys() == other._constants.keys()
            and len(self.steps) == len(other.steps)
            and all(
                it.continues(old) for it, old in zip(self.steps, other.steps, strict=True)
            )
        ):
            return False
        is_equal = all(
            np.array_equal(array, other._constants[it])
            for it, array in self._constants.items()
        )
        longer = {it: self._count_longer(other, it) for it in self._values}
        return is_equal and all(
            longer[it] == longer[step.number] * step.rule.stride
            for step in self.steps
            for it in step.local
        )

    def _count_longer(self, other: LocalGraph, number: int) -> int:
        """Return how many more positions a value has."""
        return self.describe(number)[1] - other.describe(number)[1]

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
        self,
        inputs: NDArray[Any],
        known: dict[int, Array],
        references: References,
        *,
        offsets: Sequence[int] = (0,),
    ) -> list[NDArray[Any]]:
        """Compute whole sequences, and add the values that slices need to `references`."""
        # Longer inputs contain one reference at each offset.
        arrays = {self.input_number: inputs}
        longer = inputs.shape[self._axes[self.input_number]] - self.length
        self._keep(self.input_number, inputs, references, offsets=offsets)
        for step in self.steps:
            array = self._run_whole_step(step, arrays, known, longer=longer)
            arrays[step.number] = array
            if step.number in self._kept:
                self._keep(step.number, array, references, offsets=offsets)
            self._forget(arrays, step)
        return [
            np.concatenate([self._take_part(it, arrays[it], offset) for offset in offsets])
            for it in self._ends
        ]

    def _run_whole_step(
        self,
        step: LocalStep,
        arrays: dict[int, NDArray[Any]],
        known: dict[int, Array],
        *,
        longer: int,
    ) -> NDArray[Any]:
        """Return the needed positions of the result for whole sequences."""
        bounds = {it: self.describe(it) for it in (step.number, *step.local)}
        is_full = all(it == (0, length) for it, length in bounds.values())
        if is_full and not longer and not step.rule.is_padding:
            return step.call(arrays, known)
        values: dict[int, Slices] = {}
        for it in step.local:
            extent = bounds[it][0], bounds[it][1] + longer // self._strides[it]
            values[it] = Slices.of_part(arrays[it], self._axes[it], extent)
        (low, high), _ = bounds[step.number]
        starts = np.full(len(arrays[step.local[0]]), low, np.int64)
        width = high - low + longer // self._strides[step.number]
        return step.run(values, known, Range(starts, width))

    def _take_part(self, number: int, array: NDArray[Any], offset: int) -> NDArray[Any]:
        """Return the needed positions of the reference at an offset."""
        low, high = self._bounds[number]
        first = offset // self._strides[number]
        at = (slice(None),) * self._axes[number]
        return array[(*at, slice(first, first + high - low))]

    def run_changed(
        self, inputs: Slices, known: dict[int, Array], origin: Origin
    ) -> list[NDArray[Any]]:
        """Compute the changed positions of the local values."""
        values = {self._input.number: inputs}
        plans = origin.find_plans(inputs)
        for step in self.steps:
            made = self._run_step(step, values, known, origin=origin, plans=plans)
            values[step.number] = made
            self._forget(values, step)
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
            # The arrays always have the same shape and memory layout, because these may
            # affect rounding.
            stop = start + self.batch_size
            rows = np.minimum(np.arange(start, stop), count - 1)
            inputs = (
                np.ascontiguousarray(it[start:stop])
                if stop <= count
                else np.take(it, rows, axis=0)
                for it in ends
            )
            (made,) = self._finish(*inputs, *outside)
            found.append(made[: count - start])
        return np.concatenate(found)

    def _keep(
        self,
        number: int,
        array: NDArray[Any],
        references: References,
        *,
        offsets: Sequence[int],
    ) -> None:
        """Add the rows of a value to the references."""
        (low, high), length = self.describe(number)
        new = Reference([], low, high, length)
        for offset in offsets:
            part = self._take_part(number, array, offset)
            references.setdefault(number, new).rows.extend(part)

    def _forget(self, values: dict[int, Any], step: LocalStep) -> None:
        """Delete the values that no later operation reads."""
        for unused in self._last_uses.get(step.number, ()):
            if unused not in self._ends:
                del values[unused]

    def _run_step(
        self,
        step: LocalStep,
        values: dict[int, Slices],
        known: dict[int, Array],
        *,
        origin: Origin,
        plans: dict[int, SlicePlan],
    ) -> Slices:
        """Return the slices of one result."""
        rule, number = step.rule, step.number
        for it in step.local:
            if not step.keeps_moves(values[it]):
                values[it] = values[it].merge(*self._bounds[it])
        first = values[step.local[0]]
        plan = first.plan
        if not step.is_simple or self._bounds[number] != self._bounds[step.local[0]]:
            plan = plans.get(number)
            if plan is None:
                extent = self._find_extent(rule, number, origin)
                plan = plan_slices(rule, [values[it] for it in step.local], extent)
                plans[number] = plan

        def compute(places: Range) -> Slice:
            return Slice(step.run(values, known, places), places.starts)

        return Slices(
            rule.axis,
            rule.length,
            first.runs,
            compute(plan.middle),
            None if plan.left is None else compute(plan.left),
            None if plan.right is None else compute(plan.right),
            *plan[3:],
            reference=origin.references.get(number),
        )

    def _find_extent(self, rule: LocalOperation, number: int, origin: Origin) -> Extent:
        bounds, length = origin.graph.describe(number)
        least = 1 if rule.is_aligned else _MIN_WINDOWS
        return Extent(*self._bounds[number], *bounds, rule.length - length, least)


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


def _find_read_values(steps: list[LocalStep], bounds: dict[int, Bounds]) -> set[int]:
    """Return the values of whole sequences from which slices are read."""
    found: set[int] = set()
    # The values whose slices are within the slices of a value.
    covers: dict[int, set[int]] = {}
    for step in steps:
        local = step.local
        has_bounds = all(bounds[it] == bounds[step.number] for it in local)
        covers[step.number] = {
            it for source in local for it in (source, *covers.get(source, ()))
        }
        if not step.rule.is_aligned:
            found.update(local)
            if not step.rule.widens_slices:
                covers[step.number] = set()
        elif not has_bounds or step.has_tables:
            found.update(local)
        else:
            found.update(it for it in local if not {*local} - {it} <= covers.get(it, set()))
    return found


def _find_outside(whole: list[Operation], axes: Axes) -> dict[int, Value]:
    """Return the values from before the whole operations that are not local."""
    made = {it.number for operation in whole for it in operation.outputs}
    used = (it for operation in whole for it in operation.inputs())
    return {it.number: it for it in used if it.number not in made and it.number not in axes}


def _find_strides(steps: list[LocalStep]) -> defaultdict[int, int]:
    """Return the number of input positions for each position of a value."""
    found = defaultdict[int, int](lambda: 1)
    for step in steps:
        found[step.number] = found[step.local[0]] * step.rule.stride
    return found


def _find_last_uses(steps: list[LocalStep]) -> dict[int, list[int]]:
    """Return the local values that no later operation reads, by the operation's result."""
    made = {it.number for it in steps}
    last = {it: step.number for step in steps for it in step.local if it in made}
    found: dict[int, list[int]] = {}
    for number, reader in last.items():
        found.setdefault(reader, []).append(number)
    return found
