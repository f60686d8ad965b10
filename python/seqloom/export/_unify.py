"""Merge graphs that were traced at different sizes into one graph with named sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import ExportError
from seqloom.export._size import (
    Polynomial,
    Series,
    SymbolicRatio,
    SymbolicSize,
    evaluate_size,
    find_size,
    fit_size,
    to_polynomial,
)
from seqloom.tensor._graph import Graph, Operation, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seqloom.export._capture import Probe


def merge_traces(graph: Graph, probes: Sequence[Probe], sizes: Mapping[str, int]) -> Graph:
    """Name the sizes of a graph by comparison with graphs traced at other sizes."""
    # Values have the same numbers in all graphs, because the numbers follow the order
    # of operations.
    writer = _GraphMerger(probes)
    for name, size in sizes.items():
        writer.add_name(name, size)
    inputs = [writer.value(it) for it in graph.inputs]
    constants = {it: _merge_constant(graph, probes, it) for it in graph.constants}
    for number, array in graph.constants.items():
        writer.values[number] = Value(number, tuple(array.shape), array.dtype)
    rows = _zip_traces((graph.operations, *(it.graph.operations for it in probes)))
    operations = [writer.operation(row) for row in rows]
    outputs = [writer.values[value.number] for value in graph.outputs]
    return Graph(inputs, constants, operations, outputs)


def has_all_symbols(graph: Graph, probes: Sequence[Probe]) -> bool:
    """Return whether the symbolic sizes of a graph are correct in all other traces."""
    values = [value for op in graph.operations for value in op.outputs]
    return all(
        tuple(evaluate_size(to_polynomial(size), probe.sizes) for size in value.shape)
        == probe.shapes.get(value.number)
        for value in values
        for probe in probes
    )


def check_operations(first: Graph, other: Graph) -> None:
    """Raise at the first line of code where the operations of the graphs differ."""
    pairs = zip(first.operations, other.operations, strict=False)
    difference = next((it for it in pairs if it[0].name != it[1].name), None)
    if difference is not None:
        one, two = difference
        raise _make_layer_error(one.where, two.where, functions=True) or _difference_error(
            one.where, f"calls {one.name}, where {two.where} calls {two.name}"
        )
    if len(first.operations) != len(other.operations):
        last = max(first.operations, other.operations, key=len)[-1]
        raise _difference_error(last.where, f"calls {last.name} more often")


@dataclass(slots=True)
class _GraphMerger:
    """Merger of the values and operations of all traces, which also names sizes."""

    probes: Sequence[Probe]
    names: dict[str, Polynomial] = field(default_factory=dict[str, Polynomial])
    series: dict[Series, Polynomial] = field(default_factory=dict[Series, Polynomial])
    values: dict[int, Value] = field(default_factory=dict[int, Value])

    def add_name(self, name: str, size: int) -> None:
        """Add a size with a name."""
        polynomial = to_polynomial(size)
        others = (evaluate_size(polynomial, it.sizes) for it in self.probes)
        self.names[name] = polynomial
        self.series.setdefault((int(size), *others), polynomial)

    def operation(self, row: Sequence[Operation]) -> Operation:
        """Merge an operation of all traces; raise if it is not the same in all traces."""
        first = row[0]
        if len({len(it.outputs) for it in row}) > 1:
            raise _difference_error(first.where, f"calls {first.name} with another result")
        if "body" in first.options:
            raise ExportError(
                f"{first.where}: a loop (sl.tensor.scan) cannot be exported; use "
                "sl.nn.LSTM, sl.nn.GRU or operations on whole arrays"
            )
        args = self._merge_argument([it.args for it in row], first.where)
        options = self._merge_argument([it.options for it in row], first.where)
        for values in _zip_traces(it.outputs for it in row):
            if len({(it.number, len(it.shape), it.dtype) for it in values}) > 1:
                raise _difference_error(
                    first.where, f"calls {first.name} with other arrays"
                )
        outputs = tuple(map(self.value, first.outputs))
        return Operation(first.name, args, options, outputs, first.where)

    def value(self, value: Value) -> Value:
        """Merge a value of all traces, and name sizes that differ between batches."""
        shape = tuple(map(self._name_size, value.shape))
        made = Value(value.number, cast("Any", shape), value.dtype, value.weak)
        self.values[value.number] = made
        return made

    def _name_size(self, size: int) -> int | str:
        """Return the size of an axis, or the name of the size."""
        if not isinstance(size, SymbolicSize):
            return size
        known = (name for name, it in self.names.items() if it == size.polynomial)
        if (name := next(known, None)) is None:
            name = f"n{sum(it.startswith('n') for it in self.names) + 1}"
            self.add_name(name, size)
        return name

    def _merge_argument(self, row: Sequence[Any], where: str) -> Any:
        """Merge an argument of all traces."""
        first = row[0]
        if len(set(map(_argument_type, row))) > 1:
            raise _difference_error(where, "passes arguments of different types")
        if isinstance(first, Value):  # numbers with the same value in all traces
            if len({it.number for it in row}) > 1:
                raise _difference_error(where, "reads different values")
            return self.values[first.number]
        kinds = [kind for kind in _MERGE if isinstance(first, kind)]
        return (
            _MERGE[kinds[0]](self, row, where) if kinds else self._merge_plain(row, where)
        )

    def merge_list(self, row: Sequence[Any], where: str) -> Any:
        """Merge lists or tuples element by element."""
        if len({len(it) for it in row}) > 1:
            raise _difference_error(where, "passes lists of different lengths")
        parts = [self._merge_argument(it, where) for it in _zip_traces(row)]
        return parts if isinstance(row[0], list) else tuple(parts)

    def merge_dict(self, row: Sequence[dict[str, Any]], where: str) -> Any:
        """Merge the options of all traces by name."""
        if any(it.keys() != row[0].keys() for it in row):
            raise _difference_error(where, "passes other options")
        return {key: self._merge_argument([it[key] for it in row], where) for key in row[0]}

    def merge_slice(self, row: Sequence[Any], where: str) -> Any:
        """Merge slices by their start, stop and step."""
        return slice(
            *self._merge_argument([(it.start, it.stop, it.step) for it in row], where)
        )

    def _merge_plain(self, row: Sequence[Any], where: str) -> Any:
        """Return a constant argument unchanged; replace other integers by named sizes."""
        first = row[0]
        if not isinstance(first, SymbolicSize) and len(set(map(repr, row))) == 1:
            return first
        if _argument_type(first) is not int:
            raise _make_layer_error(where) or ExportError(
                f"{where} passes a {_argument_type(first).__name__} that depends on the "
                f"sizes of the batch ({first!r} and {row[1]!r}); multiply and divide by "
                "the sizes, one after the other"
            )
        symbol = self._find_symbol(row)
        size = None if symbol is None else find_size(symbol, self.names)
        if size is None:
            raise _make_number_error(row, where)
        return size

    def _find_symbol(self, row: Sequence[int]) -> SymbolicSize | None:
        """Return the symbolic size that equals an integer in all traces, or None."""
        first, *others = row
        found = [evaluate_size(to_polynomial(first), it.sizes) for it in self.probes]
        if found == others and isinstance(first, SymbolicSize):
            return first
        polynomial = fit_size((int(first), *others), self.series)
        return None if polynomial is None else SymbolicSize(first, polynomial)


_MERGE: dict[Any, Any] = {
    list: _GraphMerger.merge_list,
    tuple: _GraphMerger.merge_list,
    dict: _GraphMerger.merge_dict,
    slice: _GraphMerger.merge_slice,
}


def _argument_type(arg: Any) -> type[Any]:
    """Return the type of an argument, which is int or float for a symbolic number."""
    if isinstance(arg, SymbolicSize):
        return int
    return float if isinstance(arg, SymbolicRatio) else cast("type[Any]", type(arg))


def _make_number_error(row: Sequence[int], where: str) -> ExportError:
    """Return the error for an integer that was not computed from tensor shapes."""
    found = ", ".join(map(str, row))
    return _make_layer_error(where) or ExportError(
        f"{where} passes a number ({found}) that is not a product, quotient or sum of the "
        "sizes of the batch; use the shape of a tensor (x.shape[0], not len(x)), "
        "and divide with // (not int(a / b) or NumPy)"
    )


def _zip_traces(parts: Any) -> Any:
    """Yield tuples of the elements that all traces have at the same index."""
    return zip(*parts, strict=True)


def _difference_error(where: str, what: str) -> ExportError:
    """Return the error for a network whose operations depend on the sizes."""
    return ExportError(
        f"{where or 'the network'} {what} at another size of the batch, but an exported "
        "graph is the same for all sizes; use sl.tensor.where, or export for one length "
        "(length=)"
    )


def _make_layer_error(*lines: str, functions: bool = False) -> ExportError | None:
    """Return the error for a layer of `sl.nn` that depends on the size, or None."""
    names = {getattr(it, "layer", "") for it in lines}
    if functions:  # use the function's name if no layer is known
        names = {getattr(it, "layer", "") or getattr(it, "function", "") for it in lines}
    if len(names) > 1 or "" in names:
        return None
    return ExportError(
        f"{lines[0]}: {names.pop()} has other windows or operations at another length, "
        "but an exported graph is the same for all lengths; export for one length "
        '(length=24, or a number instead of "length" in inputs=)'
    )


def _merge_constant(graph: Graph, probes: Sequence[Probe], number: int) -> Any:
    """Return a constant; raise if the constant depends on the size of the batch."""
    first = graph.constants[number]
    content = first.shape, first.tobytes()
    found = (it.graph.constants.get(number) for it in probes)
    if not all(it is not None and (it.shape, it.tobytes()) == content for it in found):
        readers = (
            op for op in graph.operations if number in {it.number for it in op.inputs()}
        )
        where = next((op.where for op in readers), "the network")
        raise _make_layer_error(where, functions=True) or ExportError(
            f"{where} uses a NumPy array that depends on the sizes of the batch; create it "
            "with a backend function, such as x.backend.arange"
        )
    return first
