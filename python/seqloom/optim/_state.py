"""States: the arrays of an optimiser for each parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import RecordError
from seqloom.tensor._leaves import Leaf, assign_owners, copy_to, new_leaf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqloom.nn._stored import Param
    from seqloom.tensor._backend import Array, Backend

    Shapes = Mapping[str, tuple[int, ...]]


class States:
    """Arrays by path and name; they are zeros at the first update of a parameter."""

    def __init__(self) -> None:
        self._leaves: dict[str, dict[str, Leaf]] = {}
        self._flat: tuple[Any, list[Leaf]] | None = None  # computed on first use

    def of(self, param: Param, shapes: Shapes, backend: Backend) -> dict[str, Array]:
        """Returns the arrays of one parameter, for a writer."""
        found = self._leaves.get(param.path)
        if found is None:
            current = {
                name: new_leaf(backend, lambda b, s=shape: b.zeros(s, dtype=param.dtype))
                for name, shape in shapes.items()
            }
        else:
            _require_fit(param, found, shapes)
            current = {
                name: _move(leaf, backend, param.dtype) for name, leaf in found.items()
            }
        if found != current:
            self._leaves[param.path] = current
            self._flat = None
            assign_owners([(leaf, param) for leaf in current.values()])
        return {name: leaf.make_writable() for name, leaf in current.items()}

    def claim(self, params: list[Param]) -> None:
        """Refuses another model's parameters, before anything is changed."""
        pairs = ((self._leaves.get(param.path, {}), param) for param in params)
        assign_owners([(leaf, param) for state, param in pairs for leaf in state.values()])

    def put(self, path: str, arrays: dict[str, Array]) -> None:
        """Sets the new arrays of one parameter."""
        for name, leaf in self._leaves[path].items():
            leaf.put(arrays[name])

    def paths(self) -> list[str]:
        """Returns the paths of all parameters that were updated."""
        return list(self._leaves)

    def to_numpy(self) -> dict[str, Any]:
        """Returns copies as NumPy arrays, by path and name joined with a dot."""
        return {
            f"{path}.{name}": np.array(_to_numpy(leaf))
            for path, state in self._leaves.items()
            for name, leaf in state.items()
        }

    def load(self, record: Mapping[str, Any], names: tuple[str, ...]) -> None:
        """Sets the arrays from a record; they move to a backend on first use."""
        found: dict[str, dict[str, Leaf]] = {}
        for full, array in record.items():
            path, _, name = full.rpartition(".")
            if name not in names:
                raise RecordError(
                    f"the record has {full}, but this optimiser only has the states "
                    f"{', '.join(names)} of each parameter"
                )
            found.setdefault(path, {})[name] = Leaf(np.array(array), None)
        for path, state in found.items():
            if missing := [name for name in names if name not in state]:
                raise RecordError(
                    f"the record lacks the optimiser's {missing[0]} of {path}"
                )
        self._leaves = found
        self._flat = None

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Returns paths, names and shapes, and the leaves in the same order."""
        if self._flat is None:  # every compiled step needs it
            self._flat = self._flatten()
        return self._flat

    def _flatten(self) -> tuple[Any, list[Leaf]]:
        """Lists shapes, dtypes and leaves, one parameter after the other."""
        kinds = tuple(
            (path, tuple((name, *_kind_of(leaf)) for name, leaf in state.items()))
            for path, state in self._leaves.items()
            if state  # without states, the first step changes nothing
        )
        rows = [leaf for state in self._leaves.values() for leaf in state.values()]
        return kinds, rows


def _move(leaf: Leaf, backend: Backend, dtype: str) -> Leaf:
    """Returns a leaf on the backend and of the dtype of its parameter."""
    if leaf.backend is backend and backend.dtype(leaf.array) == dtype:
        return leaf
    copy = new_leaf(backend, lambda plain: copy_to(leaf, plain, dtype))
    copy.owner = leaf.owner
    return copy


def _kind_of(leaf: Leaf) -> tuple[Any, Any]:
    """Returns the shape and the dtype of a leaf's array."""
    array = leaf.array
    dtype = array.dtype if leaf.backend is None else leaf.backend.dtype(array)
    return tuple(array.shape), dtype


def _to_numpy(leaf: Leaf) -> Any:
    """Returns a leaf's array as NumPy's."""
    return leaf.array if leaf.backend is None else leaf.backend.to_numpy(leaf.array)


def _require_fit(param: Param, found: dict[str, Leaf], shapes: Shapes) -> None:
    """Refuses states whose shape or values do not fit, such as those of another model."""
    for name, leaf in found.items():
        if tuple(leaf.array.shape) != shapes[name]:
            raise RecordError(
                f"the optimiser's {name} of {param.path} has shape "
                f"{tuple(leaf.array.shape)}, expected {shapes[name]} for a parameter of "
                f"{param.shape}"
            )
        if leaf.backend is None and (problem := param.misfit(leaf.array)):
            raise RecordError(f"the optimiser's {name} of {param.path} {problem}")
