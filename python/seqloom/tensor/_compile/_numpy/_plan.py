"""A graph as a plan: calls that were prepared, in memory that was laid out before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from seqloom.tensor._compile._numpy._folding import straightened_folds
from seqloom.tensor._compile._numpy._rewrite import split_unstacks, split_updates
from seqloom.tensor._compile._numpy._store import layout_of
from seqloom.tensor._compile._numpy._views import viewed
from seqloom.tensor._compile._numpy._writer import Writer
from seqloom.tensor._memory._reserve import reserves

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._graph import Graph

    Array = NDArray[Any]

_LINE = 64  # bytes of a line of the cache
_PLANS: WeakSet[Plan] = WeakSet()
reserves.append(lambda: sum(plan.held for plan in list(_PLANS)))


def plan(graph: Graph, backend: Backend, *, poison: bool = False) -> Plan:
    """Makes a graph ready to run on NumPy's arrays.

    Args:
        graph: What to compute.
        backend: The backend whose functions do what no fused group does.
        poison: Fill memory with NaN as soon as its value is not needed any more: for tests.

    Returns:
        A function from the arrays of the graph's inputs to those of its outputs; as text it
        shows what runs.

    Examples:
        >>> import numpy as np
        >>> from seqloom.tensor import backend
        >>> from seqloom.tensor._compile import Graph, Operation, Value
        >>> x, y = (Value(number, (3,), np.dtype("float32")) for number in (0, 1))
        >>> graph = Graph([x], operations=[Operation("exp", (x,), {}, (y,))], outputs=[y])
        >>> plan(graph, backend("numpy"))([np.zeros(3, np.float32)])[0].tolist()
        [1.0, 1.0, 1.0]
    """
    return Plan(graph, backend, poison=poison)


class Plan:
    """Runs a graph on NumPy's arrays.

    Elementwise operations run in fused groups; every result has a place in one piece of
    memory, which is used again at each call. What leaves is new, or an input's memory that
    the caller gave away. As text it shows what runs.

    Args:
        graph: What to compute.
        backend: The backend whose functions do what no group does.
        poison: Fill memory with NaN as soon as its value is not needed any more: for tests.

    Attributes:
        text: What runs, as Python.
        nbytes: The size of the memory that one running call needs.
        held: The size of the memory that it keeps for its calls.
    """

    def __init__(self, graph: Graph, backend: Backend, *, poison: bool = False) -> None:
        for rewritten in (split_unstacks, split_updates, straightened_folds):
            graph = rewritten(graph)
        self._layout = layout_of(graph, backend)

        def inner(body: Graph) -> Plan:
            return Plan(body, backend, poison=poison)

        source = Writer(self._layout, backend, inner, poison=poison).source
        self._scope = source.scope
        self._views = source.views
        self.text = "\n".join(source.lines)
        self.nbytes = self._layout.nbytes
        self._code = compile(self.text, "<plan>", "exec")
        self.held = 0
        _PLANS.add(self)
        self._scalars = [at for at, value in enumerate(graph.inputs) if not value.shape]
        self._idle: list[Callable[..., list[Array]]] = []

    def __call__(self, arrays: Sequence[Any]) -> list[Array]:
        """Runs the plan; each of the calls that run at a time has memory of its own.

        Args:
            arrays: The graph's inputs.

        Returns:
            The graph's outputs.
        """
        try:
            run = self._idle.pop()
        except IndexError:
            run = self._bound()
        outputs = run(*self._arrays(arrays))
        self._idle.append(run)
        return outputs

    def _arrays(self, given: Sequence[Any]) -> Sequence[Any]:
        """The inputs, NumPy's scalars as arrays without axes: groups take no others."""
        arrays = list(given)
        for at in self._scalars:
            if isinstance(arrays[at], np.generic):
                arrays[at] = np.asarray(arrays[at])
        return arrays

    def __str__(self) -> str:
        operations, units = len(self._layout.graph.operations), self._layout.units
        groups = sum(unit.dtype is not None for unit in units)
        head = f"# {operations} operations, {len(units)} calls, {groups} of them fused"
        return f"{head}; {self.nbytes:,} bytes\n{self.text}"

    def _bound(self) -> Callable[..., list[Array]]:
        """The function over new memory."""
        scope = dict(self._scope)
        scope.update((f"v{number}", array) for number, array in self._constants())
        memory = np.empty(self.nbytes + _LINE, np.uint8)
        self.held += memory.nbytes
        memory = memory[-memory.ctypes.data % _LINE :]
        for number, span in self._layout.spans.items():
            value = self._layout.memory.values[number]
            # Kernels tell arrays apart by where they begin, empty ones too.
            shared = memory if span.nbytes else np.empty(0, np.uint8)
            room = shared[span.offset : span.offset + span.nbytes]
            scope[f"bytes{number}"] = room
            scope[f"v{number}"] = room.view(value.dtype).reshape(value.shape)
        for operation in self._views:
            of = scope[f"v{operation.args[0].number}"]
            scope[f"v{operation.outputs[0].number}"] = viewed(operation, of)
        exec(self._code, scope)  # noqa: S102
        return scope["run"]

    def _constants(self) -> list[tuple[int, Array]]:
        """The constants of the graph, by number."""
        constants = self._layout.graph.constants.items()
        return [(number, np.asarray(array)) for number, array in constants]
