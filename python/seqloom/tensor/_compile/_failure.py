"""Explains why a program failed: runs its graph again, one operation after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import SeqloomError
from seqloom.tensor._compile._copies import WRITES
from seqloom.tensor._graph import flatten, map_values
from seqloom.tensor._native_error import translate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._graph import Graph, Operation


def explain_failure(
    error: Exception, graph: Graph, arrays: Sequence[Array], backend: Backend
) -> SeqloomError:
    """Returns our error; it names the operation, its line, shapes and dtypes if found."""
    if isinstance(error, (SeqloomError, MemoryError)) or backend.device != "cpu":
        return translate(error, "a compiled step", tuple(arrays), backend)
    known: dict[int, Array] = dict(graph.constants)
    known.update((v.number, x) for v, x in zip(graph.inputs, arrays, strict=True))
    found = _find_first_failure(graph, known, backend)
    return found or translate(error, "a compiled step", tuple(arrays), backend)


def _find_first_failure(
    graph: Graph, known: dict[int, Array], backend: Backend
) -> SeqloomError | None:
    """Returns the error of the first operation that fails when it runs alone."""
    for operation in graph.operations:
        if operation.name in WRITES or operation.name == "scan":
            return None  # it would overwrite the user's state, or is many operations
        if (error := _run(operation, known, backend)) is not None:
            return error
    return None


def _run(
    operation: Operation, known: dict[int, Array], backend: Backend
) -> SeqloomError | None:
    """Runs an operation; returns its error."""
    args = map_values(operation.args, lambda value: known[value.number])
    try:
        result = getattr(backend, operation.name)(*args, **operation.options)
    except Exception as error:  # noqa: BLE001  # whatever the library raises
        ours = translate(error, operation.name, args, backend)
        return type(ours)(f"{operation.where}: {ours}")
    pairs = zip(operation.outputs, flatten(result), strict=True)
    known.update((value.number, array) for value, array in pairs)
    return None
