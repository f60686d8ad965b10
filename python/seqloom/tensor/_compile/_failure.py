"""Why a program failed: its graph is run once more, one operation after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import SeqloomError
from seqloom.tensor._compile._copies import WRITES
from seqloom.tensor._compile._simplify import mapped
from seqloom.tensor._lower import flat
from seqloom.tensor._native_error import translated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._graph import Graph, Operation


def failure(
    error: Exception, graph: Graph, arrays: Sequence[Any], backend: Backend
) -> SeqloomError:
    """The exception that a failed program becomes.

    Args:
        error: What the library raised.
        graph: What was computed.
        arrays: Its inputs.
        backend: Who computed.

    Returns:
        Ours, with the operation, its line, the shapes and the types where it can be found.
    """
    if isinstance(error, (SeqloomError, MemoryError)) or backend.device != "cpu":
        return translated(error, "a compiled step", tuple(arrays), backend)
    known: dict[int, Any] = dict(graph.constants)
    known.update((v.number, x) for v, x in zip(graph.inputs, arrays, strict=True))
    found = _first_failure(graph, known, backend)
    return found or translated(error, "a compiled step", tuple(arrays), backend)


def _first_failure(
    graph: Graph, known: dict[int, Any], backend: Backend
) -> SeqloomError | None:
    """The failure of the first operation that fails alone, too."""
    for operation in graph.operations:
        if operation.name in WRITES or operation.name == "scan":
            return None  # it would write over what the caller has, or is many
        if (found := _run(operation, known, backend)) is not None:
            return found
    return None


def _run(
    operation: Operation, known: dict[int, Any], backend: Backend
) -> SeqloomError | None:
    """Runs an operation; gives its failure."""
    args = mapped(operation.args, lambda value: known[value.number])
    try:
        made = getattr(backend, operation.name)(*args, **operation.options)
    except Exception as error:  # noqa: BLE001  # whatever the library raises
        ours = translated(error, operation.name, args, backend)
        return type(ours)(f"{operation.where}: {ours}")
    known.update((v.number, x) for v, x in zip(operation.outputs, flat(made), strict=True))
    return None
