"""Which values of a graph share memory: views, and what an update overwrites."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._graph import UPDATES, Value, values_in
from seqloom.tensor._index import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from seqloom.tensor._graph import Graph, Operation

    Array = NDArray[Any]


def _index(x: Array, key: object) -> Array:
    """Indexes with integers and slices; gives an array even if no axis remains."""
    parts = parts_of(key)
    return x[parts if any(part is ... for part in parts) else (*parts, ...)]


def _keep(x: Array, *_: object) -> Array:
    """Returns the array itself."""
    return x


_VIEWS: dict[str, Callable[..., Any]] = {
    # Without a copy: NumPy raises ValueError where that is not possible.
    "reshape": partial(np.reshape, copy=False),
    "permute_dims": np.permute_dims,
    "matrix_transpose": np.matrix_transpose,
    "expand_dims": np.expand_dims,
    "squeeze": np.squeeze,
    "broadcast_to": np.broadcast_to,
    "index": _index,
    "stop_gradient": _keep,
    "astype": _keep,
}


class Aliases:
    """Knows for each value of a graph in which value's memory it lies."""

    def __init__(self, graph: Graph, *, with_views: bool = True) -> None:
        # with_views: False if each operation of the graph makes a new array
        self.views: dict[int, Operation] = {}  # by the number of the view
        self.values: dict[int, Value] = {}  # by number
        self._with_views = with_views
        self._overwritten: dict[int, Value] = {}  # by the number of an update's output
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
        """Returns True if an operation gives a view."""
        # Fused programs read memory forwards only.
        is_backward = operation.name == "index" and _flips(operation.args[-1])
        can_view = self._with_views and is_alias(operation) and not is_backward
        return can_view and self._try_view(operation)

    def _try_view(self, operation: Operation) -> bool:
        """Returns True if the strides allow the view: a reshape may need a copy."""
        try:
            view = make_view(operation, self._strides_of(operation.args[0]))
        except ValueError:
            return False
        self._strided[operation.outputs[0].number] = view
        return True

    def _strides_of(self, value: Value) -> Array:
        """Returns an array with the strides of a value, whose memory is not readable."""
        if value.number not in self._strided:
            shape, dtype = value.shape, value.dtype
            steps = np.cumprod([dtype.itemsize, *(size or 1 for size in shape[:0:-1])])
            strides = tuple(int(step) for step in steps[::-1][len(steps) - len(shape) :])
            over_one = np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)
            self._strided[value.number] = over_one
        return self._strided[value.number]

    def origin(self, value: Value) -> int:
        """Returns the number of the value that a view shows; its own if it is no view."""
        while value.number in self.views:
            value = self.views[value.number].args[0]
        return value.number

    def root(self, value: Value) -> int:
        """Returns the number of the value in whose memory a value lies."""
        number = self.origin(value)
        while number in self._overwritten:
            number = self.origin(self._overwritten[number])
        return number

    def is_whole(self, value: Value) -> bool:
        """Returns True if a value is all of its memory, and contiguous."""
        return self._strides_of(value).flags.c_contiguous and (
            value.nbytes == self.values[self.root(value)].nbytes
        )

    def overwritten_roots(self, operation: Operation) -> set[int]:
        """Returns the roots of the memory that an operation overwrites."""
        return {self.root(before) for before, _ in _pair_updates(operation)}


def is_alias(operation: Operation) -> bool:
    """Returns True if the result may share the memory of the first argument."""
    if operation.name not in _VIEWS:
        return False
    first, rest = operation.args[0], operation.args[1:]
    if not isinstance(first, Value) or any(values_in(rest)):
        return False
    if operation.name == "index":
        kinds = (int, slice, type(...), type(None))
        return all(isinstance(part, kinds) for part in parts_of(rest[0]))
    return operation.name != "astype" or first.dtype == operation.outputs[0].dtype


def make_view(operation: Operation, x: Array) -> Array:
    """Returns the view of an array that an operation gives."""
    return _VIEWS[operation.name](x, *operation.args[1:], **operation.options)


def _flips(key: object) -> bool:
    """Returns True if a slice of an index has a negative step."""
    steps = (getattr(part, "step", None) for part in parts_of(key))
    return any(step is not None and step < 0 for step in steps)


def _pair_updates(operation: Operation) -> Iterator[tuple[Value, Value]]:
    """Pairs each value that an update overwrites with the value afterwards."""
    positions = UPDATES.get(operation.name, ())
    before = [value for position in positions for value in operation.args[position]]
    return zip(before, operation.outputs, strict=False)
