"""Traces a forward call at several sizes: one graph with sizes by name."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from seqloom._arguments import quote
from seqloom.errors import (
    ArgumentError,
    CaptureError,
    ExportError,
    InternalError,
    ShapeError,
)
from seqloom.export._capture import ExportCapture, Probe
from seqloom.export._size import SymbolicSize
from seqloom.export._unify import check_operations, has_all_symbols, unify
from seqloom.nn import Module
from seqloom.nn._stored import Stored
from seqloom.tensor import Tensor
from seqloom.tensor._compile._code import reject_impure_calls
from seqloom.tensor._compile._passes import simplify
from seqloom.tensor._compile._symbol import Symbol
from seqloom.tensor._compile._trace import reject_outside_calls

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Generator,
        Iterator,
        Mapping,
        Sequence,
    )

    from seqloom.tensor._graph import Graph

    # Calls a network with tensors by name, at sizes that a call may name as numbers.
    Forward = Callable[[Any, Mapping[str, Tensor], Mapping[str, int]], Any]

# Sizes with large prime factors, so that equal sizes are hardly ever a coincidence.
_BATCH = 745
# Lengths of the first trace, each with a unit of the probes' lengths: for networks that
# read any length, short ones only, or lengths that can be halved several times.
_LENGTHS = ((2321, 1), (13, 1), (8 * 13, 8), (64 * 2321, 64))
# Short and long records, small and usual batches, (batch, length): a network may refuse
# them, and one that computes them in another way must not be exported.
_PROBES = (
    *((1, 2), (3, 3), (2, 4), (1, 5), (2, 12), (256, 33), (64, 300)),
    *((2, 2824), (7, 5781), (3, 100_000)),
)


DTYPES = ("bool", "uint8", "int32", "int64", "uint32", "float32", "float64")
# Those of a padded graph, and those of a packed one, which users do not write.
NAMES = ("batch", "length", "total", "sequences", "starts")


@dataclass(frozen=True, slots=True)
class Input:
    """An array that a network reads.

    Args:
        shape: The length of each axis: a number, or ``"batch"`` or ``"length"`` where it
            differs from batch to batch.
        dtype: The element type.

    Raises:
        ArgumentError: A length is neither, or there is no such type in an exported model.

    Examples:
        >>> Input(("batch", "length"), "int32").shape
        ('batch', 'length')
    """

    shape: tuple[int | str, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        check_dtype(self.dtype, "an input")
        for size in self.shape:
            if not (isinstance(size, int) and size > 0) and size not in NAMES:
                raise ArgumentError(
                    "shape of an Input must hold numbers from 1, and the names "
                    f"{', '.join(map(repr, NAMES))}, got {quote(size)}"
                )

    def at(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape at some sizes.

        Args:
            sizes: The size of each name.

        Returns:
            The lengths of the axes.

        Examples:
            >>> Input(("batch", 4, "length")).at({"batch": 2, "length": 9})
            (2, 4, 9)
        """
        return tuple(sizes[it] if isinstance(it, str) else it for it in self.shape)


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
    """Run the call on symbols whose sizes are symbols, and compare it at other sizes."""
    first: ShapeError | None = None
    for length, unit in _LENGTHS:
        sizes = _name_sizes(call, _BATCH, length, is_symbolic=True)
        try:
            traced = _run(model, call, sizes)
        except ShapeError as error:  # of a length that the network does not read
            first = first or error
            continue
        probes = list(_probe(model, call, traced.graph, unit=unit))
        if not has_all_symbols(traced.graph, probes):
            traced = _run(model, call, sizes, probes=probes)
        return _finish(traced, unify(traced.graph, probes, sizes))
    if first is None:
        raise InternalError("no lengths to trace at")
    if "length" not in call.sizes:
        raise first
    raise ShapeError(
        f"{first}. The export tries records of several lengths; if the network reads "
        "one length only, pass it: sl.export.save(..., length=N), or a number instead of "
        '"length" in inputs='
    ) from first


def _probe(model: Module, call: Call, graph: Graph, *, unit: int) -> Iterator[Probe]:
    """Trace at other sizes; a network may refuse one by any error of its own."""
    probes = {(batch, it) for batch, length in _PROBES for it in (length, unit * length)}
    for batch, length in sorted(probes, key=lambda it: it[1]):
        sizes = _name_sizes(call, batch, length)
        try:
            run = _run(model, call, sizes)
        except ExportError:  # it computes there what cannot be exported
            raise
        except Exception:  # noqa: BLE001, S112 - it reads no records of such a size
            continue
        # Before the next probe runs: the last ones have very many positions, over which a
        # loop of Python takes long.
        check_operations(graph, run.graph)
        yield Probe(run.graph, sizes)


def _finish(traced: Traced, graph: Graph) -> Traced:
    """Drop what no output needs."""
    graph = simplify(graph)
    used = {value.number for op in graph.operations for value in op.inputs()}
    used |= {value.number for value in graph.outputs}
    graph.inputs = [value for value in graph.inputs if value.number in used]
    return replace(traced, graph=graph)


def _name_sizes(
    call: Call, batch: int, length: int, *, is_symbolic: bool = False
) -> dict[str, int]:
    """Return the sizes of a trace by the names that the call knows."""
    found = {"batch": batch, "length": length, "total": 7 * length}
    found |= {"sequences": batch, "longest": length}
    if is_symbolic:
        found = {name: SymbolicSize.of_name(name, it) for name, it in found.items()}
    found["starts"] = found["sequences"] + 1
    return {name: found[name] for name in call.sizes}


def _run(
    model: Module, call: Call, sizes: Mapping[str, int], *, probes: Sequence[Probe] = ()
) -> Traced:
    """Run the call once on symbols."""
    capture = ExportCapture(model.backend, probes)
    with _restoring(capture, model):
        weights = _admit(capture, model)
        new_input = capture.recorder.new_input
        symbols = {it: new_input(x.at(sizes), x.dtype) for it, x in call.inputs.items()}
        tensors = {name: Tensor(symbol, capture) for name, symbol in symbols.items()}
        with _explaining(), capture.running(), reject_impure_calls(set()):
            with reject_outside_calls():
                result = call.run(model, tensors, sizes)
            _check_unchanged(capture)
    capture.recorder.graph.outputs = [_find_output(capture, result).value]
    inputs = {symbol.value.number: name for name, symbol in symbols.items()}
    return Traced(capture.recorder.graph, inputs, weights)


def _admit(capture: ExportCapture, model: Module) -> dict[int, str]:
    """Make each parameter and buffer an input; gives their paths by number."""
    _, leaves = model.leaves()
    for leaf in {id(it): it for it in leaves}.values():  # tied ones once
        leaf.on(capture.target)
        capture.admit(leaf)
    # leaf.path dates from when the part was bound; weights have the path in this network.
    paths = {id(part): path for path, part in model.named(Stored)}
    found = capture.admitted.values()
    return {value.number: paths.get(id(leaf), "") for leaf, value in found}


_PLAIN_TYPES = (bool, int, float, str)
# Advice for a compiled step does not help in an export, which has advice of its own.
_WORDS = {
    "inside a compiled step": "while it is exported",
    "in a compiled step": "while it is exported",
    "which a compiled step": "which an exported model",
    "compiled step": "exported call",
}


@contextmanager
def _explaining() -> Generator[None]:
    """Raise what a compiled step refuses as an ExportError."""
    try:
        yield
    except CaptureError as error:
        message = error.problem
        for old, new in _WORDS.items():
            message = message.replace(old, new)
        raise ExportError(
            f"{message}. An exported model computes with tensors alone: choose with "
            "sl.tensor.where instead of `if`, read no values, and keep parameters in the "
            "module"
        ) from error


@contextmanager
def _restoring(capture: ExportCapture, model: Module) -> Generator[None]:
    """Leave the network as it was; refuses a call that has set a plain attribute."""
    parts = {id(it): it for it in (model, *(part for _, part in model.named(Module)))}
    before = [(part, dict(vars(part))) for part in parts.values()]
    try:
        yield
        for part, known in before:
            plain = {n: v for n, v in vars(part).items() if isinstance(v, _PLAIN_TYPES)}
            new = [n for n, v in plain.items() if n not in known or known[n] is not v]
            if new:
                raise ExportError(
                    f"{type(part).__name__} sets {new[0]} while it is called, but an "
                    "exported model keeps nothing between two batches: set it in __init__"
                )
    finally:
        capture.restore()
        for part, known in before:  # what the network keeps holds symbols
            vars(part).clear()
            vars(part).update(known)


def _check_unchanged(capture: ExportCapture) -> None:
    """Refuse a call that writes a buffer, which an exported graph has none of."""
    for leaf, value in capture.admitted.values():
        array: Any = leaf.array
        if not (isinstance(array, Symbol) and array.value is value):
            raise ExportError(
                f"the network changes {getattr(leaf, 'path', '') or 'a state'} in "
                "evaluation mode, but an exported model keeps nothing between two batches; "
                "write it in training mode only"
            )


def _find_output(capture: ExportCapture, result: Any) -> Symbol:
    """Return the symbol of the outputs; refuses anything but one tensor."""
    raw = getattr(result, "raw", None)
    fixed = {value.number for _, value in capture.admitted.values()}
    fixed |= set(capture.recorder.graph.constants)
    if isinstance(raw, Symbol) and raw.value.number not in fixed:
        return raw
    kind = type(result).__name__
    what = "a tensor that does not depend on its inputs" if raw is not None else f"a {kind}"
    raise ExportError(
        f"the network returns {what}; an exported model gives one tensor of outputs, a row "
        "for each record: export a module that returns that"
    )


def check_dtype(name: object, what: str) -> str:
    """Return the name of an element type; refuses one that readers do not know."""
    found = str(name)
    if found not in DTYPES:
        raise ExportError(
            f"{what} has the element type {found}; an exported model has "
            f"{', '.join(DTYPES)} only: move the network by "
            'model.to("numpy", "float32") and export it then'
        )
    return found
