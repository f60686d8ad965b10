"""Local operations that compute slices of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.infer._changed_rules import ELEMENTWISE
from seqloom.infer._changed_slices import Range, Slice
from seqloom.tensor._graph import Value, flatten, map_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from seqloom.infer._changed_rules import Axes, LocalOperation
    from seqloom.infer._changed_slices import Slices
    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._graph import Operation

    Arrays = Mapping[int, Array]  # the arrays of values, by number

_SHAPE_OPERATIONS = frozenset({"reshape", "broadcast_to"})


class LocalStep:
    """A local operation with the backend's function."""

    def __init__(self, rule: LocalOperation, axes: Axes, backend: Backend) -> None:
        inputs = {it.number: it for it in rule.operation.inputs()}
        self.rule, self._backend = rule, backend
        # The number of positions of the first local argument is `length`.
        self.number = rule.operation.outputs[0].number
        self.local = [it for it in inputs if it in axes]
        self._axis = axes[self.local[0]]
        self.length = inputs[self.local[0]].shape[self._axis]
        self._known = [it for it in inputs if it not in axes]
        rank = len(rule.operation.outputs[0].shape)
        # Arguments with a value for each position.
        self._tables = [
            inputs[it]
            for it in self._known
            if rule.operation.name in ELEMENTWISE
            and rule.axis >= rank - len(inputs[it].shape)
            and inputs[it].shape[rule.axis - rank] > 1
        ]
        self._whole = _prepare_call(rule.operation, backend)
        self._narrow = _prepare_call(rule.narrow, backend) if rule.narrow else self._whole

    @property
    def has_tables(self) -> bool:
        """True if an argument has a value for each position."""
        return bool(self._tables)

    @property
    def is_simple(self) -> bool:
        """True if the result has the positions of the only local argument."""
        return self.rule.is_aligned and len(self.local) == 1 and not self._tables

    def continues(self, other: LocalStep) -> bool:
        """Return whether both operations differ only in their numbers of positions."""
        names = "axis", "stride", "padding", "reach", "fill", "is_padding"
        own, old = self.rule.operation, other.rule.operation
        is_same = all(getattr(self.rule, it) == getattr(other.rule, it) for it in names)
        is_same &= (own.name, self.number) == (old.name, other.number)
        # A slice or shape may contain the number of positions.
        if own.name not in _SHAPE_OPERATIONS | {"index"}:
            is_same &= str((own.args, own.options)) == str((old.args, old.options))
        return is_same and self.local == other.local and not self._tables

    def keeps_moves(self, source: Slices) -> bool:
        """Return whether moved positions of an argument give moved positions."""
        moves = [it for it in (source.before, source.after) if it is not None]
        is_aligned = not any((it % self.rule.stride).any() for it in moves)
        return not moves or (is_aligned and not self._tables)

    def call(self, arrays: Mapping[int, NDArray[Any]], known: Arrays) -> NDArray[Any]:
        """Compute the result at all positions of the local arguments."""
        local = {it: arrays[it] for it in self.local}
        array = local[self.local[0]]
        return self._call(local, known, (len(array), array.shape[self._axis]))

    def run(self, values: dict[int, Slices], known: Arrays, places: Range) -> NDArray[Any]:
        """Compute slices of the result."""
        rule, (starts, width) = self.rule, places
        if rule.is_aligned:
            arrays = {it: values[it].read(places) for it in self.local}
            tables = self._read_tables(known, places) if self._tables else known
            return self._call(arrays, tables, (len(starts), width))
        (number,) = self.local
        source = values[number]
        fixed = {it: known[it] for it in self._known}
        is_whole = width == rule.length and source.width == source.length == self.length
        if is_whole and not rule.is_padding:
            return self._whole({**fixed, number: source.middle.array})
        first = starts * rule.stride - rule.padding
        array = source.read(Range(first, rule.count_read(width)), fill=rule.fill)
        if rule.is_padding:
            return array
        source.copies.append(Slice(array, first))
        return self._narrow({**fixed, number: array})

    def _call(
        self, arrays: dict[int, Array], known: Arrays, size: tuple[int, int]
    ) -> NDArray[Any]:
        """Compute rows and positions of the result, from the same positions."""
        arrays |= {it: known[it] for it in self._known}
        operation = self.rule.operation
        if operation.name not in _SHAPE_OPERATIONS:
            return self._whole(arrays)
        shape = [size[0], *operation.outputs[0].shape[1:]]
        shape[self.rule.axis] = size[1]
        function = getattr(self._backend, operation.name)
        return function(arrays[self.local[0]], tuple(shape))

    def _read_tables(self, known: Arrays, places: Range) -> Arrays:
        """Return the known arguments at the positions of the slices."""
        starts, width = places
        found, axis = {it: known[it] for it in self._known}, self.rule.axis
        if width == self.rule.length:
            return found
        rank = len(self.rule.operation.outputs[0].shape)
        for value in self._tables:
            shape = (1,) * (rank - len(value.shape)) + value.shape
            array = np.reshape(found[value.number], shape)
            parts = [np.take(array, range(it, it + width), axis) for it in starts]
            found[value.number] = np.concatenate(parts)
        return found


def _prepare_call(operation: Operation, backend: Backend) -> Callable[[Arrays], Any]:
    """Return a function of the arguments that returns the first result."""
    function, args = getattr(backend, operation.name), operation.args

    def call(arrays: Arrays) -> Any:
        found = map_values(args, lambda value: arrays[value.number])
        return flatten(function(*found, **operation.options))[0]

    def call_flat(arrays: Arrays) -> Any:
        found = [arrays[it.number] if isinstance(it, Value) else it for it in args]
        result: Any = function(*found, **operation.options)
        is_array = type(result) is np.ndarray
        return result if is_array else flatten(result)[0]

    is_flat = sum(isinstance(it, Value) for it in args) == len(operation.inputs())
    return call_flat if is_flat else call
