"""The arrays that a tensor keeps alive: its own, and those that its tape has saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._autodiff import Node, Traced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.tensor._backend import Array, Backend


def innermost_array(raw: Array, backend: Backend) -> tuple[Array, Backend]:
    """The library's own array within those of levels, and its backend."""
    while (inner := getattr(backend, "inner", None)) is not None:
        raw = raw.value if isinstance(raw, Traced) else raw
        backend = inner
    return raw, backend


def arrays_of_tape(raw: Array, backend: Backend) -> Iterator[tuple[Array, Backend]]:
    """What the nodes that led to an array have saved.

    Args:
        raw: An array of a level; of a plain backend there is nothing.
        backend: Whose it is.

    Yields:
        Arrays of the innermost backend.
    """
    plain = innermost_array(raw, backend)[1]
    for array in _saved(_nodes(raw)):
        yield array, plain


def _nodes(raw: Array) -> Iterator[Node]:
    """The nodes that led to an array, on all levels."""
    pending: list[Any] = []
    while isinstance(raw, Traced):
        pending.append(raw.node)
        raw = raw.value
    seen = {id(node) for node in pending}
    while pending:
        node = pending.pop()
        yield node
        fresh = [each for each in node.parents if each is not None and id(each) not in seen]
        seen.update(id(each) for each in fresh)
        pending += fresh


def _saved(nodes: Iterator[Node]) -> Iterator[Array]:
    """The arrays within what nodes have saved."""
    pending: list[Any] = [node.saved for node in nodes]
    while pending:
        thing = pending.pop()
        if isinstance(thing, (list, tuple)):
            pending += thing
        elif isinstance(thing, dict):
            pending += thing.values()
        elif isinstance(thing, Traced):
            pending += [thing.value, *(node.saved for node in _nodes(thing))]
        elif hasattr(thing, "shape") and hasattr(thing, "dtype"):
            yield thing
