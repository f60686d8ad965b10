"""Captures a step: creates a program from the step and the arguments of one call."""

from __future__ import annotations

import dataclasses
from contextlib import contextmanager
from enum import Enum
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._key import Key
from seqloom.errors import CaptureError, SeqloomError
from seqloom.tensor._compile._capture import Capture
from seqloom.tensor._compile._code import reject_impure_calls
from seqloom.tensor._compile._passes import insert_copies, simplify
from seqloom.tensor._compile._program import (
    Build,
    Program,
    Signature,
    make_dict_builder,
    replace_inputs,
    to_array,
)
from seqloom.tensor._compile._symbol import Symbol, SymbolKey
from seqloom.tensor._leaves import HasLeaves
from seqloom.tensor._tensor import Gradients, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from types import CodeType

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._graph import Graph, Value


def trace_step(
    function: Callable[..., Any],
    arguments: object,  # Positional and keyword arguments.
    signature: Signature,
    find_known: Callable[[object], Program | None],  # Looks up a program by signature key.
    executed: set[CodeType],  # Collects the code objects that were executed.
) -> tuple[Program, Signature]:
    """Run a step once on symbols; return its program and the signature after the run."""
    # The signature is created after the run, because an optimiser creates state in the
    # step.
    capture = Capture(signature.backend)  # pyright: ignore[reportArgumentType]
    for leaf in signature.leaves:
        leaf.on(capture.target)  # A leaf tensor may create its array on first use.
    with reject_impure_calls(executed):
        inputs, result, new = _run_on_symbols(capture, function, arguments, signature)
    after = Signature(arguments)
    # Raise if anything other than arrays was changed, because the program would not
    # repeat the change.
    if unknown := [leaf for leaf in after.leaves if id(leaf) not in capture.admitted]:
        names = ", ".join(getattr(leaf, "path", "") or repr(leaf) for leaf in unknown)
        raise CaptureError(
            f"the compiled step adds new parameters ({names}) to its arguments; create "
            "them before the step, or disable compilation"
        )
    is_same = [id(leaf) for leaf in after.leaves] == [id(leaf) for leaf in signature.leaves]
    if is_same and after.key != signature.key:
        raise CaptureError(
            "the compiled step changes a mode, a setting or a name in its arguments. A "
            "compiled change would happen only once; change it outside of the step"
        )
    # A call with another optimiser of the same kind may have compiled this program
    # already.
    if (program := find_known(after.key)) is not None:
        return program, after
    results = ResultPlan(after.holders)
    build = results.plan(result)
    graph, written = _finish_graph(capture, after, inputs, new, results.raws)
    capture.admitted.clear()  # frees the leaf tensors; results keep the capture alive
    run = capture.target.program(graph)
    return Program(graph, run, written, build, list(_find_owned_states(after))), after


def _run_on_symbols(
    capture: Capture, function: Callable[..., Any], arguments: object, signature: Signature
) -> tuple[list[Value], Any, dict[int, Any]]:
    """Run the step on symbols; return the inputs, the result and the new leaf arrays."""
    try:
        for leaf in signature.leaves:
            capture.add_leaf(leaf)
        symbols = [_make_symbol(capture, value) for value in signature.inputs]
        args, options = replace_inputs(arguments, iter(symbols), capture)
        with capture.run_on_thread(), reject_outside_calls():
            result = function(*args, **options)
            new = {key: leaf.array for key, (leaf, _) in capture.admitted.items()}
    finally:  # Restore the leaf tensors, also after an error.
        capture.restore_leaves()
    raws = [
        symbol.raw if isinstance(symbol, Tensor) else symbol.symbol for symbol in symbols
    ]
    return [raw.value for raw in raws], result, new


@contextmanager
def reject_outside_calls() -> Generator[None]:
    """Raise an error that names the line which passes a symbol to Python or NumPy."""
    try:
        yield
    except TypeError as error:
        is_foreign = any(part in str(error) for part in _OUTSIDE_ERRORS)
        if isinstance(error, SeqloomError) or not is_foreign:
            raise
        line = extract_tb(error.__traceback__)[-1]
        raise CaptureError(
            f"{line.filename}:{line.lineno} passes a number or tensor without a value to a "
            "function of Python or NumPy. In a compiled step "
            "use the function of sl.tensor (sl.tensor.exp for np.exp)",
            advice=", or call this one before the step and pass its result",
        ) from error


# Messages of Python and NumPy after a call with a tensor: ufuncs, round, trunc, divmod.
_OUTSIDE_ERRORS = (
    "operand 'Tensor' does not support ufuncs",
    "type Tensor doesn't define __",
    "for divmod(): 'Tensor'",
)


def _make_symbol(capture: Capture, value: object) -> Tensor | SymbolKey:
    """Return the symbol that replaces an input while the step runs."""
    array = to_array(value, capture.target)
    new_input = capture.recorder.new_input
    if isinstance(array, float):
        return Tensor(new_input((), capture.target.float_dtype, weak=True), capture)
    symbol = new_input(array.shape, capture.target.dtype(array))
    return SymbolKey(symbol, capture) if isinstance(value, Key) else Tensor(symbol, capture)


def _finish_graph(
    capture: Capture,
    after: Signature,
    inputs: list[Value],
    # The new array of each leaf tensor, by the id of the tensor.
    new: dict[int, Any],
    results: list[Any],
) -> tuple[Graph, list[int]]:
    """Return the graph, and the indices of the leaf tensors that the step changes."""
    recorder = capture.recorder
    graph = recorder.graph
    state = [capture.admitted[id(leaf)][1] for leaf in after.leaves]
    new_state = recorder.to_values([new[id(leaf)] for leaf in after.leaves])
    written = [index for index, value in enumerate(state) if new_state[index] is not value]
    graph.inputs = [*state, *inputs]
    graph.outputs = [new_state[index] for index in written]
    graph.outputs += recorder.to_values(results)
    graph.donated = {index: output for output, index in enumerate(written)}
    for leaf, old, value in zip(after.leaves, state, new_state, strict=True):
        if (old.shape, old.dtype) != (value.shape, value.dtype):
            name = getattr(leaf, "path", "") or "a state"
            raise CaptureError(
                f"the compiled step changes {name} from {old.dtype}{list(old.shape)} to "
                f"{value.dtype}{list(value.shape)}; a state must keep its shape and dtype"
            )
    # The caller may modify its NumPy arrays later.
    pairs = zip(after.inputs, inputs, strict=True)
    arrays = [symbol for value, symbol in pairs if isinstance(value, np.ndarray)]
    shared = {value.number for value in (*state, *arrays)}
    graph = insert_copies(simplify(graph), shared, len(written), recorder.new_value)
    return graph, written


def _find_owned_states(after: Signature) -> Iterator[tuple[int, int]]:
    """Yield the indices of one optimiser state and its parameter, for each parameter."""
    indices = {id(leaf): index for index, leaf in enumerate(after.leaves)}
    owners = {id(leaf.owner()): leaf for leaf in after.leaves if leaf.owner}
    for owner, leaf in owners.items():
        if owner in indices:
            yield indices[id(leaf)], indices[owner]


_IMMUTABLE_TYPES = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, type),
    *(np.generic, np.dtype, Enum, Key),
)


class ResultPlan:
    """Builds the results of a step from the program's outputs."""

    def __init__(self, holders: list[Any]) -> None:
        self._holders = holders  # The modules and optimisers among the arguments.
        self.raws: list[Any] = []  # The symbols that become outputs of the program.

    def plan(self, value: Any) -> Build:
        """Collect the symbols of a result; return a function that builds the result."""
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
        """Return a builder of a tensor; a Python number stays a number."""
        raw = value.raw
        while hasattr(raw, "node"):  # a value in a gradient computation
            raw = raw.value
        self.raws.append(raw)
        if isinstance(raw, Symbol) and raw.value.weak:
            return lambda arrays, _signature, _backend: float(next(arrays))
        # `keep` prevents the enclosing scope from releasing the result.
        return lambda arrays, _signature, backend: Tensor(next(arrays), backend).keep()

    def _plan_key(self, value: SymbolKey) -> Build:
        self.raws.append(value.symbol)
        return lambda arrays, _signature, backend: Key.from_json(
            [int(word) for word in backend.to_numpy(next(arrays))]
        )

    def _plan_holder(self, value: HasLeaves) -> Build:
        """Return a builder of a module or optimiser, which must be one of the arguments."""
        for index, holder in enumerate(self._holders):
            if holder is value:
                return lambda _arrays, signature, _backend, at=index: signature.holders[at]
        raise CaptureError(
            f"the compiled step returned a {type(value).__name__} that is not one of its "
            "arguments; return tensors, or modules and optimisers that are arguments"
        )

    def _plan_container(self, value: Any) -> Build:
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value).items()
            named = {key: self.plan(part) for key, part in items}
            make_dict = make_dict_builder(cast("dict[Any, Any]", value))
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
        """Return a builder of the gradients of the parameters in the current call."""
        self.raws += [value.get(number) for number in value]
        leaves = [leaf for holder in self._holders for leaf in holder.leaves()[1]]
        unique = {id(leaf): leaf for leaf in leaves}.values()
        known = {it.id: index for index, it in enumerate(unique) if hasattr(it, "id")}
        # A parameter that does not belong to an argument of the step keeps its id.
        indices = [(known.get(number, number), number in known) for number in value]

        def build(arrays: Iterator[Array], signature: Signature, backend: Backend) -> Any:
            leaves: list[Any] = signature.leaves
            numbers = [leaves[index].id if found else index for index, found in indices]
            return Gradients({number: next(arrays) for number in numbers}, backend)

        return build


def _plan_constant(value: object) -> Build:
    """Return a builder of a constant; an array is copied at each call."""
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
    """Return True if a value and all values in it are immutable."""
    if not isinstance(value, type) and dataclasses.is_dataclass(value):
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
        instance: Any = value
        return instance.__dataclass_params__.frozen and all(map(_is_immutable, parts))
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_immutable, cast("Iterable[Any]", value)))
    return isinstance(value, _IMMUTABLE_TYPES)
