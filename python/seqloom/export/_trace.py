"""Traces a forward call at several sizes: one graph with sizes by name."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.errors import CaptureError, ExportError, InternalError, ShapeError
from seqloom.export._capture import ExportCapture
from seqloom.export._unify import unify
from seqloom.nn._stored import Stored
from seqloom.tensor import Tensor
from seqloom.tensor._compile._impure import refuse_impure_calls
from seqloom.tensor._compile._simplify import simplify
from seqloom.tensor._compile._symbol import Symbol
from seqloom.tensor._compile._trace import refuse_foreign_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from seqloom.export._inputs import Input
    from seqloom.nn import Module
    from seqloom.tensor._graph import Graph

    # Calls a network with tensors by name, at sizes that a call may name as numbers.
    Forward = Callable[[Any, Mapping[str, Tensor], Mapping[str, int]], Any]

# Primes, so that no two sizes of a trace are alike, and large, so that quotients differ.
# Some networks read short sequences only; those that halve lengths, and join what they
# halved, multiples of a power of two.
_BATCHES = (1009, 1163, 1297, 1451, 1609)
_LONG, _SHORT = (2003, 2411, 2857, 3307, 3821), (11, 13, 17, 19, 23)
_LENGTHS = (_LONG, _SHORT, tuple(8 * it for it in _SHORT), tuple(64 * it for it in _LONG))


@dataclass(frozen=True, slots=True)
class Call:
    """How a network is called: its inputs, and what runs it."""

    inputs: Mapping[str, Input]
    run: Forward
    sizes: Sequence[str]  # the names of sizes that differ from batch to batch


@dataclass(frozen=True, slots=True)
class Traced:
    """A graph with sizes by name, and the names of its inputs and weights."""

    graph: Graph
    inputs: dict[int, str]  # by the value's number
    weights: dict[int, str]


def trace(model: Module, call: Call) -> Traced:
    """Runs the call on symbols at several sizes, and joins what was recorded."""
    first: ShapeError | None = None
    for lengths in _LENGTHS:
        try:
            return _trace_at(model, call, lengths)
        except ShapeError as error:  # of lengths that the network does not read
            first = first or error
    raise first or InternalError("no lengths to trace at")


def _trace_at(model: Module, call: Call, lengths: Sequence[int]) -> Traced:
    """Traces at some lengths."""
    sizes = list(_choose_sizes(call.sizes, lengths))
    runs = [_run(model, call, at) for at in sizes]
    graph = simplify(unify([it.graph for it in runs], sizes))
    used = {value.number for op in graph.operations for value in op.inputs()}
    used |= {value.number for value in graph.outputs}
    graph.inputs = [value for value in graph.inputs if value.number in used]
    return Traced(graph, runs[0].inputs, runs[0].weights)


def _choose_sizes(names: Sequence[str], lengths: Sequence[int]) -> Iterator[dict[str, int]]:
    """Yields the sizes of each trace."""
    for batch, length in zip(_BATCHES, lengths, strict=True):
        found = {"batch": batch, "length": length, "total": 7 * length}
        found |= {"sequences": batch, "starts": batch + 1, "longest": length}
        yield {name: found[name] for name in names}


def _run(model: Module, call: Call, sizes: Mapping[str, int]) -> Traced:
    """Runs the call once on symbols."""
    capture = ExportCapture(model.backend)
    try:
        weights = _admit(capture, model)
        new_input = capture.recorder.new_input
        symbols = {it: new_input(x.at(sizes), x.dtype) for it, x in call.inputs.items()}
        tensors = {name: Tensor(symbol, capture) for name, symbol in symbols.items()}
        with _explaining(), capture.running(), refuse_impure_calls():
            with refuse_foreign_calls():
                result = call.run(model, tensors, sizes)
            _check_unchanged(capture)
    finally:
        capture.restore()
    capture.recorder.graph.outputs = [_find_output(result).value]
    inputs = {symbol.value.number: name for name, symbol in symbols.items()}
    return Traced(capture.recorder.graph, inputs, weights)


def _admit(capture: ExportCapture, model: Module) -> dict[int, str]:
    """Makes each parameter and buffer an input; gives their paths by number."""
    _, leaves = model.leaves()
    for leaf in {id(it): it for it in leaves}.values():  # tied ones once
        leaf.on(capture.target)
        capture.admit(leaf)
    # A part keeps the path that it was bound with; the record has that in this network.
    paths = {id(part): path for path, part in model.named(Stored)}
    found = capture.admitted.values()
    return {value.number: paths.get(id(leaf), "") for leaf, value in found}


@contextmanager
def _explaining() -> Generator[None]:
    """Says of what a compiled step refuses that an export refuses it."""
    try:
        yield
    except CaptureError as error:
        raise ExportError(_rephrase(str(error))) from error


def _rephrase(message: str) -> str:
    """Says it of an export, with the advice for one."""
    for words in (". Choose ", "; use sl.tensor.where(", "; pass the module"):
        message = message.partition(words)[0]
    for old in ("inside a compiled step", "in a compiled step", "which a compiled step"):
        new = (
            "which an exported model" if old.startswith("which") else "while it is exported"
        )
        message = message.replace(old, new)
    message = message.replace("compiled step", "exported call")
    return (
        f"{message}. An exported model computes with tensors alone: choose with "
        "sl.tensor.where instead of `if`, read no values, and keep parameters in the module"
    )


def _check_unchanged(capture: ExportCapture) -> None:
    """Refuses a call that writes a buffer, which an exported graph has none of."""
    for leaf, value in capture.admitted.values():
        array: Any = leaf.array
        if not (isinstance(array, Symbol) and array.value is value):
            raise ExportError(
                f"the network changes {getattr(leaf, 'path', '') or 'a state'} in "
                "evaluation mode, but an exported model keeps nothing between two batches; "
                "write it in training mode only"
            )


def _find_output(result: Any) -> Symbol:
    """Gives the symbol of the outputs; refuses anything but one tensor."""
    raw = getattr(result, "raw", None)
    if isinstance(raw, Symbol):
        return raw
    kind = type(result).__name__
    what = "a tensor that does not depend on its inputs" if raw is not None else f"a {kind}"
    raise ExportError(
        f"the network returns {what}; an exported model gives one tensor of outputs, a row "
        "for each record: export a module that returns that"
    )
