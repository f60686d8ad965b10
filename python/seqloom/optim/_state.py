"""The states of an optimiser: some arrays for each parameter, by its path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import RecordError
from seqloom.tensor._leaves import Leaf, moved, new_leaf, serve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqloom.nn._stored import Param
    from seqloom.tensor._backend import Array, Backend

    Shapes = Mapping[str, tuple[int, ...]]


class States:
    """Arrays by path and name, made as zeros when a parameter first moves.

    Examples:
        >>> States().to_numpy()
        {}
    """

    def __init__(self) -> None:
        self._leaves: dict[str, dict[str, Leaf]] = {}
        self._flat: tuple[Any, list[Leaf]] | None = None  # until somebody asks

    def of(self, param: Param, shapes: Shapes, backend: Backend) -> dict[str, Array]:
        """The arrays of one parameter, for a writer."""
        found = self._leaves.get(param.path)
        if found is None:
            fitting = {
                name: new_leaf(backend, lambda b, s=shape: b.zeros(s, dtype=param.dtype))
                for name, shape in shapes.items()
            }
        else:
            _check(param, found, shapes)
            fitting = {
                name: _fitting(leaf, backend, param.dtype) for name, leaf in found.items()
            }
        if found != fitting:
            self._leaves[param.path] = fitting
            self._flat = None
            serve([(leaf, param) for leaf in fitting.values()])
        return {name: leaf.own() for name, leaf in fitting.items()}

    def claim(self, params: list[Param]) -> None:
        """Refuses another model's parameters, before anything is changed."""
        held = ((self._leaves.get(param.path, {}), param) for param in params)
        serve([(leaf, param) for state, param in held for leaf in state.values()])

    def put(self, path: str, arrays: dict[str, Array]) -> None:
        """Takes the new arrays of one parameter."""
        for name, leaf in self._leaves[path].items():
            leaf.put(arrays[name])

    def paths(self) -> list[str]:
        """The paths of all parameters that moved."""
        return list(self._leaves)

    def to_numpy(self) -> dict[str, Any]:
        """Copies as NumPy arrays, by path and name in one."""
        return {
            f"{path}.{name}": np.array(_values(leaf))
            for path, state in self._leaves.items()
            for name, leaf in state.items()
        }

    def take(self, record: Mapping[str, Any], names: tuple[str, ...]) -> None:
        """Takes up the arrays of a record; they move to a backend when they are used."""
        found: dict[str, dict[str, Leaf]] = {}
        for full, each in record.items():
            path, _, name = full.rpartition(".")
            if name not in names:
                raise RecordError(
                    f"this optimiser keeps {', '.join(names)}, the record has {full}"
                )
            found.setdefault(path, {})[name] = Leaf(np.array(each), None)
        for path, state in found.items():
            if missing := [name for name in names if name not in state]:
                raise RecordError(f"the optimiser's {missing[0]} of {path} is missing")
        self._leaves = found
        self._flat = None

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Paths, names and shapes, and the leaves in their order."""
        if self._flat is None:  # a step asks each time
            self._flat = self._in_a_row()
        return self._flat

    def _in_a_row(self) -> tuple[Any, list[Leaf]]:
        """Lists kinds and leaves, parameter after parameter."""
        kinds = tuple(
            (path, tuple((name, *_kind(leaf)) for name, leaf in state.items()))
            for path, state in self._leaves.items()
            if state  # of a rule without any, a first step changes nothing
        )
        rows = [leaf for state in self._leaves.values() for leaf in state.values()]
        return kinds, rows


def _fitting(leaf: Leaf, backend: Backend, dtype: str) -> Leaf:
    """A leaf where its parameter is, of its type; another one where it was elsewhere."""
    if leaf.backend is backend and backend.dtype(leaf.array) == dtype:
        return leaf
    found = new_leaf(backend, lambda plain: moved(leaf, plain, dtype))
    found.owner = leaf.owner
    return found


def _kind(leaf: Leaf) -> tuple[Any, Any]:
    """The shape and the element type of a leaf's array."""
    array = leaf.array
    dtype = array.dtype if leaf.backend is None else leaf.backend.dtype(array)
    return tuple(array.shape), dtype


def _values(leaf: Leaf) -> Any:
    """A leaf's numbers as NumPy's."""
    return leaf.array if leaf.backend is None else leaf.backend.to_numpy(leaf.array)


def _check(param: Param, found: dict[str, Leaf], shapes: Shapes) -> None:
    """Refuses a state of another shape: a record of another model."""
    for name, leaf in found.items():
        if tuple(leaf.array.shape) != shapes[name]:
            raise RecordError(
                f"the optimiser's {name} of {param.path} has shape "
                f"{tuple(leaf.array.shape)}, expected {shapes[name]} for a parameter of "
                f"{param.shape}"
            )
        if leaf.backend is None and (problem := param.misfit(leaf.array)):
            raise RecordError(f"the optimiser's {name} of {param.path} {problem}")
