"""Leaves: arrays of state that a step reads at its start and writes at its end.

Modules, optimisers and schedules have a method ``leaves() -> (static, list of
leaves)``. `compile` calls this method. The hashable value `static` is a cache key of
the compiled program, which reads and writes the leaves.
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

# The dtype of step counts. Every backend supports this dtype, even JAX without
# jax_enable_x64.
_COUNT_DTYPE = "int32"
_SIMPLE_TYPES = frozenset({int, float, str, bool, type(None)})


@runtime_checkable
class HasLeaves(Protocol):
    """An object with arrays that a step may change."""

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Return a cache key for compiled programs, and the leaves."""
        ...


class Leaf:
    """One array of state that is kept between steps."""

    # Purpose of the memory, for the report of `seqloom.tensor.memory`.
    purpose = "optimiser"
    # The parameter to which this state belongs, set at its first update.
    owner: ref[Any] | None = None

    def __init__(self, array: Array, backend: Backend | None) -> None:
        self.array: Array = array  # None until the first use
        self.backend: Backend | None = backend  # None if the leaf was loaded from a record
        self.version = 0  # number of writes
        self.is_shared = False  # True if the array may not be overwritten

    def storage(self) -> Array:
        """Return the array, which must not be used after the next write."""
        return self.array

    def share(self) -> Array:
        """Return the array, which never changes, because the next write makes a copy."""
        self.is_shared = True
        return self.storage()

    def on(self, backend: Backend) -> Array:
        """Copy the array to a backend if necessary, and return the array."""
        if self.backend is not backend:
            self.array, self.backend = copy_leaf_to(self, backend), backend
        return self.storage()

    def make_writable(self) -> Array:
        """Return an array that may be overwritten: a copy if the array is shared."""
        array = self.storage()
        if self.is_shared and self.backend is not None:
            self.array = array = copy_array(array, self.backend)
            self.is_shared = False
        return array

    def put(self, array: Array) -> None:
        """Replace the array with a new one that is not shared."""
        self.array, self.is_shared = array, False
        self.version += 1

    def __getstate__(self) -> dict[str, Any]:
        """Omit the owner, because a copied state belongs to copied parameters."""
        return {key: value for key, value in vars(self).items() if key != "owner"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle; in old pickles, the attribute `is_shared` is called `lent`."""
        vars(self).update(state)
        vars(self).setdefault("is_shared", vars(self).pop("lent", False))


class Counter(Leaf):
    """Step count, stored as a Python number or as a scalar array."""

    def __init__(self) -> None:
        super().__init__(0, None)

    @property
    def number(self) -> int:
        """The step count; wait until the device has computed the count."""
        if self.backend is None:
            return self.array
        return int(self.backend.to_numpy(self.array))

    @number.setter
    def number(self, value: int) -> None:
        self.array, self.backend = value, None
        self.version += 1

    def read_committed(self) -> int:
        """Return the step count; during a capture, the count before the captured step."""
        own = vars(self)
        backend: Backend | None = own["backend"]
        return own["array"] if backend is None else int(backend.to_numpy(own["array"]))

    def next(self, backend: Backend, *, by: int = 1) -> Any:
        """Return the number plus `by`, as a Python number or an array of this backend."""
        if self.backend is None or self.backend is not backend:
            return self.number + by
        return backend.add(self.array, by)

    def put(self, array: Array) -> None:
        """Replace the number with a Python number or an array."""
        if isinstance(array, int):
            self.backend = None
        super().put(array)

    def on(self, backend: Backend) -> Array:
        """Return the number as an array of a backend."""
        if self.backend is not backend:
            self.array = backend.asarray(np.asarray(self.number, _COUNT_DTYPE))
            self.backend = backend
        return self.array


def create_leaf(backend: Backend, make: Callable[[Backend], Array]) -> Leaf:
    """Create a leaf during a step, and report the leaf to a running capture."""
    add_leaf = getattr(backend, "add_leaf", None)
    if add_leaf is None:
        return Leaf(make(backend), backend)
    target: Backend = getattr(backend, "target")  # noqa: B009  # only captures have this attribute
    return add_leaf(Leaf(make(target), target))


def record_owners(pairs: list[tuple[Leaf, Any]]) -> None:
    """Record the parameter of each state; raise if a state belongs to another model."""
    # A parameter that replaces another parameter of the same model inherits its state.
    owners = [(leaf, leaf.owner and leaf.owner(), param) for leaf, param in pairs]
    is_ours = any(owner is param for _, owner, param in owners)
    for leaf, owner, param in owners:
        if owner is not param and leaf.owner and not (is_ours and owner is None):
            raise ArgumentError(
                f"this optimiser has the state of another model's {param.path}. Use one "
                "optimiser for each model, or create a new one and copy the state with "
                "new.load_record(optimizer.to_record())"
            )
    for leaf, owner, param in owners:
        if owner is not param:
            leaf.owner = ref(param)


def create_counter(backend: Backend, number: int) -> Counter:
    """Create a counter during a step, and report the counter to a running capture."""
    counter = Counter()
    counter.number = number
    add_leaf = getattr(backend, "add_leaf", None)
    return counter if add_leaf is None else add_leaf(counter)


def copy_array(array: Array, backend: Backend) -> Array:
    """Copy an array with a backend operation, which captured steps can contain."""
    is_bool = backend.dtype(array).kind == "b"
    return backend.logical_or(array, array) if is_bool else backend.multiply(array, 1)


def copy_leaf_to(leaf: Leaf, backend: Backend, dtype: str | None = None) -> Array:
    """Copy the array of a leaf to a backend, optionally with a new dtype."""
    own = vars(leaf)  # the stored values, without the symbols of a capture
    source: Backend | None = own["backend"]
    array = own["array"] if source is None else source.to_numpy(own["array"])
    # Convert in NumPy, because the target library may not support the old dtype.
    return backend.asarray(array.astype(dtype or array.dtype), copy=True)


def to_cache_key(value: object) -> Any:
    """Convert nested values to a hashable cache key for compiled programs."""
    # A value without a hash matches only itself. A value whose class defines equality
    # in Python also matches only itself, because equal objects may have different
    # attributes.
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return (dict, *((key, to_cache_key(part)) for key, part in items))
    if isinstance(value, (list, tuple, set)):
        parts = cast("list[Any]", value)
        return (type(parts), *map(to_cache_key, parts))
    # 1, 1.0 and True are equal, but each needs a different compiled program.
    kind = cast("Any", type(value))
    return (kind, value) if _is_hashable(value, kind) else _Identity(value)


def _is_hashable(value: object, kind: Any) -> bool:
    """Return whether a value can be part of a cache key."""
    if kind in _SIMPLE_TYPES or kind is FunctionType:
        return True
    try:
        hash(value)
    except TypeError:
        return False
    is_frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    return is_frozen or not isinstance(kind.__eq__, FunctionType)


def make_hashable(values: list[Any]) -> Any:
    """Convert a list of values to a hashable cache key."""
    tuples: list[tuple[Any, ...]] = [value for value in values if type(value) is tuple]
    kinds = {*map(type, values), *map(type, chain(*tuples))}  # runs in each optimiser step
    return tuple(values) if kinds - {tuple} <= _SIMPLE_TYPES else to_cache_key(values)


def make_identity(value: object) -> Any:
    """Return a cache key that identifies this object and keeps the object alive."""
    return _Identity(value)


class _Identity:
    """Cache key of one object: equal only to itself; keeps the object alive."""

    __slots__ = ("target",)

    def __init__(self, target: Any) -> None:
        self.target = target

    def __hash__(self) -> int:
        return id(self.target)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Identity and other.target is self.target
