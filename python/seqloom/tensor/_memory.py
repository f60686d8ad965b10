"""What is alive in memory, by purpose and by the line that made it."""

from __future__ import annotations

import gc
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._families._numpy_arrays import reserves
from seqloom.tensor._leaves import Leaf
from seqloom.tensor._origin import Released, line_of
from seqloom.tensor._state import Node, TrackedArray
from seqloom.tensor._tensor import Gradients, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.tensor._families import Array, ArrayFunctions

    _Claim = tuple[str, str | None, Array, Any]

PURPOSES: tuple[str, ...] = (
    "parameters",
    "buffers",
    "optimiser",
    "gradients",
    "intermediates",
    "reserve",
)
_INTERMEDIATES = PURPOSES[4]
# How many lines the printed table has, the largest first.
_ROWS = 20


@dataclass(frozen=True, slots=True, repr=False)
class Memory:
    """The bytes that arrays use; memory that several arrays share is counted once.

    Attributes:
        by_purpose: Bytes of parameters, buffers, optimiser, gradients, intermediates, and
            the reserve: free memory that a backend keeps for its next arrays.
        by_line: Bytes of intermediates by the line that made them, ``file:line``. Arrays
            that only a tape saves are at the line of the result that keeps the tape.

    Examples:
        >>> Memory({"parameters": 8, "intermediates": 4}, {"step.py:3": 4}).total
        12
    """

    by_purpose: dict[str, int]
    by_line: dict[str, int]

    @property
    def total(self) -> int:
        """All bytes together."""
        return sum(self.by_purpose.values())

    def __str__(self) -> str:
        rows = [*self.by_purpose.items(), ("total", self.total)]
        lines = sorted(self.by_line.items(), key=lambda row: -row[1])
        rows += [(f"  {line}", size) for line, size in lines[:_ROWS]]
        return "\n".join(f"{size:>15,}  {name}" for name, size in rows)

    __repr__ = __str__


def memory() -> Memory:
    """Count the bytes that arrays use now, by purpose and by the line that made them.

    It inspects every tensor, parameter, buffer, optimiser state and gradient that is alive,
    in all threads, and what tapes save for their derivatives. That takes some milliseconds;
    nothing is counted at other times.

    Returns:
        The report; it prints as a table.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0])
        >>> before = sl.tensor.memory().by_purpose["intermediates"]
        >>> y = x * 2
        >>> sl.tensor.memory().by_purpose["intermediates"] - before
        8
    """
    by_purpose, by_line = dict.fromkeys(PURPOSES, 0), Counter[str]()
    seen: set[int] = set()
    # Memory is counted for the first purpose that claims it: a parameter's, not its view's.
    for purpose, line, array, backend in _claims():
        owner, size = memory_of(array, backend)
        if owner not in seen:
            seen.add(owner)
            by_purpose[purpose] += size
            if line is not None:
                by_line[line] += size
    by_purpose["reserve"] = sum(reserve() for reserve in reserves)
    return Memory(by_purpose, dict(by_line))


def memory_of(array: Array, backend: ArrayFunctions | None) -> tuple[int, int]:
    """Return a number shared by arrays in the same memory, and the memory's bytes."""
    if isinstance(array, np.ndarray):
        return _memory_of_numpy(array)
    if hasattr(array, "untyped_storage"):
        storage = array.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    is_symbol = getattr(array, "nbytes", None) == 0  # of a step that is being captured
    return id(array), backend.nbytes(array) if backend and not is_symbol else 0


def _memory_of_numpy(array: Any) -> tuple[int, int]:
    """Find the array at the end of the chain of views, or the owner of its memory."""
    while hasattr(array.base, "nbytes") and hasattr(array.base, "base"):
        array = array.base
    return id(array if array.base is None else array.base), array.nbytes


def _claims() -> Iterator[_Claim]:
    """Yield all arrays alive, with their purpose; intermediates, then tapes, last."""
    kinds = [_subclasses(kind) for kind in (Leaf, Gradients, Tensor)]
    every = set[type]().union(*kinds)
    # By exact type: asking an unknown object for its class may run its code.
    found = [one for one in gc.get_objects() if type(one) in every]
    leaves, gradients, tensors = (
        [one for one in found if type(one) in kind] for kind in kinds
    )
    for leaf in sorted(leaves, key=lambda leaf: PURPOSES.index(leaf.purpose)):
        if hasattr(leaf.array, "shape"):
            yield leaf.purpose, None, leaf.array, leaf.backend
    for grads in gradients:
        for array in grads.arrays():
            yield "gradients", None, *_innermost(array, grads.backend)
    tensors = [tensor for tensor in tensors if not isinstance(tensor.raw, Released)]
    for tensor in tensors:
        yield _INTERMEDIATES, line_of(tensor), *_innermost(tensor.raw, tensor.backend)
    for tensor in tensors:
        line = f"{line_of(tensor)} (tape)"
        plain = _innermost(tensor.raw, tensor.backend)[1]
        for array in _arrays_saved_by(_nodes(tensor.raw)):
            yield _INTERMEDIATES, line, array, plain


def _subclasses(kind: type) -> set[type]:
    """Return a class and all that are derived from it."""
    return {kind}.union(*(_subclasses(derived) for derived in kind.__subclasses__()))


def _innermost(raw: Array, backend: ArrayFunctions) -> tuple[Array, Any]:
    """Return the library's own array inside those of levels, and its backend."""
    while (inner := getattr(backend, "inner", None)) is not None:
        raw = raw.value if isinstance(raw, TrackedArray) else raw
        backend = inner
    return raw, backend


def _nodes(raw: Array) -> Iterator[Node]:
    """Yield the nodes that led to an array, on all levels."""
    pending: list[Node] = []
    while isinstance(raw, TrackedArray):
        pending.append(raw.node)
        raw = raw.value
    seen = {id(node) for node in pending}
    while pending:
        node = pending.pop()
        yield node
        fresh = [one for one in node.parents if one is not None and id(one) not in seen]
        seen.update(id(parent) for parent in fresh)
        pending += fresh


def _arrays_saved_by(nodes: Iterator[Node]) -> Iterator[Array]:
    """Yield the arrays within what nodes have saved."""
    pending: list[Any] = [node.saved for node in nodes]
    while pending:
        saved = pending.pop()
        if isinstance(saved, (list, tuple)):
            pending += saved
        elif isinstance(saved, dict):
            pending += saved.values()
        elif isinstance(saved, TrackedArray):
            pending += [saved.value, *(node.saved for node in _nodes(saved))]
        elif hasattr(saved, "shape") and hasattr(saved, "dtype"):
            yield saved
