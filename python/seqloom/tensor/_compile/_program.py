"""`Program`, the compiled form of a step, and `Signature`, the form of its arguments."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from seqloom._key import Key
from seqloom._system import run_after_fork
from seqloom.errors import ArgumentError, SeqloomError
from seqloom.tensor._autocast import autocast_state
from seqloom.tensor._compile._symbol import SymbolKey
from seqloom.tensor._dispatch import translate_error
from seqloom.tensor._graph import OVERWRITES, flatten, map_values
from seqloom.tensor._leaves import HasLeaves, Leaf, record_owners, to_cache_key
from seqloom.tensor._tensor import Gradients, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._graph import Graph, Operation


# A function that builds a result from the output arrays and the arguments of one call.
Build = Callable[["Iterator[Array]", "Signature", "Backend"], Any]


class _HasLock(Protocol):
    """An object with a lock that is replaced in a forked process."""

    def renew_lock(self) -> None: ...


_leaf_locks: WeakKeyDictionary[Leaf, threading.Lock] = WeakKeyDictionary()
lock_holders: WeakSet[_HasLock] = WeakSet()


def _renew_locks() -> None:
    """Replace all locks: a lock held during a fork is never released in the child."""
    _leaf_locks.clear()
    for lockable in list(lock_holders):
        lockable.renew_lock()


run_after_fork(_renew_locks)


class Program:
    """Runs a graph on the state and inputs of a call, and returns the results."""

    def __init__(
        self,
        graph: Graph,  # State precedes the other inputs and outputs.
        run: Callable[..., Any],  # The graph, compiled by the backend.
        # Indices of the leaf tensors whose new arrays are the first outputs.
        written: list[int],
        build: Build,
        # Pairs of the index of an optimiser state and the index of its parameter.
        owned: list[tuple[int, int]],
    ) -> None:
        self.graph = graph
        self._run_operation = run
        self._written = written
        self._build = build
        self._owned = owned
        # True if the program was called since a program was last dropped from the
        # cache.
        self.called = False

    def __call__(self, signature: Signature) -> Any:
        """Run the graph on leaf tensors and inputs; update the leaf tensors."""
        self.called = True
        if not self._written:
            return self._run_step(signature)
        # Concurrent calls must not write the same leaf tensors.
        leaf = signature.leaves[self._written[0]]
        lock = _leaf_locks.get(leaf) or _leaf_locks.setdefault(leaf, threading.Lock())
        with lock:
            return self._run_step(signature)

    def _run_step(self, signature: Signature) -> Any:
        """Run the step; the caller prevents concurrent writes to the leaf tensors."""
        backend: Any = signature.backend
        leaves = signature.leaves
        for state, param in self._owned:
            owner = leaves[state].owner
            if owner is None or owner() is not leaves[param]:
                record_owners([(leaves[one], leaves[other]) for one, other in self._owned])
        for leaf in leaves:
            if leaf.is_shared or leaf.array is None or leaf.backend is not backend:
                self._prepare(leaves, backend)
                break
        arrays = [leaf.array for leaf in leaves]
        arrays += [to_array(value, backend) for value in signature.inputs]
        try:
            outputs = self._run_operation(arrays)
        except Exception as error:
            ours = explain_failure(error, self.graph, arrays, backend)
            if ours is error:
                raise
            raise ours from error
        for index, array in zip(self._written, outputs, strict=False):
            leaves[index].put(array)
        return self._build(iter(outputs[len(self._written) :]), signature, backend)

    def _prepare(self, leaves: list[Leaf], backend: Backend) -> None:
        """Move all leaf tensors to the backend; copy shared arrays that will be written."""
        for leaf in leaves:
            if leaf.array is None or leaf.backend is not backend:
                leaf.on(backend)
        for index in self._written:
            if leaves[index].is_shared:
                leaves[index].make_writable()


def to_array(value: object, backend: Backend) -> Array:
    """Convert an input of the step to an array; Python floats are returned unchanged."""
    if type(value) is Tensor:
        return value.raw
    if type(value) is float:
        return value
    if isinstance(value, Key):
        return backend.key_words(value)
    # The caller may change its array after the call has returned.
    return backend.asarray(value, copy=backend.defers or None)


def explain_failure(
    error: Exception, graph: Graph, arrays: Sequence[Array], backend: Backend
) -> SeqloomError:
    """Return a SeqloomError that names the failed operation and its line, if known."""
    if isinstance(error, (SeqloomError, MemoryError)) or backend.device != "cpu":
        return translate_error(error, "a compiled step", tuple(arrays), backend)
    known: dict[int, Array] = dict(graph.constants)
    known.update((v.number, x) for v, x in zip(graph.inputs, arrays, strict=True))
    for operation in graph.operations:
        if operation.name in OVERWRITES or operation.name == "scan":
            break  # the operation cannot be run again, or is a long loop
        if (found := _run_operation(operation, known, backend)) is not None:
            return found
    return translate_error(error, "a compiled step", tuple(arrays), backend)


def _run_operation(
    operation: Operation, known: dict[int, Array], backend: Backend
) -> SeqloomError | None:
    """Run an operation; return its error, or None after success."""
    args = map_values(operation.args, lambda value: known[value.number])
    try:
        result = getattr(backend, operation.name)(*args, **operation.options)
    except Exception as error:  # noqa: BLE001  # any error of the library
        ours = translate_error(error, operation.name, args, backend)
        return type(ours)(f"{operation.where}: {ours}")
    pairs = zip(operation.outputs, flatten(result), strict=True)
    known.update((value.number, array) for value, array in pairs)
    return None


class Signature:
    """The arguments of a call, divided into inputs, state and constants."""

    __slots__ = ("_seen", "backend", "decorated", "holders", "inputs", "key", "leaves")

    def __init__(self, arguments: Any) -> None:
        # Leaf tensors that are the state, without duplicates.
        self.leaves: list[Leaf] = []
        self.inputs: list[Any] = []  # Arrays and numbers that the step only reads.
        # The modules and optimisers that contain the leaf tensors.
        self.holders: list[Any] = []
        self.backend: Backend | None = None  # None if no argument has a backend.
        self.decorated = False  # True if a tensor is on a wrapper backend.
        self._seen: set[int] = set()  # Ids of the leaf tensors.
        static = self.take(arguments)
        # The backend itself is part of the key, because threads may have different
        # backends with one name.
        self.key = (static, self.backend, autocast_state.get())

    def take(self, value: Any) -> object:
        """Add one argument to inputs or state; return a key of its constant values."""
        kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
        return (_ARGUMENT_METHODS.get(kind) or _find_argument_method(value))(self, value)

    def take_other(self, value: Any) -> object:
        if callable(value) or _is_constant(value):
            return to_cache_key(value)
        raise ArgumentError(
            f"an argument of the compiled step is a {type(value).__name__}; pass tensors, "
            "arrays, numbers, strings, keys, modules, optimisers, or dicts, lists and "
            "tuples of these"
        )

    def take_derived(self, value: Any) -> object:
        """Return the class of a value and its key, if it is a subclass of a basic class."""
        kind = next(kind for kind in _BASE_TYPES if isinstance(value, kind))
        return (type(cast("object", value)), _ARGUMENT_METHODS[kind](self, value))

    def take_tensor(self, value: Tensor) -> object:
        """Add a tensor to the inputs; return its shape and dtype."""
        self._check_backend(value.backend)
        self.inputs.append(value)
        return (Tensor, value.shape, value.dtype)

    def take_array(self, value: Any) -> object:
        """Add an array to the inputs; return its shape and dtype."""
        self.inputs.append(value)
        return (np.ndarray, value.shape, value.dtype)

    def take_input(self, value: Any) -> object:
        """Add a value to the inputs; return its type."""
        self.inputs.append(value)
        return cast("Any", type(value))

    def take_float(self, value: Any) -> object:
        """Add a NumPy float to the inputs as a Python float, as in an uncompiled step."""
        self.inputs.append(float(value))
        return float

    def take_number(self, value: Any) -> object:
        """Return the value; NumPy integers and booleans are treated as Python numbers."""
        return value.item()

    def take_static(self, value: Any) -> object:
        """Return the value with its type, because True and 1 are equal."""
        return (type(cast("object", value)), value)

    def take_dict(self, value: dict[Any, Any]) -> object:
        """Return a key that contains the keys of a dict, in order, and of its values."""
        return (dict, *((key, self.take(part)) for key, part in value.items()))

    def take_list(self, value: Any) -> object:
        """Return a key that contains a key for each item of a list."""
        return (list, *map(self.take, value))

    def take_tuple(self, value: Any) -> object:
        """Return a key that contains a key for each item of a tuple."""
        return (tuple, *map(self.take, value))

    def take_gradients(self, value: Gradients) -> object:
        """Add gradients to the inputs; return their parameters, shapes and dtypes."""
        self._check_backend(value.backend)
        arrays: list[Any] = [value.get(number) for number in value]
        self.inputs += [Tensor(array, value.backend) for array in arrays]
        return (Gradients, tuple(value), tuple((a.shape, str(a.dtype)) for a in arrays))

    def take_holder(self, value: HasLeaves) -> object:
        """Add the leaf tensors of a module or optimiser; return a key of its constants."""
        static, leaves = value.leaves()
        self.holders.append(value)
        for leaf in leaves:
            if leaf.purpose == "optimiser":
                break  # Optimiser state moves to the model's backend.
            if leaf.backend is not None:
                self._check_backend(leaf.backend)
                break
        seen, before = self._seen, len(self._seen)
        seen.update(map(id, leaves))
        if len(seen) - before < len(leaves):
            indices = {id(leaf): index for index, leaf in enumerate(self.leaves)}
            for leaf in leaves:
                if indices.setdefault(id(leaf), len(self.leaves)) == len(self.leaves):
                    self.leaves.append(leaf)
            return (static, tuple(indices[id(leaf)] for leaf in leaves))
        self.leaves += leaves
        return static

    def _check_backend(self, backend: Backend | None) -> None:
        """Record the backend of an argument; raise if the backends differ."""
        if backend is None or backend is self.backend:
            return
        if hasattr(backend, "inner"):
            self.decorated = True
        elif self.backend is not None and self.backend.name != backend.name:
            raise ArgumentError(
                f"the arguments of the compiled step are on {self.backend} and on "
                f"{backend}; move all of them to one backend"
            )
        else:
            self.backend = backend


_ARGUMENT_METHODS: dict[type, Callable[[Signature, Any], object]] = {
    Tensor: Signature.take_tensor,
    np.ndarray: Signature.take_array,
    np.floating: Signature.take_float,
    np.integer: Signature.take_number,
    np.bool_: Signature.take_number,
    np.complexfloating: Signature.take_number,
    np.generic: Signature.take_array,
    float: Signature.take_input,
    Key: Signature.take_input,
    SymbolKey: Signature.take_input,
    int: Signature.take_static,
    bool: Signature.take_static,
    str: Signature.take_static,
    type(None): Signature.take_static,
    dict: Signature.take_dict,
    list: Signature.take_list,
    tuple: Signature.take_tuple,
    Gradients: Signature.take_gradients,
}
# NumPy scalars that are treated as Python numbers: each value causes a new compilation.
_CONST_NUMBERS = (np.integer, np.bool_, np.complexfloating)
_BASE_TYPES = (dict, list, tuple, np.ndarray, np.floating, *_CONST_NUMBERS, np.generic)


def _find_argument_method(value: object) -> Callable[[Signature, Any], object]:
    """Find the method for arguments of a new class, and cache the method."""
    if isinstance(value, HasLeaves):
        found = Signature.take_holder
    elif isinstance(value, _BASE_TYPES):
        found = Signature.take_derived
    else:
        found = Signature.take_other
    _ARGUMENT_METHODS[type(cast("Any", value))] = found
    return found


def _is_constant(value: object) -> bool:
    """Return True for frozen dataclasses, bytes and complex numbers."""
    parameters = getattr(value, "__dataclass_params__", None)
    return (
        parameters.frozen if parameters is not None else isinstance(value, (bytes, complex))
    )


def replace_inputs(value: object, symbols: Iterator[Any], backend: Backend) -> Any:
    """Return the arguments with each input replaced by the next symbol."""
    if isinstance(value, _CONST_NUMBERS):
        return cast("Any", value)
    if isinstance(value, (Tensor, np.ndarray, np.generic, float, Key)):
        return next(symbols)
    if isinstance(value, Gradients):
        arrays: dict[int, Array] = {number: next(symbols).raw for number in value}
        return Gradients(arrays, backend)
    return _replace_nested_inputs(value, symbols, backend)


def _replace_nested_inputs(value: Any, symbols: Iterator[Any], backend: Backend) -> Any:
    """Replace the inputs in a container; return other values unchanged."""
    kind = cast("Any", type(value))
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        parts = {key: replace_inputs(part, symbols, backend) for key, part in items}
        return make_dict_builder(cast("dict[Any, Any]", value))(parts)
    if isinstance(value, (list, tuple)):
        items = cast("list[Any]", value)
        made = [replace_inputs(part, symbols, backend) for part in items]
        # The constructor of a named tuple takes the items as separate arguments.
        return kind(*made) if hasattr(kind, "_fields") else kind(made)
    return value


def make_dict_builder(value: dict[Any, Any]) -> Callable[[Any], dict[Any, Any]]:
    """Return a function that creates a dict of the same class from items."""
    if isinstance(value, defaultdict):
        make: Any = partial(cast("Any", defaultdict), value.default_factory)
        return make
    return OrderedDict if isinstance(value, OrderedDict) else dict
