"""Puts together what a step returns: a nesting of tensors, objects and constants."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._key import Key
from seqloom.errors import CaptureError
from seqloom.tensor._compile._signature import dict_maker
from seqloom.tensor._compile._symbol import Symbol, SymbolKey
from seqloom.tensor._leaves import HasLeaves
from seqloom.tensor._tensor import Gradients, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._compile._signature import Signature

# Builds a result from the arrays of one call and the arguments of that call.
Build = Callable[["Iterator[Array]", "Signature", "Backend"], Any]

_IMMUTABLE = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, type),
    *(np.generic, np.dtype, Enum, Key),
)


class Results:
    """Knows how to put the results of a step together from the program's outputs."""

    def __init__(self, holders: list[Any]) -> None:
        self._holders = holders  # the stateful objects among the arguments
        self.raws: list[Any] = []  # the symbols that become outputs of the program

    def plan(self, value: Any) -> Build:
        """Collects the symbols of a result; returns what builds the like from arrays."""
        makers: list[tuple[Any, Callable[[Any], Build]]] = [
            (Tensor, self._plan_tensor),
            (SymbolKey, self._plan_key),
            (Gradients, self._plan_gradients),
            (HasLeaves, self._plan_holder),
            ((dict, list, tuple), self._plan_container),
        ]
        for kind, make in makers:
            if isinstance(value, kind):
                return make(value)
        return _plan_constant(value)

    def _plan_tensor(self, value: Tensor) -> Build:
        """A tensor; a Python number of the call stays one."""
        raw = value.raw
        while hasattr(raw, "node"):  # recorded for a gradient
            raw = raw.value
        self.raws.append(raw)
        if isinstance(raw, Symbol) and raw.value.weak:
            return lambda arrays, _signature, _backend: float(next(arrays))
        # `keep`: the memory scope of the call does not release a result.
        return lambda arrays, _signature, backend: Tensor(next(arrays), backend).keep()

    def _plan_key(self, value: SymbolKey) -> Build:
        """A random key."""
        self.raws.append(value.symbol)
        return _build_key

    def _plan_holder(self, value: HasLeaves) -> Build:
        """A module or optimiser: the one in the same position among the arguments."""
        index = self._find_holder(value)
        return lambda _arrays, signature, _backend: signature.holders[index]

    def _plan_container(self, value: Any) -> Build:
        """A dict, list or tuple of results."""
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value).items()
            named = {key: self.plan(part) for key, part in items}
            make_dict = dict_maker(cast("dict[Any, Any]", value))
            return lambda arrays, signature, backend: make_dict(
                {key: build(arrays, signature, backend) for key, build in named.items()}
            )
        builds = [self.plan(part) for part in value]
        kind = cast("Any", type(value))
        make: Callable[[list[Any]], Any] = getattr(kind, "_make", kind)
        return lambda arrays, signature, backend: make(
            [build(arrays, signature, backend) for build in builds]
        )

    def _plan_gradients(self, value: Gradients) -> Build:
        """Gradients by the parameters of the call, which may be another instance's."""
        self.raws += [value.get(number) for number in value]
        known = self._find_leaf_indices()
        # A parameter that is no argument of the step keeps its id.
        indices = [(known.get(number, number), number in known) for number in value]

        def build(arrays: Iterator[Array], signature: Signature, backend: Backend) -> Any:
            leaves: list[Any] = signature.leaves
            numbers = [leaves[index].id if found else index for index, found in indices]
            return Gradients({number: next(arrays) for number in numbers}, backend)

        return build

    def _find_leaf_indices(self) -> dict[int, int]:
        """Returns the index of each leaf by its id."""
        leaves = [leaf for holder in self._holders for leaf in holder.leaves()[1]]
        unique = {id(leaf): leaf for leaf in leaves}.values()
        return {leaf.id: index for index, leaf in enumerate(unique) if hasattr(leaf, "id")}

    def _find_holder(self, value: object) -> int:
        """Returns the index of a module or optimiser among the arguments."""
        for index, holder in enumerate(self._holders):
            if holder is value:
                return index
        raise CaptureError(
            f"the compiled step returned a {type(value).__name__} that is not among its "
            "arguments; return tensors, and modules and optimisers that the step was passed"
        )


def _build_key(arrays: Iterator[Array], _signature: Signature, backend: Backend) -> Key:
    """Makes a key of its words."""
    return Key.from_json([int(word) for word in backend.to_numpy(next(arrays))])


def _plan_constant(value: object) -> Build:
    """A result that is the same at every call; an array is copied at each."""
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        return lambda _arrays, _signature, _backend: array.copy()
    if not _is_immutable(value):
        raise CaptureError(
            f"the compiled step returned a {type(value).__name__}; return tensors, "
            "numbers, strings, keys, the modules and optimisers among the arguments, or "
            "dicts, lists and tuples of these"
        )
    return lambda _arrays, _signature, _backend: value


def _is_immutable(value: object) -> bool:
    """Returns True if a value cannot change, and holds no value that can."""
    if not isinstance(value, type) and dataclasses.is_dataclass(value):
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
        return _is_frozen(value) and all(map(_is_immutable, parts))
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_immutable, cast("Iterable[Any]", value)))
    return isinstance(value, _IMMUTABLE)


def _is_frozen(value: Any) -> bool:
    """Returns True for a frozen dataclass."""
    return value.__dataclass_params__.frozen
