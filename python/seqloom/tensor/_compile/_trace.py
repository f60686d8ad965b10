"""Traces a step: makes a program from the step and the arguments of one call."""

from __future__ import annotations

from contextlib import contextmanager
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._key import Key
from seqloom.errors import CaptureError, SeqloomError
from seqloom.tensor._compile._capture import Capture
from seqloom.tensor._compile._copies import insert_copies
from seqloom.tensor._compile._impure import refuse_impure_calls
from seqloom.tensor._compile._program import Program, to_array
from seqloom.tensor._compile._results import Results
from seqloom.tensor._compile._signature import Signature, replace_inputs
from seqloom.tensor._compile._simplify import simplify
from seqloom.tensor._compile._symbol import SymbolKey
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from types import CodeType

    from seqloom.tensor._graph import Graph, Value


def trace(
    function: Callable[..., Any],
    arguments: object,  # positional and keyword arguments
    signature: Signature,
    find_known: Callable[[object], Program | None],  # by the key of a signature
    executed: set[CodeType],  # gets the code that ran
) -> tuple[Program, Signature]:
    """Runs a step once on symbols; returns its program, and the signature after it."""
    # The signature is taken after the step, because an optimiser makes its states in it.
    capture = Capture(signature.backend)  # pyright: ignore[reportArgumentType]
    for leaf in signature.leaves:
        leaf.on(capture.target)  # makes the arrays that are made on first use
    with refuse_impure_calls(executed):
        inputs, result, new = _run(capture, function, arguments, signature)
    after = Signature(arguments)
    _require_unchanged(signature, after, capture)
    # A new optimiser of a step that was made with another one.
    if (program := find_known(after.key)) is not None:
        return program, after
    results = Results(after.holders)
    build = results.plan(result)
    graph, written = _finish_graph(capture, after, inputs, new, results.raws)
    capture.admitted.clear()  # results may hold the capture, which must hold no state
    run = capture.target.program(graph)
    return Program(graph, run, written, build, list(_find_owned(after))), after


def _run(
    capture: Capture, function: Callable[..., Any], arguments: object, signature: Signature
) -> tuple[list[Value], Any, dict[int, Any]]:
    """Runs the step on symbols; returns inputs, result, and the leaves' new arrays."""
    try:
        for leaf in signature.leaves:
            capture.admit(leaf)
        symbols = [_make_symbol(capture, value) for value in signature.inputs]
        args, options = replace_inputs(arguments, iter(symbols), capture)
        with capture.running(), refuse_foreign_calls():
            result = function(*args, **options)
            new = {key: leaf.array for key, (leaf, _) in capture.admitted.items()}
    finally:  # whatever happens, the leaves show their own arrays again
        capture.restore()
    return [_find_value(symbol) for symbol in symbols], result, new


@contextmanager
def refuse_foreign_calls() -> Generator[None]:
    """Names the line that passes a symbol to a function of Python or NumPy."""
    try:
        yield
    except TypeError as error:
        is_foreign = any(part in str(error) for part in _FOREIGN)
        if isinstance(error, SeqloomError) or not is_foreign:
            raise
        line = extract_tb(error.__traceback__)[-1]
        raise CaptureError(
            f"{line.filename}:{line.lineno} passes a number or tensor of the compiled step "
            "to a function of Python or NumPy, but in the step it has no value yet; use "
            "the function of sl.tensor (sl.tensor.exp for np.exp)",
            advice=", or call this one before the step and pass its result",
        ) from error


# Messages of Python and NumPy about a tensor: ufuncs, round, trunc, divmod.
_FOREIGN = (
    "operand 'Tensor' does not support ufuncs",
    "type Tensor doesn't define __",
    "for divmod(): 'Tensor'",
)


def _make_symbol(capture: Capture, value: object) -> Tensor | SymbolKey:
    """Makes what replaces an input within the step."""
    array = to_array(value, capture.target)
    new_input = capture.recorder.new_input
    if isinstance(array, float):
        return Tensor(new_input((), capture.target.float_dtype, weak=True), capture)
    symbol = new_input(array.shape, capture.target.dtype(array))
    return SymbolKey(symbol, capture) if isinstance(value, Key) else Tensor(symbol, capture)


def _find_value(symbol: Tensor | SymbolKey) -> Value:
    """Returns the value of what replaces an input."""
    return (symbol.raw if isinstance(symbol, Tensor) else symbol.symbol).value


def _finish_graph(
    capture: Capture,
    after: Signature,
    inputs: list[Value],
    new: dict[int, Any],  # the new array of each leaf, by the leaf's id
    results: list[Any],
) -> tuple[Graph, list[int]]:
    """Returns the graph, with state before inputs and results, and the written leaves."""
    recorder = capture.recorder
    graph = recorder.graph
    state = [capture.admitted[id(leaf)][1] for leaf in after.leaves]
    new_state = recorder.to_values([new[id(leaf)] for leaf in after.leaves])
    written = [index for index, value in enumerate(state) if new_state[index] is not value]
    graph.inputs = [*state, *inputs]
    graph.outputs = [new_state[index] for index in written]
    graph.outputs += recorder.to_values(results)
    graph.donated = {index: output for output, index in enumerate(written)}
    _require_same_kinds(after, state, new_state)
    shared = {value.number for value in (*state, *_find_numpy_inputs(after, inputs))}
    graph = insert_copies(simplify(graph), shared, len(written), recorder.new_value)
    return graph, written


def _find_owned(after: Signature) -> Iterator[tuple[int, int]]:
    """Yields the indices of a state and of its parameter, one state for each."""
    indices = {id(leaf): index for index, leaf in enumerate(after.leaves)}
    owners = {id(leaf.owner()): leaf for leaf in after.leaves if leaf.owner}
    for owner, leaf in owners.items():
        if owner in indices:
            yield indices[id(leaf)], indices[owner]


def _find_numpy_inputs(signature: Signature, inputs: list[Value]) -> Iterator[Value]:
    """Yields the inputs that are NumPy arrays, which the caller may write later."""
    for value, symbol in zip(signature.inputs, inputs, strict=True):
        if isinstance(value, np.ndarray):
            yield symbol


def _require_same_kinds(after: Signature, state: list[Value], new: list[Value]) -> None:
    """Refuses a leaf whose shape or dtype the step changes."""
    for leaf, old, value in zip(after.leaves, state, new, strict=True):
        if (old.shape, old.dtype) != (value.shape, value.dtype):
            name = getattr(leaf, "path", "") or "a state"
            raise CaptureError(
                f"the compiled step changes {name} from {old.dtype}{list(old.shape)} to "
                f"{value.dtype}{list(value.shape)}; a state must keep its shape and dtype"
            )


def _require_unchanged(before: Signature, after: Signature, capture: Capture) -> None:
    """Refuses changes other than of arrays: they would happen once, not at every call."""
    if unknown := [leaf for leaf in after.leaves if id(leaf) not in capture.admitted]:
        names = ", ".join(getattr(leaf, "path", "") or repr(leaf) for leaf in unknown)
        raise CaptureError(
            f"the compiled step puts new parameters ({names}) into its arguments; make "
            "them before the step, or switch compiling off"
        )
    is_same = [id(leaf) for leaf in after.leaves] == [id(leaf) for leaf in before.leaves]
    if is_same and after.key != before.key:
        raise CaptureError(
            "the compiled step changes more than arrays in its arguments (a mode, a "
            "setting or a name), which would happen once instead of at every call; do that "
            "outside of the step"
        )
