"""What a step is called with: what decides the program, the state, and the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._key import Key
from seqloom.errors import ArgumentError
from seqloom.tensor._compile._constants import kind_of
from seqloom.tensor._compile._key import SymbolKey
from seqloom.tensor._gradients import Gradients
from seqloom.tensor._leaves import HasLeaves, Leaf, frozen
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from seqloom.tensor._backend import Array, Backend


class Signature:
    """One call's arguments, taken apart.

    Attributes:
        leaves: The arrays that the step may write, each once.
        inputs: The arrays and numbers that it only reads.
        holders: The objects that hold the leaves.
        backend: What computes; None where no argument says it.
        decorated: Whether a tensor is on a backend over another one.
    """

    __slots__ = ("_seen", "backend", "decorated", "holders", "inputs", "key", "leaves")

    def __init__(self, arguments: Any) -> None:
        self.leaves: list[Leaf] = []
        self.inputs: list[Any] = []
        self.holders: list[Any] = []
        self.backend: Backend | None = None
        self.decorated = False
        self._seen: set[int] = set()  # the ids of the leaves
        static = self.take(arguments)
        # The backend itself: two of one name may differ in threads or in what they promise.
        self.key = (static, self.backend)

    def take(self, value: Any) -> Any:
        """Takes one argument apart; gives what of it decides the program."""
        kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
        return (_TAKERS.get(kind) or _taker(value))(self, value)

    def take_other(self, value: Any) -> Any:
        """A function, or something that cannot change."""
        if callable(value) or _is_frozen(value):
            return frozen(value)
        raise ArgumentError(
            f"a compiled step cannot take a {type(value).__name__}; it takes tensors, "
            "arrays, numbers, names, keys, modules, optimisers, and dicts, lists and "
            "tuples of them"
        )

    def take_derived(self, value: Any) -> Any:
        """A dict, list, tuple or array of a class derived from those."""
        kind = next(kind for kind in _KINDS if isinstance(value, kind))
        return (type(cast("Any", value)), _TAKERS[kind](self, value))

    def take_tensor(self, value: Tensor) -> Any:
        """Its shape and type."""
        self._see(value.backend)
        self.inputs.append(value)
        return (Tensor, value.shape, value.dtype)

    def take_array(self, value: Any) -> Any:
        """Its shape and type."""
        self.inputs.append(value)
        return (np.ndarray, value.shape, value.dtype)

    def take_input(self, value: Any) -> Any:
        """Only that it is one: its value is an input."""
        self.inputs.append(value)
        return cast("Any", type(value))

    def take_fraction(self, value: Any) -> Any:
        """Only that it is one: NumPy's fractions are as Python's, as they are eagerly."""
        self.inputs.append(float(value))
        return float

    def take_whole(self, value: Any) -> Any:
        """The value itself: NumPy's whole numbers and truths are as Python's."""
        return value.item()

    def take_static(self, value: Any) -> Any:
        """The value itself; True is not 1."""
        return (type(value), value)

    def take_dict(self, value: dict[Any, Any]) -> Any:
        """The keys in their order, and what is under them."""
        return (dict, *((key, self.take(each)) for key, each in value.items()))

    def take_list(self, value: Any) -> Any:
        """What is in it."""
        return (list, *map(self.take, value))

    def take_tuple(self, value: Any) -> Any:
        """What is in it."""
        return (tuple, *map(self.take, value))

    def take_gradients(self, value: Gradients) -> Any:
        """Of which parameters they are."""
        self._see(value.backend)
        arrays: list[Any] = [value.get(number) for number in value]
        self.inputs += [Tensor(each, value.backend) for each in arrays]
        return (Gradients, tuple(value), tuple((a.shape, str(a.dtype)) for a in arrays))

    def take_holder(self, value: HasLeaves) -> Any:
        """What its `leaves` says, and which leaves are shared."""
        static, leaves = value.leaves()
        self.holders.append(value)
        for leaf in leaves:
            if leaf.purpose == "optimiser":
                break  # its state follows the model
            if leaf.backend is not None:
                self._see(leaf.backend)
                break
        seen, before = self._seen, len(self._seen)
        seen.update(map(id, leaves))
        if len(seen) - before < len(leaves):
            return (static, self._places(leaves))
        self.leaves += leaves
        return static

    def _places(self, leaves: list[Leaf]) -> tuple[int, ...]:
        """Where leaves stand among all, some of which are known; new ones at the end."""
        places = {id(leaf): place for place, leaf in enumerate(self.leaves)}
        for leaf in leaves:
            if places.setdefault(id(leaf), len(self.leaves)) == len(self.leaves):
                self.leaves.append(leaf)
        return tuple(places[id(leaf)] for leaf in leaves)

    def _see(self, backend: Backend | None) -> None:
        """Notes the backend."""
        if backend is None or backend is self.backend:
            return
        if hasattr(backend, "inner"):
            self.decorated = True
        elif self.backend is not None and self.backend.name != backend.name:
            raise ArgumentError(
                f"the arguments of a step are on one backend; these are on {self.backend} "
                f"and on {backend}"
            )
        else:
            self.backend = backend


_TAKERS: dict[type, Callable[[Signature, Any], Any]] = {
    Tensor: Signature.take_tensor,
    np.ndarray: Signature.take_array,
    np.floating: Signature.take_fraction,
    np.integer: Signature.take_whole,
    np.bool_: Signature.take_whole,
    np.complexfloating: Signature.take_whole,
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
# Numbers of NumPy's that meet a tensor as Python's do: each value is another program.
_WHOLE = (np.integer, np.bool_, np.complexfloating)
_KINDS = (dict, list, tuple, np.ndarray, np.floating, *_WHOLE, np.generic)


def _taker(value: Any) -> Callable[[Signature, Any], Any]:
    """How values of a class that is met for the first time are taken apart."""
    if isinstance(value, HasLeaves):
        found = Signature.take_holder
    elif isinstance(value, _KINDS):
        found = Signature.take_derived
    else:
        found = Signature.take_other
    _TAKERS[type(cast("Any", value))] = found
    return found


def _is_frozen(value: Any) -> bool:
    """Whether a value cannot change: frozen dataclasses, enumerations, types, numbers."""
    parameters = getattr(value, "__dataclass_params__", None)
    return (
        parameters.frozen if parameters is not None else isinstance(value, (bytes, complex))
    )


def replaced(value: Any, given: Iterator[Any], backend: Backend) -> Any:
    """The arguments with the next of `given` for each input."""
    if isinstance(value, _WHOLE):
        return cast("Any", value)
    if isinstance(value, (Tensor, np.ndarray, np.generic, float, Key)):
        return next(given)
    if isinstance(value, Gradients):
        arrays: dict[int, Array] = {number: next(given).raw for number in value}
        return Gradients(arrays, backend)
    return _replaced_within(value, given, backend)


def _replaced_within(value: Any, given: Iterator[Any], backend: Backend) -> Any:
    """A container with replaced arguments in it; anything else as it is."""
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        made = {key: replaced(each, given, backend) for key, each in items}
        return kind_of(cast("Any", value))(made)
    if isinstance(value, (list, tuple)):
        parts = [replaced(each, given, backend) for each in cast("list[Any]", value)]
        return _like(cast("Any", value), parts)
    return value


def _like(value: Any, parts: list[Any]) -> Any:
    """A list or tuple of the same class with other parts; named tuples too."""
    kind = cast("Any", type(value))
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
