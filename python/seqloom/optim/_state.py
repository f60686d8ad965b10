"""States: the arrays that an optimiser stores for each parameter, and its step counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import is_dict
from seqloom.errors import ArgumentError, RecordError
from seqloom.nn._state import to_record_array
from seqloom.record import Record
from seqloom.record._keys import list_renamed, transform_array
from seqloom.tensor import Tensor
from seqloom.tensor._leaves import (
    Counter,
    Leaf,
    copy_leaf_to,
    create_counter,
    create_leaf,
    record_owners,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from seqloom.nn._parameters import Param
    from seqloom.record._keys import KeyMap
    from seqloom.tensor import Gradients
    from seqloom.tensor._backend import Array, Backend

    # Creates the initial state arrays of a parameter.
    MakeState = Callable[[Param, Backend], dict[str, Array]]


class OptimizerStates:
    """State arrays by path and name, created at the first update of a parameter."""

    def __init__(self, *, is_full: bool = False) -> None:
        self._is_full = is_full  # if True, store half precision as float32
        self.counts = StepCounts()
        self._leaves: dict[str, dict[str, Leaf]] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}  # shapes of the checked parameters
        self._flat: tuple[Any, list[Leaf]] | None = None  # cached key and arrays

    def prepare(self, param: Param, start: MakeState, backend: Backend) -> dict[str, Array]:
        """Return the state arrays of one parameter, which the update may overwrite."""
        found = self._leaves.get(param.path)
        if found is None:
            target: Backend = getattr(
                backend, "target", backend
            )  # the backend that creates arrays while a step is captured
            current = {
                name: create_leaf(backend, lambda _, array=array: array)
                for name, array in start(param, target).items()
            }
        else:
            if self._shapes.get(param.path) != param.shape:
                _require_matching_state(param, found, start)
            dtype = widen_half(param.dtype) if self._is_full else param.dtype
            current = {
                name: _convert_leaf(leaf, backend, dtype) for name, leaf in found.items()
            }
        if found != current:
            self._leaves[param.path] = current
            self._flat = None
            record_owners([(leaf, param) for leaf in current.values()])
        self._shapes[param.path] = param.shape
        return {name: leaf.make_writable() for name, leaf in current.items()}

    def request_shape_check(self) -> None:
        """Make the next step check the shapes of all states again."""
        self._shapes = {}

    def set_owner_params(self, params: list[Param], model: list[Param]) -> None:
        """Record which parameters own the states; raise if another model owns them."""
        if self._leaves and any(param.path not in self._leaves for param in params):
            self._require_known_paths(params, model)
        pairs = ((self._leaves.get(param.path, {}), param) for param in params)
        record_owners([(leaf, param) for state, param in pairs for leaf in state.values()])

    def update_paths(self) -> None:
        """Store states and step counts under the current paths of their parameters."""
        moved: dict[str, str] = {}
        for path, state in self._leaves.items():
            leaf = next(iter(state.values()), None)
            owner = None if leaf is None else _find_owner(leaf)
            if owner is not None and owner.path != path:
                moved[path] = owner.path
        if not moved:
            return
        leaves = {moved.get(path, path): state for path, state in self._leaves.items()}
        if len(leaves) < len(self._leaves):
            raise ArgumentError(
                "this optimiser has states for two models that both have a parameter "
                f"{_join_paths([*moved.values()])}; use a separate optimiser for each model"
            )
        self._leaves, self._shapes, self._flat = leaves, {}, None
        self.counts.rename_paths(moved)

    def _require_known_paths(self, params: list[Param], model: list[Param]) -> None:
        """Raise if some parameters have no state while some states have no parameter."""
        known = {param.path for param in model}
        new = [param.path for param in params if param.path not in self._leaves]
        unused = [
            path
            for path, state in self._leaves.items()
            if state and path not in known and not any(map(_find_owner, state.values()))
        ]
        if new and unused:
            raise RecordError(
                f"the optimiser has states for {_join_paths(unused)}, but this model has "
                f"no such parameters; for {_join_paths(new)}, the states are missing and "
                "would start at 0. Map the paths: load_record(optimizer.to_record(), "
                'keys={"old": "new"}), or drop states with keys={"old": None}'
            )

    def set_arrays(self, path: str, arrays: dict[str, Array]) -> None:
        """Set the new state arrays of one parameter."""
        for name, leaf in self._leaves[path].items():
            leaf.put(arrays[name])

    def find_tensor(self, path: str, name: str, like: Tensor) -> Tensor | None:
        """Return a state of one parameter as a tensor; None before its first update."""
        if path not in self._leaves:
            return None
        array = copy_leaf_to(self._leaves[path][name], like.backend)
        return Tensor(array, like.backend).astype(like.dtype)

    def paths(self) -> list[str]:
        """Return the paths of all updated parameters."""
        return list(self._leaves)

    def to_record(self) -> Record:
        """Return a record of the state arrays and the step counts."""
        arrays = {
            f"{path}.{name}": _to_record_array(f"{path}.{name}", leaf)
            for path, state in self._leaves.items()
            for name, leaf in state.items()
        }
        return Record(arrays, metadata=self.counts.to_metadata())

    def load_record(
        self,
        record: Mapping[str, Any],
        keys: KeyMap | None,
        names_of: Callable[[str], tuple[str, ...]],
    ) -> None:
        """Load state arrays and step counts; arrays move to a backend on first use."""
        record = _rename_paths(record, keys)
        counts = StepCounts()
        counts.load(record.metadata)
        found: dict[str, dict[str, Leaf]] = {}
        for full, array in record.items():
            path, _, name = full.rpartition(".")
            if name not in (names := names_of(path)):
                known = f"has only {', '.join(names)} for each parameter"
                raise RecordError(
                    f"the record has the array {full}, but this optimiser "
                    f"{known if names else 'has no state arrays'}"
                )
            found.setdefault(path, {})[name] = Leaf(np.array(array), None)
        for path, state in found.items():
            if missing := [name for name in names_of(path) if name not in state]:
                raise RecordError(f"the record lacks the array {missing[0]} for {path}")
        self.counts, self._leaves, self._shapes, self._flat = counts, found, {}, None

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Return the cache key of the states for compiled steps, and all arrays."""
        if self._flat is None:  # cached for later compiled steps
            kinds = tuple(
                (path, tuple((name, *_describe_leaf(leaf)) for name, leaf in state.items()))
                for path, state in self._leaves.items()
                if state  # parameters without state do not change the key
            )
            rows = [leaf for state in self._leaves.values() for leaf in state.values()]
            self._flat = kinds, rows
        shared, counters = self.counts.leaves()
        return (self._flat[0], shared), [*counters, *self._flat[1]]


def pair_gradients(params: list[Param], grads: Gradients) -> list[tuple[Param, Array]]:
    """Return pairs of parameter and gradient; raise if the model has no gradients."""
    pairs = [(p, g) for p in params if (g := grads.get(p.id)) is not None]
    if not pairs:
        raise ArgumentError(
            "no gradient belongs to a parameter of this model; pass the model and the "
            "gradients of the same value_and_grad call"
        )
    return pairs


class StepCounts:
    """Step counts of the optimiser, and of parameters that some steps did not update."""

    # Parameters that were always updated together share a counter, so a step of the
    # whole model increments a single number.

    def __init__(self) -> None:
        self.total = Counter()
        self._fewer: dict[str, Counter] = {}  # all other parameters use `total`
        self._last: list[str] = []
        self._flat: tuple[Any, list[Leaf]] = ((), [self.total])

    def split(self, known: Iterable[str], updated: list[str], backend: Backend) -> None:
        """Split each counter if this step updates only some of its parameters."""
        if updated == self._last:
            return
        now, before = set(updated), set(known)
        new = now - before
        if new and (before or self.total.read_committed()):
            self._add_counter(new, 0, backend)
        groups: dict[Counter, set[str]] = {}
        for path in before:
            groups.setdefault(self.get_counter(path), set()).add(path)
        for counter, paths in groups.items():
            # From `total`, split off the parameters that this step does not update.
            # From any other counter, split off the parameters that this step updates.
            split = paths - now if counter is self.total else paths & now
            if split and (split != paths or counter is self.total):
                self._add_counter(split, counter.read_committed(), backend)
        self._last = list(updated)
        self._flatten()

    def get_next_steps(self, updated: list[str], backend: Backend) -> dict[Counter, Array]:
        """Return the number of this step for each counter; do not change the counters."""
        counters = dict.fromkeys([self.total, *map(self.get_counter, updated)])
        return {counter: counter.next(backend) for counter in counters}

    def rename_paths(self, moved: Mapping[str, str]) -> None:
        """Rename the paths of parameters in the counters."""
        self._fewer = {moved.get(path, path): it for path, it in self._fewer.items()}
        self._last = []
        self._flatten()

    def get_counter(self, path: str) -> Counter:
        """Return the counter of a parameter."""
        return self._fewer.get(path, self.total)

    def to_metadata(self) -> dict[str, Any]:
        """Return the step counts as metadata of a record."""
        fewer = {path: counter.number for path, counter in self._fewer.items()}
        facts: dict[str, Any] = {"step_count": self.total.number}
        return {**facts, "step_counts": fewer} if fewer else facts

    def load(self, facts: Mapping[str, Any]) -> None:
        """Load the step counts from the metadata of a record."""
        if "step_count" not in facts:
            raise RecordError(
                "the record is not an optimiser's: its metadata lacks step_count"
            )
        total: Any = facts["step_count"]
        fewer: Any = facts.get("step_counts", {})
        numbers: list[Any] = [total, *fewer.values()] if is_dict(fewer) else [None]
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise RecordError(
                "in an optimiser's record, step_count and the values of step_counts must "
                f"be integers from 0 up; got {str(total)[:60]} and {str(fewer)[:60]}"
            )
        self.total.number = total
        counters: dict[int, Counter] = {}
        self._fewer, self._last = {}, []
        for path, number in fewer.items():
            counter = self._fewer[path] = counters.setdefault(number, Counter())
            counter.number = number
        self._flatten()

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Return a cache key with each parameter's counter index, and the counters."""
        return self._flat

    def _add_counter(self, paths: set[str], number: int, backend: Backend) -> None:
        """Assign a new counter to some parameters."""
        counter = create_counter(backend, number)
        self._fewer |= dict.fromkeys(sorted(paths), counter)

    def _flatten(self) -> None:
        """Cache the list of counters, because every compiled step needs it."""
        counters = list(dict.fromkeys([self.total, *self._fewer.values()]))
        indices = tuple((path, counters.index(c)) for path, c in self._fewer.items())
        self._flat = indices, [*counters]


def _rename_paths(record: Mapping[str, Any], keys: KeyMap | None) -> Record:
    """Rename the parameter paths in a record of states."""
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
            found = array if change is None else transform_array(name, array, change)
            arrays[f"{new}.{state}"] = found
    if is_dict(counts := facts.get("step_counts")):
        facts["step_counts"] = {
            changes[path][0]: count for path, count in counts.items() if path in changes
        }
    return Record(arrays, metadata=facts)


def _find_owner(leaf: Leaf) -> Any:
    """Return the parameter of a state; None if it was deleted."""
    return None if leaf.owner is None else leaf.owner()


def _join_paths(paths: list[str]) -> str:
    """Return up to four paths as text for a message."""
    return ", ".join(paths[:4]) + (", ..." if paths[4:] else "")


def widen_half(dtype: str) -> str:
    """Return float32 for a half-precision dtype, and any other dtype unchanged."""
    return "float32" if dtype in {"float16", "bfloat16"} else dtype


def _convert_leaf(leaf: Leaf, backend: Backend, dtype: str) -> Leaf:
    """Return a state array on the backend; convert floats to the parameter's dtype."""
    kind = _describe_leaf(leaf)[1]
    wanted = dtype if kind.kind == "f" or str(kind) == "bfloat16" else str(kind)
    if leaf.backend is backend and kind == wanted:
        return leaf
    copy = create_leaf(backend, lambda plain: copy_leaf_to(leaf, plain, wanted))
    copy.owner = leaf.owner
    return copy


def _describe_leaf(leaf: Leaf) -> tuple[Any, Any]:
    """Return the shape and dtype of a state array."""
    array = leaf.array
    dtype = array.dtype if leaf.backend is None else leaf.backend.dtype(array)
    return tuple(array.shape), dtype


def _to_record_array(path: str, leaf: Leaf) -> Any:
    """Return a read-only state array for a record."""
    if leaf.backend is not None:
        return to_record_array(path, leaf.share(), leaf.backend)
    view = leaf.array.view()  # the next step does not overwrite this array
    view.flags.writeable = False
    return view


def _require_matching_state(param: Param, found: dict[str, Leaf], start: MakeState) -> None:
    """Raise if the state arrays have wrong names or shapes for a parameter."""
    expected = start(param, param.bound_backend)
    if expected.keys() != found.keys():
        raise RecordError(
            f"the settings need the state arrays {', '.join(expected) or 'none'} for the "
            f"parameter {param.path}, but the optimiser has {', '.join(found) or 'none'}; "
            "add groups before the first step"
        )
    for name, leaf in found.items():
        shape, wanted = tuple(leaf.array.shape), tuple(expected[name].shape)
        if shape != wanted:
            raise RecordError(
                f"the optimiser's {name} of {param.path} has shape {shape}, expected "
                f"{wanted} for a parameter of shape {param.shape}"
            )
        if leaf.backend is None and (problem := param.explain_misfit(leaf.array)):
            raise RecordError(f"the optimiser's {name} of {param.path} {problem}")
