"""States: the arrays of an optimiser for each parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import ArgumentError, RecordError
from seqloom.nn._state import hold
from seqloom.record import Record
from seqloom.record._keys import change_array, list_renamed
from seqloom.tensor import Tensor
from seqloom.tensor._leaves import Leaf, assign_owners, copy_to, new_leaf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from seqloom.nn._stored import Param
    from seqloom.record._keys import KeyMap
    from seqloom.tensor._backend import Array, Backend

    # Makes the arrays of a parameter before its first update.
    Start = Callable[[Param, Backend], dict[str, Array]]


class States:
    """Arrays by path and name; the rule makes them at the first update of a parameter."""

    def __init__(self, *, is_full: bool = False) -> None:
        self._is_full = is_full  # whether floats of half precision are stored as float32
        self._leaves: dict[str, dict[str, Leaf]] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}  # parameters that the arrays fit
        self._flat: tuple[Any, list[Leaf]] | None = None  # computed on first use

    def of(self, param: Param, start: Start, backend: Backend) -> dict[str, Array]:
        """Returns the arrays of one parameter, for a writer."""
        found = self._leaves.get(param.path)
        if found is None:
            current = _make_leaves(param, start, backend)
        else:
            if self._shapes.get(param.path) != param.shape:
                _require_fit(param, found, start)
            dtype = to_full(param.dtype) if self._is_full else param.dtype
            current = {name: _move(leaf, backend, dtype) for name, leaf in found.items()}
        if found != current:
            self._leaves[param.path] = current
            self._flat = None
            assign_owners([(leaf, param) for leaf in current.values()])
        self._shapes[param.path] = param.shape
        return {name: leaf.make_writable() for name, leaf in current.items()}

    def check_again(self) -> None:
        """Makes the next step compare the arrays with those that the rule expects."""
        self._shapes = {}

    def claim(self, params: list[Param], model: list[Param]) -> None:
        """Refuses another model's parameters, and renamed ones that would begin at 0."""
        if self._leaves and any(param.path not in self._leaves for param in params):
            self._refuse_restart(params, model)
        pairs = ((self._leaves.get(param.path, {}), param) for param in params)
        assign_owners([(leaf, param) for state, param in pairs for leaf in state.values()])

    def follow(self) -> dict[str, str]:
        """Moves states to the present paths of their parameters; returns new by old."""
        owners = self._list_owners()
        if all(owner.path == path for path, owner in owners):
            return {}
        moved = {path: owner.path for path, owner in owners if owner.path != path}
        leaves = {moved.get(path, path): state for path, state in self._leaves.items()}
        if len(leaves) < len(self._leaves):
            raise ArgumentError(
                "the optimiser has states of two models' parameters at "
                f"{_list_some([*moved.values()])}; use one optimiser for each model"
            )
        self._leaves, self._shapes, self._flat = leaves, {}, None
        return moved

    def _list_owners(self) -> list[tuple[str, Any]]:
        """Lists the paths of states with the parameters that they have updated."""
        first = ((path, next(iter(it.values()), None)) for path, it in self._leaves.items())
        refs = ((path, leaf.owner) for path, leaf in first if leaf and leaf.owner)
        return [(path, owner) for path, it in refs if (owner := it()) is not None]

    def _refuse_restart(self, params: list[Param], model: list[Param]) -> None:
        """Refuses new states at 0 while older states have no parameter in the model."""
        known = {param.path for param in model}
        new = [param.path for param in params if param.path not in self._leaves]
        unused = [
            path
            for path, state in self._leaves.items()
            if state and path not in known and not any(map(_has_owner, state.values()))
        ]
        if new and unused:
            raise RecordError(
                f"the optimiser has states of {_list_some(unused)}, which are no "
                f"parameters of this model, and none of {_list_some(new)}, which would "
                "begin at 0; name the new paths: load_record(optimizer.to_record(), "
                'keys={"old": "new"}), or leave states out by keys={"old": None}'
            )

    def put(self, path: str, arrays: dict[str, Array]) -> None:
        """Sets the new arrays of one parameter."""
        for name, leaf in self._leaves[path].items():
            leaf.put(arrays[name])

    def find(self, path: str, name: str, like: Tensor) -> Tensor | None:
        """Returns an array of one parameter as a tensor; None if it was never updated."""
        if path not in self._leaves:
            return None
        array = copy_to(self._leaves[path][name], like.backend)
        return Tensor(array, like.backend).astype(like.dtype)

    def paths(self) -> list[str]:
        """Returns the paths of all parameters that were updated."""
        return list(self._leaves)

    def to_numpy(self) -> dict[str, Any]:
        """Returns arrays that the next step copies, by path and name joined with a dot."""
        return {
            f"{path}.{name}": _hold(f"{path}.{name}", leaf)
            for path, state in self._leaves.items()
            for name, leaf in state.items()
        }

    def load(
        self, record: Mapping[str, Any], names_of: Callable[[str], tuple[str, ...]]
    ) -> None:
        """Sets the arrays from a record; they move to a backend on first use."""
        found: dict[str, dict[str, Leaf]] = {}
        for full, array in record.items():
            path, _, name = full.rpartition(".")
            if name not in (names := names_of(path)):
                known = f"only has the states {', '.join(names)} of each parameter"
                raise RecordError(
                    f"the record has {full}, but this optimiser "
                    f"{known if names else 'keeps no states'}"
                )
            found.setdefault(path, {})[name] = Leaf(np.array(array), None)
        for path, state in found.items():
            if missing := [name for name in names_of(path) if name not in state]:
                raise RecordError(
                    f"the record lacks the optimiser's {missing[0]} of {path}"
                )
        self._leaves, self._shapes = found, {}
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


def rename_states(record: Mapping[str, Any], keys: KeyMap | None) -> Record:
    """Returns the record of states with other paths of parameters."""
    facts: dict[str, Any] = dict(getattr(record, "metadata", {}))
    if keys is None:
        return Record(dict(record), metadata=facts)
    paths = dict.fromkeys(name.rpartition(".")[0] for name in record)
    changes = {old: (new, change) for old, new, change in list_renamed(paths, keys)}
    arrays: dict[str, Any] = {}
    for name, array in record.items():
        path, _, state = name.rpartition(".")
        if path in changes:
            new, change = changes[path]
            found = array if change is None else change_array(name, array, change)
            arrays[f"{new}.{state}"] = found
    if isinstance(counts := facts.get("step_counts"), dict):
        found = cast("dict[str, Any]", counts)
        facts["step_counts"] = {
            changes[path][0]: count for path, count in found.items() if path in changes
        }
    return Record(arrays, metadata=facts)


def _has_owner(leaf: Leaf) -> bool:
    """Returns True if the parameter of a state still exists."""
    return leaf.owner is not None and leaf.owner() is not None


def _list_some(paths: list[str]) -> str:
    """Lists the first paths."""
    return ", ".join(paths[:4]) + (", ..." if paths[4:] else "")


def to_full(dtype: str) -> str:
    """Returns float32 for a dtype of half precision, and any other one as it is."""
    return "float32" if dtype in {"float16", "bfloat16"} else dtype


def _make_leaves(param: Param, start: Start, backend: Backend) -> dict[str, Leaf]:
    """Makes the arrays of a parameter that is updated for the first time."""
    target: Backend = getattr(backend, "target", backend)  # of a capture: the plain backend
    arrays = start(param, target)
    return {
        name: new_leaf(backend, lambda _, array=array: array)
        for name, array in arrays.items()
    }


def _move(leaf: Leaf, backend: Backend, dtype: str) -> Leaf:
    """Returns a leaf on the backend; floats get the dtype of their parameter."""
    kind = _kind_of(leaf)[1]
    wanted = dtype if kind.kind == "f" or str(kind) == "bfloat16" else str(kind)
    if leaf.backend is backend and kind == wanted:
        return leaf
    copy = new_leaf(backend, lambda plain: copy_to(leaf, plain, wanted))
    copy.owner = leaf.owner
    return copy


def _kind_of(leaf: Leaf) -> tuple[Any, Any]:
    """Returns the shape and the dtype of a leaf's array."""
    array = leaf.array
    dtype = array.dtype if leaf.backend is None else leaf.backend.dtype(array)
    return tuple(array.shape), dtype


def _hold(path: str, leaf: Leaf) -> Any:
    """Returns a leaf's array for a record, which cannot write it."""
    if leaf.backend is not None:
        return hold(path, leaf.share(), leaf.backend)
    view = leaf.array.view()  # a leaf without a backend is copied to one before it changes
    view.flags.writeable = False
    return view


def _require_fit(param: Param, found: dict[str, Leaf], start: Start) -> None:
    """Refuses states whose shape or values do not fit, such as those of another model."""
    expected = start(param, param.bound_backend)
    if expected.keys() != found.keys():
        raise RecordError(
            f"the settings need the states {', '.join(expected) or 'none'} of "
            f"{param.path}, but the optimiser has {', '.join(found) or 'none'}; add groups "
            "before the first step"
        )
    for name, leaf in found.items():
        shape, wanted = tuple(leaf.array.shape), tuple(expected[name].shape)
        if shape != wanted:
            raise RecordError(
                f"the optimiser's {name} of {param.path} has shape {shape}, expected "
                f"{wanted} for a parameter of {param.shape}"
            )
        if leaf.backend is None and (problem := param.misfit(leaf.array)):
            raise RecordError(f"the optimiser's {name} of {param.path} {problem}")
