"""Program: what a compiled step does with arguments of one signature."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary, WeakSet

from seqloom._key import Key
from seqloom._system import after_fork
from seqloom.errors import SeqloomError
from seqloom.tensor._graph import UPDATES, flatten, map_values
from seqloom.tensor._leaves import assign_owners
from seqloom.tensor._native_error import translate
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._compile._signature import Signature
    from seqloom.tensor._graph import Graph, Operation
    from seqloom.tensor._leaves import Leaf

# Builds a result from the arrays of one call and the arguments of that call.
Build = Callable[["Iterator[Array]", "Signature", "Backend"], Any]


class _Lockable(Protocol):
    """Has a lock that a forked process must replace."""

    def renew_lock(self) -> None: ...


_leaf_locks: WeakKeyDictionary[Leaf, threading.Lock] = WeakKeyDictionary()
renewed_at_fork: WeakSet[_Lockable] = WeakSet()


def _renew_locks() -> None:
    """Replaces all locks: a thread may have held one at the fork, and is not here."""
    _leaf_locks.clear()
    for lockable in list(renewed_at_fork):
        lockable.renew_lock()


after_fork(_renew_locks)


class Program:
    """Runs a graph on the state and the inputs of a call, and returns its results."""

    def __init__(
        self,
        graph: Graph,  # the state comes first among inputs and outputs
        run: Callable[..., Any],  # the graph, made by the backend
        written: list[int],  # the leaves whose new arrays are the first outputs
        build: Build,
        owned: list[tuple[int, int]],  # a state and its parameter, as indices of leaves
    ) -> None:
        self.graph = graph
        self._run = run
        self._written = written
        self._build = build
        self._owned = owned
        self.called = False  # since the last time that a program was dropped

    def __call__(self, signature: Signature) -> Any:
        """Reads the leaves, runs the graph, writes the leaves, and returns the results."""
        self.called = True
        if not self._written:
            return self._run_step(signature)
        # Two calls must not write the same leaves at the same time.
        leaf = signature.leaves[self._written[0]]
        lock = _leaf_locks.get(leaf) or _leaf_locks.setdefault(leaf, threading.Lock())
        with lock:
            return self._run_step(signature)

    def _run_step(self, signature: Signature) -> Any:
        """Runs the step while no other call writes its leaves."""
        backend: Any = signature.backend
        leaves = signature.leaves
        for state, param in self._owned:
            owner = leaves[state].owner
            if owner is None or owner() is not leaves[param]:
                assign_owners([(leaves[one], leaves[other]) for one, other in self._owned])
        for leaf in leaves:
            if leaf.is_shared or leaf.array is None or leaf.backend is not backend:
                self._prepare(leaves, backend)
                break
        arrays = [leaf.array for leaf in leaves]
        arrays += [to_array(value, backend) for value in signature.inputs]
        try:
            outputs = self._run(arrays)
        except Exception as error:
            ours = explain_failure(error, self.graph, arrays, backend)
            if ours is error:
                raise
            raise ours from error
        for index, array in zip(self._written, outputs, strict=False):
            leaves[index].put(array)
        return self._build(iter(outputs[len(self._written) :]), signature, backend)

    def _prepare(self, leaves: list[Leaf], backend: Backend) -> None:
        """Moves all leaves to the backend; copies those that are written and shared."""
        for leaf in leaves:
            if leaf.array is None or leaf.backend is not backend:
                leaf.on(backend)
        for index in self._written:
            if leaves[index].is_shared:
                leaves[index].make_writable()


def to_array(value: object, backend: Backend) -> Array:
    """Converts an input of the step for the program: numbers stay numbers."""
    if type(value) is Tensor:
        return value.raw
    if type(value) is float:
        return value
    if isinstance(value, Key):
        return backend.key_words(value)
    # The caller may write its array as soon as the call has returned.
    return backend.asarray(value, copy=backend.defers or None)


def explain_failure(
    error: Exception, graph: Graph, arrays: Sequence[Array], backend: Backend
) -> SeqloomError:
    """Returns our error; it names the operation, its line, shapes and dtypes if found."""
    if isinstance(error, (SeqloomError, MemoryError)) or backend.device != "cpu":
        return translate(error, "a compiled step", tuple(arrays), backend)
    known: dict[int, Array] = dict(graph.constants)
    known.update((v.number, x) for v, x in zip(graph.inputs, arrays, strict=True))
    for operation in graph.operations:
        if operation.name in UPDATES or operation.name == "scan":
            break  # it would overwrite the user's state, or is many operations
        if (found := _run(operation, known, backend)) is not None:
            return found
    return translate(error, "a compiled step", tuple(arrays), backend)


def _run(
    operation: Operation, known: dict[int, Array], backend: Backend
) -> SeqloomError | None:
    """Runs an operation; returns its error."""
    args = map_values(operation.args, lambda value: known[value.number])
    try:
        result = getattr(backend, operation.name)(*args, **operation.options)
    except Exception as error:  # noqa: BLE001  # any error of the library
        ours = translate(error, operation.name, args, backend)
        return type(ours)(f"{operation.where}: {ours}")
    pairs = zip(operation.outputs, flatten(result), strict=True)
    known.update((value.number, array) for value, array in pairs)
    return None
