"""Trace a forward call at several sizes, and merge the traces to one graph."""

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
from seqloom.export._unify import check_operations, has_all_symbols, merge_traces
from seqloom.nn import Module
from seqloom.nn._parameters import ModuleArray
from seqloom.tensor import Tensor
from seqloom.tensor._compile._code import reject_impure_calls
from seqloom.tensor._compile._passes import simplify
from seqloom.tensor._compile._symbol import Symbol
from seqloom.tensor._compile._trace import reject_outside_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from seqloom.tensor._graph import Graph

    # Type of a function that calls a network with named tensors and sizes.
    Forward = Callable[[Any, Mapping[str, Tensor], Mapping[str, int]], Any]

# The sizes of the first trace have large prime factors, so equal numbers in a graph are
# unlikely to be a coincidence.
_TRACE_BATCH = 745
# (length of the first trace, factor of the lengths of the other traces). The first pair
# suits most networks, the second pair suits networks with short inputs, and the last
# two pairs suit networks with pooling.
_TRACE_LENGTHS = ((2321, 1), (13, 1), (8 * 13, 8), (64 * 2321, 64))
# (batch, length) of the other traces, short and long. A network may reject some of
# these sizes, but must run the same operations at all other sizes.
_PROBE_SIZES = (
    *((1, 2), (3, 3), (2, 4), (1, 5), (2, 12), (256, 33), (64, 300)),
    *((2, 2824), (7, 5781), (3, 100_000)),
)


EXPORTED_DTYPES = ("bool", "uint8", "int32", "int64", "uint32", "float32", "float64")
# Names of the sizes of graphs for padded and for packed inputs.
SIZE_NAMES = ("batch", "length", "total", "sequences", "starts")


@dataclass(frozen=True, slots=True)
class Input:
    """An array that a network reads.

    Args:
        shape: The length of each axis, which is a number, or ``"batch"`` or ``"length"`` if
            the length differs between batches.
        dtype: The dtype of the array.

    Raises:
        ArgumentError: A length is invalid, or exported models do not support the dtype.

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
            if not (isinstance(size, int) and size > 0) and size not in SIZE_NAMES:
                raise ArgumentError(
                    "shape of an Input must contain integers above 0, or the names "
                    f"{', '.join(map(repr, SIZE_NAMES))}, got {quote(size)}"
                )

    def at(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape for the given sizes.

        Args:
            sizes: A dict from name to size.

        Returns:
            The length of each axis.

        Examples:
            >>> Input(("batch", 4, "length")).at({"batch": 2, "length": 9})
            (2, 4, 9)
        """
        return tuple(sizes[it] if isinstance(it, str) else it for it in self.shape)


@dataclass(frozen=True, slots=True)
class NetworkCall:
    """The inputs of a network, and the function that runs the network."""

    inputs: Mapping[str, Input]
    run: Forward
    sizes: Sequence[str]  # names of sizes that differ between batches


@dataclass(frozen=True, slots=True)
class Traced:
    """A graph with named sizes, and the names of the inputs and weights of the graph."""

    graph: Graph
    inputs: dict[int, str]  # by value number
    weights: dict[int, str]


def trace_call(model: Module, call: NetworkCall) -> Traced:
    """Trace the call with symbolic sizes, and check the trace against other sizes."""
    first: ShapeError | None = None
    for length, unit in _TRACE_LENGTHS:
        sizes = _name_sizes(call, _TRACE_BATCH, length, is_symbolic=True)
        try:
            traced = _run_symbolically(model, call, sizes)
        except ShapeError as error:  # the network rejects this length, so try the next
            first = first or error
            continue
        probes = list(_trace_probes(model, call, traced.graph, unit=unit))
        if not has_all_symbols(traced.graph, probes):
            traced = _run_symbolically(model, call, sizes, probes=probes)
        return _remove_unused(traced, merge_traces(traced.graph, probes, sizes))
    if first is None:
        raise InternalError("there are no lengths to trace")
    if "length" not in call.sizes:
        raise first
    raise ShapeError(
        f"{first}. The export traces several lengths; if the network accepts "
        "only one length, pass it: sl.export.save(..., length=N), or a number instead of "
        '"length" in inputs='
    ) from first


def _trace_probes(
    model: Module, call: NetworkCall, graph: Graph, *, unit: int
) -> Iterator[Probe]:
    """Yield traces at other sizes; skip sizes at which the network raises an error."""
    probes = {
        (batch, it) for batch, length in _PROBE_SIZES for it in (length, unit * length)
    }
    for batch, length in sorted(probes, key=lambda it: it[1]):
        sizes = _name_sizes(call, batch, length)
        try:
            run = _run_symbolically(model, call, sizes)
        except ExportError:  # the network rejects this size
            raise
        except Exception:  # noqa: BLE001, S112 - the network rejects this size
            continue
        # Compare each trace immediately, because a Python loop in the network would be
        # slow at the many positions of the last traces.
        check_operations(graph, run.graph)
        yield Probe(run.graph, sizes)


def _remove_unused(traced: Traced, graph: Graph) -> Traced:
    """Remove operations that are not needed for an output."""
    graph = simplify(graph)
    used = {value.number for op in graph.operations for value in op.inputs()}
    used |= {value.number for value in graph.outputs}
    graph.inputs = [value for value in graph.inputs if value.number in used]
    return replace(traced, graph=graph)


def _name_sizes(
    call: NetworkCall, batch: int, length: int, *, is_symbolic: bool = False
) -> dict[str, int]:
    """Return the named sizes of a trace."""
    found = {"batch": batch, "length": length, "total": 7 * length}
    found |= {"sequences": batch, "longest": length}
    if is_symbolic:
        found = {name: SymbolicSize.of_name(name, it) for name, it in found.items()}
    found["starts"] = found["sequences"] + 1
    return {name: found[name] for name in call.sizes}


def _run_symbolically(
    model: Module,
    call: NetworkCall,
    sizes: Mapping[str, int],
    *,
    probes: Sequence[Probe] = (),
) -> Traced:
    """Run the call once with symbolic sizes."""
    capture = ExportCapture(model.backend, probes)
    with _restore_network(capture, model):
        weights = _add_weight_inputs(capture, model)
        new_input = capture.recorder.new_input
        symbols = {it: new_input(x.at(sizes), x.dtype) for it, x in call.inputs.items()}
        tensors = {name: Tensor(symbol, capture) for name, symbol in symbols.items()}
        with _convert_errors(), capture.run_on_thread(), reject_impure_calls(set()):
            with reject_outside_calls():
                result = call.run(model, tensors, sizes)
            _check_unchanged(capture)
    capture.recorder.graph.outputs = [_find_output(capture, result).value]
    inputs = {symbol.value.number: name for name, symbol in symbols.items()}
    return Traced(capture.recorder.graph, inputs, weights)


def _add_weight_inputs(capture: ExportCapture, model: Module) -> dict[int, str]:
    """Declare parameters and buffers as inputs once each; return paths by value number."""
    _, leaves = model.leaves()
    for leaf in {id(it): it for it in leaves}.values():  # tied parameters only once
        leaf.on(capture.target)
        capture.add_leaf(leaf)
    # Do not use `leaf.path`, which may be the path in another network.
    paths = {id(part): path for path, part in model.named(ModuleArray)}
    found = capture.admitted.values()
    return {value.number: paths.get(id(leaf), "") for leaf, value in found}


_SCALAR_TYPES = (bool, int, float, str)
# Replace the advice in the message, which applies only to compiled steps.
_ADVICE_BY_ERROR = {
    "inside a compiled step": "while it is exported",
    "in a compiled step": "while it is exported",
    "which a compiled step": "which an exported model",
    "compiled step": "exported call",
}


@contextmanager
def _convert_errors() -> Generator[None]:
    """Convert errors of a compiled step to ExportError."""
    try:
        yield
    except CaptureError as error:
        message = error.problem
        for old, new in _ADVICE_BY_ERROR.items():
            message = message.replace(old, new)
        raise ExportError(
            f"{message}. An exported model computes with tensors only: use sl.tensor.where "
            "instead of `if`, read no values, and keep parameters in the module"
        ) from error


@contextmanager
def _restore_network(capture: ExportCapture, model: Module) -> Generator[None]:
    """Restore the network after the block; raise if the call has set a plain attribute."""
    parts = {id(it): it for it in (model, *(part for _, part in model.named(Module)))}
    before = [(part, dict(vars(part))) for part in parts.values()]
    try:
        yield
        for part, known in before:
            plain = {n: v for n, v in vars(part).items() if isinstance(v, _SCALAR_TYPES)}
            new = [n for n, v in plain.items() if n not in known or known[n] is not v]
            if new:
                raise ExportError(
                    f"{type(part).__name__} sets {new[0]} during the call, but an exported "
                    "model stores nothing between batches: set it in __init__"
                )
    finally:
        capture.restore_leaves()
        for part, known in before:  # attributes may contain symbolic sizes
            vars(part).clear()
            vars(part).update(known)


def _check_unchanged(capture: ExportCapture) -> None:
    """Raise if a call writes a buffer, which exported graphs do not support."""
    for leaf, value in capture.admitted.values():
        array: Any = leaf.array
        if not (isinstance(array, Symbol) and array.value is value):
            raise ExportError(
                f"the network changes {getattr(leaf, 'path', '') or 'a state'} in "
                "evaluation mode, but an exported model stores nothing between batches; "
                "write it in training mode only"
            )


def _find_output(capture: ExportCapture, result: Any) -> Symbol:
    """Return the value of the output; raise unless the output is one tensor."""
    raw = getattr(result, "raw", None)
    fixed = {value.number for _, value in capture.admitted.values()}
    fixed |= set(capture.recorder.graph.constants)
    if isinstance(raw, Symbol) and raw.value.number not in fixed:
        return raw
    kind = type(result).__name__
    description = (
        "a tensor that does not depend on its inputs" if raw is not None else f"a {kind}"
    )
    raise ExportError(
        f"the network returns {description}; an exported model returns one tensor with a "
        "row for each record: export a module that returns such a tensor"
    )


def check_dtype(name: object, description: str) -> str:
    """Return the name of a dtype; raise if exported models do not support it."""
    found = str(name)
    if found not in EXPORTED_DTYPES:
        raise ExportError(
            f"{description} has the dtype {found}; an exported model supports only "
            f"{', '.join(EXPORTED_DTYPES)}: move the network with "
            'model.to("numpy", "float32") before the export'
        )
    return found
