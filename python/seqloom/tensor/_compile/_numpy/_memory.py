"""Which values share memory: views, and what an update writes over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._compile._numpy._views import may_be_view, stand_in, viewed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.tensor._graph import Graph, Operation, Value

# Updates: their outputs are their arguments, in order, written over.
_UPDATES = {"adamw": (0, 2, 3), "sgd": (0, 2)}


class Memory:
    """Tells for each value of a graph whose memory it lies in.

    Args:
        graph: The graph.
        views: Numbers of the values that are views, where that is known already.

    Attributes:
        views: The operation that makes a value a view, by its number.
        values: Each value by its number.
    """

    def __init__(self, graph: Graph, views: set[int] | None = None) -> None:
        self.views: dict[int, Operation] = {}
        self.values: dict[int, Value] = {}
        self._known = views
        self._over: dict[int, Value] = {}  # what an update's output was before
        self._layouts: dict[int, NDArray[Any]] = {}
        for value in (*graph.inputs, *graph.outputs):
            self.values[value.number] = value
        for operation in graph.operations:
            self._meet(operation)

    def _meet(self, operation: Operation) -> None:
        """Notes what an operation makes, in the order of the graph."""
        for value in (*operation.inputs(), *operation.outputs):
            self.values[value.number] = value
        if self._is_view(operation):
            self.views[operation.outputs[0].number] = operation
        for before, after in updated(operation):
            self._over[after.number] = before

    def _is_view(self, operation: Operation) -> bool:
        """Whether an operation gives a view of what is there."""
        if self._known is not None:
            return operation.outputs[0].number in self._known
        return may_be_view(operation) and self._has_layout(operation)

    def _has_layout(self, operation: Operation) -> bool:
        """Whether the view exists: a reshape may need a copy."""
        try:
            layout = viewed(operation, self.layout(operation.args[0]))
        except ValueError:
            return False
        self._layouts[operation.outputs[0].number] = layout
        return True

    def layout(self, value: Value) -> NDArray[Any]:
        """An array with the strides of a value, whose memory nobody may touch."""
        if value.number not in self._layouts:
            self._layouts[value.number] = stand_in(value.shape, value.dtype)
        return self._layouts[value.number]

    def origin(self, value: Value) -> int:
        """The value that a view is of; itself, where it is none."""
        while value.number in self.views:
            value = self.views[value.number].args[0]
        return value.number

    def root(self, value: Value) -> int:
        """The value whose memory it lies in."""
        number = self.origin(value)
        while number in self._over:
            number = self.origin(self._over[number])
        return number

    def is_whole(self, value: Value) -> bool:
        """Whether a value is all of its memory, in order."""
        return self.layout(value).flags.c_contiguous and (
            value.nbytes == self.values[self.root(value)].nbytes
        )

    def written(self, operation: Operation) -> set[int]:
        """The memory that an operation writes over, by the number of its root."""
        return {self.root(before) for before, _ in updated(operation)}


def updated(operation: Operation) -> Iterator[tuple[Value, Value]]:
    """What an update writes over, with what stands there afterwards."""
    places = _UPDATES.get(operation.name, ())
    before = [value for place in places for value in operation.args[place]]
    return zip(before, operation.outputs, strict=False)
