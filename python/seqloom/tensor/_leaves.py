"""Leaves: the arrays that a step reads before and writes after it.

What holds state says so by one method, ``leaves() -> (static, list of leaves)``: what of it
decides which program a step is, hashable, and its arrays. Modules, optimisers and schedules
have it; `compile` and the scopes ask for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._backend import Array, Backend

# A number of steps; every backend has it, jax without jax_enable_x64 too.
_COUNT = "int32"


@runtime_checkable
class HasLeaves(Protocol):
    """What holds arrays that a step may write."""

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """What decides the program, hashable, and the arrays."""
        ...


class Leaf:
    """One array that outlives a step.

    Args:
        array: The array.
        backend: Whose array it is.

    Attributes:
        array: The array; None where it is made on first use.
        backend: Whose array it is; None where it came from a record.
        lent: Whether a reader keeps the array, so that a writer takes a copy first.
        version: How often it was written.
    """

    # What its memory is for, as `seqloom.tensor.memory` tells it.
    purpose = "optimiser"

    def __init__(self, array: Array, backend: Backend | None) -> None:
        self.array: Array = array
        self.backend: Backend | None = backend
        self.version = 0
        self.lent = False

    def storage(self) -> Array:
        """The array, for a reader who is done before the next write."""
        return self.array

    def lend(self) -> Array:
        """The array, for a reader who keeps it: a writer takes a copy first."""
        self.lent = True
        return self.storage()

    def on(self, backend: Backend) -> Array:
        """The array as one of a backend, where it came without any."""
        if self.backend is None:
            self.array, self.backend = backend.asarray(self.array), backend
        return self.storage()

    def own(self) -> Array:
        """The array, for a writer: nobody else reads it."""
        array = self.storage()
        if self.lent and self.backend is not None:
            self.array = array = self.backend.multiply(array, 1)
            self.lent = False
        return array

    def put(self, array: Array) -> None:
        """Takes the new array, which belongs to it from now on."""
        self.array, self.lent = array, False
        self.version += 1


class Counter(Leaf):
    """A whole number that a step may raise, as a Python number or an array of one."""

    def __init__(self) -> None:
        super().__init__(0, None)

    @property
    def number(self) -> int:
        """The number; an array of a device is waited for."""
        if self.backend is None:
            return self.array
        return int(self.backend.to_numpy(self.array))

    @number.setter
    def number(self, value: int) -> None:
        self.array, self.backend = value, None
        self.version += 1

    def raise_by_one(self) -> Any:
        """Counts one more; the new number as it is kept."""
        backend = self.backend
        self.put(self.array + 1 if backend is None else backend.add(self.array, 1))
        return self.array

    def on(self, backend: Backend) -> Array:
        """The number as an array of a backend."""
        if self.backend is not backend:
            self.array = backend.asarray(np.asarray(self.number, _COUNT))
            self.backend = backend
        return self.array


def new_leaf(backend: Backend, make: Callable[[Backend], Array]) -> Leaf:
    """A leaf that a step needs for the first time.

    Args:
        backend: The backend of the step; while it is captured, that of the symbols.
        make: Gives the first array on a plain backend.

    Returns:
        The leaf; while a step is captured, known to the capture from now on.
    """
    admit = getattr(backend, "admit", None)
    if admit is None:
        return Leaf(make(backend), backend)
    target: Backend = getattr(backend, "target")  # noqa: B009  # a capture has one
    return admit(Leaf(make(target), target))


def frozen(value: Any) -> Any:
    """A plain value in a form that can be hashed: what equals it is the same program.

    Args:
        value: Numbers, names, functions, and lists, tuples, dicts and sets of them.

    Returns:
        Something hashable; what has no hash stands for itself alone.
    """
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return (dict, *((key, frozen(each)) for key, each in items))
    if isinstance(value, (list, tuple, set)):
        parts = cast("list[Any]", value)
        return (type(parts), *map(frozen, parts))
    try:
        hash(value)
    except TypeError:
        return _Itself(value)
    # 1, 1.0 and True are equal, and make different programs.
    return (type(value), value)


def hashable(values: list[Any]) -> Any:
    """Values as one tuple where that has a hash, else each in a form that has one."""
    plain = tuple(values)
    try:
        hash(plain)
    except TypeError:
        return frozen(values)
    return plain


class _Itself:
    """Stands for one object: equal to no other, and keeps it alive."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __hash__(self) -> int:
        return id(self.held)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Itself and other.held is self.held
