"""From a step and the arguments of one call to a program."""

from __future__ import annotations

from contextlib import contextmanager
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._key import Key
from seqloom.errors import CaptureError, SeqloomError
from seqloom.tensor._compile._capture import Capture
from seqloom.tensor._compile._copies import separated
from seqloom.tensor._compile._impure import refuse_impure_calls
from seqloom.tensor._compile._key import SymbolKey
from seqloom.tensor._compile._program import Program, as_array
from seqloom.tensor._compile._results import Results
from seqloom.tensor._compile._signature import Signature, replaced
from seqloom.tensor._compile._simplify import simplified
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from seqloom.tensor._graph import Graph, Value


def traced(
    function: Callable[..., Any],
    arguments: Any,
    given: Signature,
    known: Mapping[Any, Program],
) -> tuple[Program, Signature]:
    """Runs a step once on symbols, and makes a program of what it asked for.

    Args:
        function: The step.
        arguments: Its positional and its keyword arguments.
        given: These, taken apart.
        known: Programs by the key of the signature for which they are.

    Returns:
        The program, and the signature for which it is: that of the arguments after the
        step, since an optimiser makes its states at the first.
    """
    capture = Capture(given.backend)  # pyright: ignore[reportArgumentType]
    for leaf in given.leaves:
        leaf.on(capture.target)  # what is made on first use is made before
    inputs, result, new = _run(capture, function, arguments, given)
    after = Signature(arguments)
    _check_unchanged(given, after, capture)
    if after.key in known:  # a new optimiser of a step that was made with another
        return known[after.key], after
    results = Results(after.holders)
    build = results.plan(result)
    graph, written = _closed(capture, after, inputs, new, results.raws)
    capture.admitted.clear()  # results may hold the capture, which must hold no state
    run = capture.target.program(graph)
    return Program(graph, run, written, build, list(_owned(after))), after


def _run(
    capture: Capture, function: Callable[..., Any], arguments: Any, given: Signature
) -> tuple[list[Value], Any, dict[int, Any]]:
    """The step on symbols: its inputs, its result, and the leaves' new arrays."""
    try:
        for leaf in given.leaves:
            capture.admit(leaf)
        symbols = [_symbol(capture, each) for each in given.inputs]
        args, options = replaced(arguments, iter(symbols), capture)
        with capture.running(), refuse_impure_calls():
            with _refuse_foreign_calls():
                result = function(*args, **options)
            new = {key: leaf.array for key, (leaf, _) in capture.admitted.items()}
    finally:  # whatever happens, the leaves hold their own arrays again
        capture.restore()
    return [_value(each) for each in symbols], result, new


@contextmanager
def _refuse_foreign_calls() -> Generator[None]:
    """Names the line that gives a symbol to a function of numbers or of NumPy."""
    try:
        yield
    except TypeError as error:
        if isinstance(error, SeqloomError) or not any(
            each in str(error) for each in _FOREIGN
        ):
            raise
        line = extract_tb(error.__traceback__)[-1]
        raise CaptureError(
            f"{line.filename}:{line.lineno} gives a number or tensor of the compiled step "
            "to a function of Python or NumPy, but in the step it has no value yet; use "
            "the function of sl.tensor (sl.tensor.exp for np.exp), or call this one before "
            "the step and pass what it gives"
        ) from error


# How Python and NumPy say that they do not take a tensor: ufuncs, round, trunc, divmod.
_FOREIGN = (
    "operand 'Tensor' does not support ufuncs",
    "type Tensor doesn't define __",
    "for divmod(): 'Tensor'",
)


def _symbol(capture: Capture, value: Any) -> Tensor | SymbolKey:
    """What stands for an input within the step."""
    array = as_array(value, capture.target)
    if isinstance(array, float):
        return Tensor(capture.new_input((), capture.target.float_dtype, weak=True), capture)
    symbol = capture.new_input(array.shape, capture.target.dtype(array))
    return SymbolKey(symbol, capture) if isinstance(value, Key) else Tensor(symbol, capture)


def _value(stand: Tensor | SymbolKey) -> Value:
    """The value of what stands for an input."""
    return (stand.raw if isinstance(stand, Tensor) else stand.symbol).value


def _closed(
    capture: Capture,
    after: Signature,
    inputs: list[Value],
    new: dict[int, Any],
    results: list[Any],
) -> tuple[Graph, list[int]]:
    """The whole graph: state first, then inputs; new state first, then results."""
    graph = capture.graph
    state = [capture.admitted[id(leaf)][1] for leaf in after.leaves]
    made = [capture.plain(new[id(leaf)]) for leaf in after.leaves]
    written = [place for place, value in enumerate(state) if made[place] is not value]
    graph.inputs = [*state, *inputs]
    graph.outputs = [made[place] for place in written]
    graph.outputs += [capture.plain(each) for each in results]
    graph.donated = {place: output for output, place in enumerate(written)}
    _check_kinds(after, state, made)
    kept = {value.number for value in (*state, *_arrays(after, inputs))}
    apart = separated(simplified(graph), kept, len(written), capture.new_value)
    return apart, written


def _owned(after: Signature) -> Iterator[tuple[int, int]]:
    """The places of a state and of the parameter that it serves, one state for each."""
    places = {id(leaf): place for place, leaf in enumerate(after.leaves)}
    owners = {id(leaf.owner()): leaf for leaf in after.leaves if leaf.owner}
    for owner, leaf in owners.items():
        if owner in places:
            yield places[id(leaf)], places[owner]


def _arrays(given: Signature, inputs: list[Value]) -> Iterator[Value]:
    """The inputs that come as arrays of NumPy, whose owner may write them later."""
    for each, value in zip(given.inputs, inputs, strict=True):
        if isinstance(each, np.ndarray):
            yield value


def _check_kinds(after: Signature, state: list[Value], made: list[Value]) -> None:
    """A leaf keeps its shape and type."""
    for leaf, old, value in zip(after.leaves, state, made, strict=True):
        if (old.shape, old.dtype) != (value.shape, value.dtype):
            name = getattr(leaf, "path", "") or "a state"
            raise CaptureError(
                f"the compiled step changes {name} from {old.dtype}{list(old.shape)} to "
                f"{value.dtype}{list(value.shape)}; state keeps its shape and type"
            )


def _check_unchanged(given: Signature, after: Signature, capture: Capture) -> None:
    """Only arrays may change in a step: other changes would happen once, not each time."""
    if unknown := [leaf for leaf in after.leaves if id(leaf) not in capture.admitted]:
        names = ", ".join(getattr(leaf, "path", "") or repr(leaf) for leaf in unknown)
        raise CaptureError(
            f"the compiled step puts new parameters ({names}) into its arguments; make "
            "them before the step, or switch compiling off"
        )
    same = [id(leaf) for leaf in after.leaves] == [id(leaf) for leaf in given.leaves]
    if same and after.key != given.key:
        raise CaptureError(
            "the compiled step changes more than arrays in its arguments (a mode, a "
            "setting or a name), which would happen once instead of at every call; do that "
            "outside of the step"
        )
