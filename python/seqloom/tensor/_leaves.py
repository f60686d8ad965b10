"""Leaves: the arrays that a step reads before it computes and writes after.

An object with state has one method, ``leaves() -> (static, list of leaves)``: a hashable
value that decides which program a step is, and its arrays. Modules, optimisers and
schedules have it; `compile` calls it.
"""

from __future__ import annotations

from itertools import chain
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable
from weakref import ref

import numpy as np

from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._backend import Array, Backend

# The type of a number of steps; every backend has it, jax without jax_enable_x64 too.
_COUNT = "int32"
_PLAIN = frozenset({int, float, str, bool, type(None)})


@runtime_checkable
class HasLeaves(Protocol):
    """An object with arrays that a step may write."""

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Return a hashable value that decides the program, and the arrays."""
        ...


class Leaf:
    """One array that outlives a step."""

    # The purpose of its memory in the report of `seqloom.tensor.memory`.
    purpose = "optimiser"
    # The parameter that this is the state of, once it has updated that parameter.
    owner: ref[Any] | None = None

    def __init__(self, array: Array, backend: Backend | None) -> None:
        self.array: Array = array  # None until its first use makes it
        self.backend: Backend | None = backend  # None if it came from a record
        self.version = 0  # how often it was written
        self.is_shared = False  # whether a reader keeps the array: a writer copies it first

    def storage(self) -> Array:
        """Return the array, for a reader that finishes before the next write."""
        return self.array

    def share(self) -> Array:
        """Return the array, for a reader that keeps it: a writer copies it first."""
        self.is_shared = True
        return self.storage()

    def on(self, backend: Backend) -> Array:
        """Move the array to a backend if it is on another one, and return it."""
        if self.backend is not backend:
            self.array, self.backend = copy_to(self, backend), backend
        return self.storage()

    def make_writable(self) -> Array:
        """Return the array, for a writer: it has no other reader."""
        array = self.storage()
        if self.is_shared and self.backend is not None:
            self.array = array = copy_array(array, self.backend)
            self.is_shared = False
        return array

    def put(self, array: Array) -> None:
        """Replace the array by a new one, which has no other writer."""
        self.array, self.is_shared = array, False
        self.version += 1

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the owner: a copy is the state of copies of the parameters."""
        return {key: value for key, value in vars(self).items() if key != "owner"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle; in those of earlier versions `is_shared` was `lent`."""
        vars(self).update(state)
        vars(self).setdefault("is_shared", vars(self).pop("lent", False))


class Counter(Leaf):
    """An integer that a step may increase: a Python number, or an array of one."""

    def __init__(self) -> None:
        super().__init__(0, None)

    @property
    def number(self) -> int:
        """The number; waits until a device has computed it."""
        if self.backend is None:
            return self.array
        return int(self.backend.to_numpy(self.array))

    @number.setter
    def number(self, value: int) -> None:
        self.array, self.backend = value, None
        self.version += 1

    def read_committed(self) -> int:
        """Return the number outside of a captured step: new state begins with it."""
        own = vars(self)
        backend: Backend | None = own["backend"]
        return own["array"] if backend is None else int(backend.to_numpy(own["array"]))

    def next(self, backend: Backend, *, by: int = 1) -> Any:
        """Return a higher number, as a Python number or an array of this backend."""
        if self.backend is None or self.backend is not backend:
            return self.number + by
        return backend.add(self.array, by)

    def put(self, array: Array) -> None:
        """Replace the number by a Python number or an array."""
        if isinstance(array, int):
            self.backend = None
        super().put(array)

    def on(self, backend: Backend) -> Array:
        """Return the number as an array of a backend."""
        if self.backend is not backend:
            self.array = backend.asarray(np.asarray(self.number, _COUNT))
            self.backend = backend
        return self.array


def new_leaf(backend: Backend, make: Callable[[Backend], Array]) -> Leaf:
    """Make a leaf that a step needs for the first time; a capture learns of it."""
    admit = getattr(backend, "admit", None)
    if admit is None:
        return Leaf(make(backend), backend)
    target: Backend = getattr(backend, "target")  # noqa: B009  # a capture has one
    return admit(Leaf(make(target), target))


def assign_owners(pairs: list[tuple[Leaf, Any]]) -> None:
    """Note the parameter of each state; refuses parameters of a second model."""
    # A parameter that replaced another one in the same model takes over its state.
    owners = [(leaf, leaf.owner and leaf.owner(), param) for leaf, param in pairs]
    is_ours = any(owner is param for _, owner, param in owners)
    for leaf, owner, param in owners:
        if owner is not param and leaf.owner and not (is_ours and owner is None):
            raise ArgumentError(
                f"this optimiser has the state of another model's {param.path}; use one "
                "optimiser for each model, or make a new one and copy the state: "
                "new.load_record(optimizer.to_record())"
            )
    for leaf, owner, param in owners:
        if owner is not param:
            leaf.owner = ref(param)


def new_counter(backend: Backend, number: int) -> Counter:
    """Make a counter that a step needs for the first time; a capture learns of it."""
    counter = Counter()
    counter.number = number
    admit = getattr(backend, "admit", None)
    return counter if admit is None else admit(counter)


def copy_array(array: Array, backend: Backend) -> Array:
    """Copy an array on its backend; a compiled step knows the copy as one."""
    is_bool = backend.dtype(array).kind == "b"
    return backend.logical_or(array, array) if is_bool else backend.multiply(array, 1)


def copy_to(leaf: Leaf, backend: Backend, dtype: str | None = None) -> Array:
    """Copy a leaf's array to a plain backend, or to another element type."""
    own = vars(leaf)  # its state outside of any captured step
    source: Backend | None = own["backend"]
    array = own["array"] if source is None else source.to_numpy(own["array"])
    # Converted before it comes to a library that may lack its type.
    return backend.asarray(array.astype(dtype or array.dtype), copy=True)


def freeze(value: object) -> Any:
    """Make a hashable form of nested values: equal forms mean the same program."""
    # A value without a hash is equal to itself only; so is an object of a class that
    # defines equality in Python, whose attributes may differ from those of an equal one.
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return (dict, *((key, freeze(part)) for key, part in items))
    if isinstance(value, (list, tuple, set)):
        parts = cast("list[Any]", value)
        return (type(parts), *map(freeze, parts))
    # 1, 1.0 and True are equal, and make different programs.
    kind = cast("Any", type(value))
    return (kind, value) if _is_hashable(value, kind) else _Itself(value)


def _is_hashable(value: object, kind: Any) -> bool:
    """Return True for a value that stays equal to the same values."""
    if kind in _PLAIN or kind is FunctionType:
        return True
    try:
        hash(value)
    except TypeError:
        return False
    is_frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    return is_frozen or not isinstance(kind.__eq__, FunctionType)


def make_hashable(values: list[Any]) -> Any:
    """Return plain values as a tuple, and others in a form that has a hash."""
    tuples: list[tuple[Any, ...]] = [value for value in values if type(value) is tuple]
    kinds = {*map(type, values), *map(type, chain(*tuples))}  # each optimiser step is here
    return tuple(values) if kinds - {tuple} <= _PLAIN else freeze(values)


def identity_of(value: object) -> Any:
    """Make a value that is equal for this one object only, and keep it alive."""
    return _Itself(value)


class _Itself:
    """Represents one object: equal to no other, and keeps it alive."""

    __slots__ = ("target",)

    def __init__(self, target: Any) -> None:
        self.target = target

    def __hash__(self) -> int:
        return id(self.target)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Itself and other.target is self.target
