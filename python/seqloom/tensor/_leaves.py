"""Leaves: the arrays that a step reads before and writes after it.

What holds state says so by one method, ``leaves() -> (static, list of leaves)``: what of it
decides which program a step is, hashable, and its arrays. Modules, optimisers and schedules
have it; `compile` and the scopes ask for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable
from weakref import ref

import numpy as np

from seqloom.errors import ArgumentError

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
    # The parameter whose state it is, once it has moved that.
    owner: ref[Any] | None = None

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
        """The array as one of a backend, to which it goes where it is on another."""
        if self.backend is not backend:
            self.array, self.backend = moved(self, backend), backend
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

    def __getstate__(self) -> dict[str, Any]:
        """A copy serves copies of the parameters."""
        return {key: value for key, value in vars(self).items() if key != "owner"}


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

    def settled(self) -> int:
        """The number outside of any step that is captured: what new state begins with."""
        own = vars(self)
        backend: Backend | None = own["backend"]
        return own["array"] if backend is None else int(backend.to_numpy(own["array"]))

    def next(self, backend: Backend) -> Any:
        """One more: a Python number, or an array where it is one of this backend."""
        if self.backend is None or self.backend is not backend:
            return self.number + 1
        return backend.add(self.array, 1)

    def put(self, array: Array) -> None:
        """Takes the new number, whichever of both it is."""
        if isinstance(array, int):
            self.backend = None
        super().put(array)

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


def serve(pairs: list[tuple[Leaf, Any]]) -> None:
    """Notes whose state each leaf is; a second model's parameters are refused.

    A parameter that was put in another's place in the same model takes its state over.

    Args:
        pairs: States, each with the parameter that it shall move.

    Raises:
        ArgumentError: They are the state of another model.
    """
    owners = [(leaf, leaf.owner and leaf.owner(), param) for leaf, param in pairs]
    is_ours = any(owner is param for _, owner, param in owners)
    for leaf, owner, param in owners:
        if owner is not param and leaf.owner and not (is_ours and owner is None):
            raise ArgumentError(
                f"this optimiser keeps the state of another model's {param.path}; an "
                "optimiser belongs to one model: make one for each, or a new one that "
                "takes the state over by load_record(optimizer.to_record())"
            )
    for leaf, owner, param in owners:
        if owner is not param:
            leaf.owner = ref(param)


def new_counter(backend: Backend, number: int) -> Counter:
    """A counter that a step needs from now on.

    Args:
        backend: The backend of the step; while it is captured, that of the symbols.
        number: Where it begins.

    Returns:
        The counter; while a step is captured, known to the capture from now on.
    """
    counter = Counter()
    counter.number = number
    admit = getattr(backend, "admit", None)
    return counter if admit is None else admit(counter)


def moved(leaf: Leaf, backend: Backend, dtype: str | None = None) -> Array:
    """A copy of a leaf's own array on another backend, or of another element type.

    Args:
        leaf: The leaf, whose array outside of any capture is meant.
        backend: A plain backend.
        dtype: The name of the element type; default: as it is.

    Returns:
        An array of `backend`.
    """
    own = vars(leaf)
    source: Backend | None = own["backend"]
    array = own["array"] if source is None else source.to_numpy(own["array"])
    # Converted before it comes to a library that may lack its type.
    return backend.asarray(array.astype(dtype or array.dtype), copy=True)


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


def itself(value: Any) -> Any:
    """What equals this one object alone, and keeps it alive."""
    return _Itself(value)


class _Itself:
    """Stands for one object: equal to no other, and keeps it alive."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __hash__(self) -> int:
        return id(self.held)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Itself and other.held is self.held
