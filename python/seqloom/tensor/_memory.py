"""Report memory in use, by purpose and by the line of code that created the arrays."""

from __future__ import annotations

import gc
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._families._numpy_arrays import cache_sizes
from seqloom.tensor._leaves import Leaf
from seqloom.tensor._origin import ReleasedArray, find_line
from seqloom.tensor._state import Node, TrackedArray
from seqloom.tensor._tensor import Gradients, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.tensor._families import Array, ArrayFunctions

    _ArrayUse = tuple[str, str | None, Array, Any]

MEMORY_PURPOSES: tuple[str, ...] = (
    "parameters",
    "buffers",
    "optimiser",
    "gradients",
    "intermediates",
    "reserve",
)
_INTERMEDIATES = MEMORY_PURPOSES[4]
_TABLE_ROWS = 20


@dataclass(frozen=True, slots=True, repr=False)
class Memory:
    """Bytes of memory that arrays use; memory that arrays share is counted once.

    Attributes:
        by_purpose: Bytes of parameters, buffers, optimiser state, gradients and
            intermediates, and the reserve: free memory that a backend caches for new
            arrays.
        by_line: Bytes of intermediates by the line that created them, ``file:line``. An
            array that is saved only for a gradient is attributed to the line of the
            result that needs the array.

    Examples:
        >>> Memory({"parameters": 8, "intermediates": 4}, {"step.py:3": 4}).total
        12
    """

    by_purpose: dict[str, int]
    by_line: dict[str, int]

    @property
    def total(self) -> int:
        """Total number of bytes."""
        return sum(self.by_purpose.values())

    def __str__(self) -> str:
        rows = [*self.by_purpose.items(), ("total", self.total)]
        lines = sorted(self.by_line.items(), key=lambda row: -row[1])
        rows += [(f"  {line}", size) for line, size in lines[:_TABLE_ROWS]]
        return "\n".join(f"{size:>15,}  {name}" for name, size in rows)

    __repr__ = __str__


def memory() -> Memory:
    """Count the bytes that arrays use now, by purpose and by line of code.

    A call inspects all tensors, parameters, buffers, optimiser states and gradients in
    all threads, and the arrays saved for gradients. A call takes a few milliseconds;
    between calls there is no cost.

    Returns:
        A report that prints as a table.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0])
        >>> before = sl.tensor.memory().by_purpose["intermediates"]
        >>> y = x * 2
        >>> sl.tensor.memory().by_purpose["intermediates"] - before
        8
    """
    by_purpose, by_line = dict.fromkeys(MEMORY_PURPOSES, 0), Counter[str]()
    seen: set[int] = set()
    # Shared memory is counted once, for the purpose that is first in the list.
    for purpose, line, array, backend in _list_arrays():
        owner, size = measure_memory(array, backend)
        if owner not in seen:
            seen.add(owner)
            by_purpose[purpose] += size
            if line is not None:
                by_line[line] += size
    by_purpose["reserve"] = sum(reserve() for reserve in cache_sizes)
    return Memory(by_purpose, dict(by_line))


def measure_memory(array: Array, backend: ArrayFunctions | None) -> tuple[int, int]:
    """Return an id and the number of bytes of the memory that an array uses."""
    if isinstance(array, np.ndarray):
        return _measure_numpy_memory(array)
    if hasattr(array, "untyped_storage"):
        storage = array.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    is_symbol = getattr(array, "nbytes", None) == 0  # arrays of a captured step
    return id(array), backend.nbytes(array) if backend and not is_symbol else 0


def _measure_numpy_memory(array: Any) -> tuple[int, int]:
    """Return the id of the array that owns the memory of a view, and its size in bytes."""
    while hasattr(array.base, "nbytes") and hasattr(array.base, "base"):
        array = array.base
    return id(array if array.base is None else array.base), array.nbytes


def _list_arrays() -> Iterator[_ArrayUse]:
    """Yield all arrays in use, with their purpose; parameters come first."""
    kinds = [_list_subclasses(kind) for kind in (Leaf, Gradients, Tensor)]
    every = set[type]().union(*kinds)
    # Compare exact types, because isinstance() may run code of an unknown object's
    # class.
    found = [one for one in gc.get_objects() if type(one) in every]
    leaves, gradients, tensors = (
        [one for one in found if type(one) in kind] for kind in kinds
    )
    for leaf in sorted(leaves, key=lambda leaf: MEMORY_PURPOSES.index(leaf.purpose)):
        if hasattr(leaf.array, "shape"):
            yield leaf.purpose, None, leaf.array, leaf.backend
    for grads in gradients:
        for array in grads.arrays():
            yield "gradients", None, *_unwrap_levels(array, grads.backend)
    tensors = [tensor for tensor in tensors if not isinstance(tensor.raw, ReleasedArray)]
    for tensor in tensors:
        array = _unwrap_levels(tensor.raw, tensor.backend)
        yield _INTERMEDIATES, find_line(tensor), *array
    for tensor in tensors:
        line = f"{find_line(tensor)} (tape)"
        plain = _unwrap_levels(tensor.raw, tensor.backend)[1]
        for array in _list_saved_arrays(_walk_nodes(tensor.raw)):
            yield _INTERMEDIATES, line, array, plain


def _list_subclasses(kind: type) -> set[type]:
    """Return a class and all its subclasses."""
    return {kind}.union(*(_list_subclasses(derived) for derived in kind.__subclasses__()))


def _unwrap_levels(raw: Array, backend: ArrayFunctions) -> tuple[Array, Any]:
    """Return the innermost array of a tracked array, and the backend of this array."""
    while (inner := getattr(backend, "inner", None)) is not None:
        raw = raw.value if isinstance(raw, TrackedArray) else raw
        backend = inner
    return raw, backend


def _walk_nodes(raw: Array) -> Iterator[Node]:
    """Yield the recorded operations from which an array was computed, on all levels."""
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


def _list_saved_arrays(nodes: Iterator[Node]) -> Iterator[Array]:
    """Yield the arrays that recorded operations have saved for gradients."""
    pending: list[Any] = [node.saved for node in nodes]
    while pending:
        saved = pending.pop()
        if isinstance(saved, (list, tuple)):
            pending += saved
        elif isinstance(saved, dict):
            pending += saved.values()
        elif isinstance(saved, TrackedArray):
            pending += [saved.value, *(node.saved for node in _walk_nodes(saved))]
        elif hasattr(saved, "shape") and hasattr(saved, "dtype"):
            yield saved
