"""One graph with sizes by name, of several that were traced at different sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import ExportError
from seqloom.export._size import Series, Size, find_size
from seqloom.tensor._graph import Graph, Operation, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np


def unify(graphs: Sequence[Graph], sizes: Sequence[Mapping[str, int]]) -> Graph:
    """Joins graphs of the same operations; a size that differs gets a name."""
    # The numbers of values agree, because they are given in the order of the operations.
    names = {name: tuple(it[name] for it in sizes) for name in sizes[0]}
    writer = _Writer(len(graphs), names)
    check_operations(graphs)
    first = graphs[0]
    inputs = [writer.value(row) for row in _rows(it.inputs for it in graphs)]
    constants = {number: _constant(graphs, number) for number in first.constants}
    for number in first.constants:
        writer.values[number] = _find_constant(first, number)
    operations = [writer.operation(row) for row in _rows(it.operations for it in graphs)]
    outputs = [writer.values[value.number] for value in first.outputs]
    return Graph(inputs, constants, operations, outputs)


def check_operations(graphs: Sequence[Graph]) -> None:
    """Refuses graphs whose operations differ, and names the line where they part."""
    first = graphs[0]
    for other in graphs[1:]:
        pairs = zip(first.operations, other.operations, strict=False)
        parted = next((it for it in pairs if it[0].name != it[1].name), None)
        if parted is not None:
            one, two = parted
            raise _blame_layer(one.where, two.where, functions=True) or _differs(
                one.where, f"calls {one.name}, where {two.where} calls {two.name}"
            )
        if len(first.operations) != len(other.operations):
            last = max(first.operations, other.operations, key=len)[-1]
            raise _differs(last.where, f"calls {last.name} more often")


@dataclass(slots=True)
class _Writer:
    """Writes values and operations, and names the sizes that it meets."""

    traces: int
    sizes: dict[str, Series]
    values: dict[int, Value] = field(default_factory=dict[int, Value])

    def operation(self, row: Sequence[Operation]) -> Operation:
        """Joins the same operation of all traces."""
        first = row[0]
        same = [
            (it.name, len(it.outputs)) == (first.name, len(first.outputs)) for it in row
        ]
        if not all(same):
            raise _differs(
                first.where, f"calls {first.name} or {row[same.index(False)].name}"
            )
        if "body" in first.options:
            raise ExportError(
                f"{first.where}: a loop (sl.tensor.scan) cannot be exported; use "
                "sl.nn.LSTM, sl.nn.GRU or operations on whole arrays"
            )
        args = self._join([it.args for it in row], first.where)
        options = self._join([it.options for it in row], first.where)
        outputs = tuple(map(self.value, _rows(it.outputs for it in row)))
        return Operation(first.name, args, options, outputs, first.where)

    def value(self, row: Sequence[Value]) -> Value:
        """Joins the same value of all traces: each differing size has a name."""
        first = row[0]
        if len({len(it.shape) for it in row}) > 1 or len({it.dtype for it in row}) > 1:
            raise _differs("", "makes arrays of different types")
        shape = tuple(self._name_size(axis) for axis in _rows(it.shape for it in row))
        made = Value(first.number, cast("Any", shape), first.dtype, first.weak)
        self.values[first.number] = made
        return made

    def _name_size(self, series: Sequence[int]) -> int | str:
        """Gives the size of an axis, or its name."""
        found = tuple(series)
        if len(set(found)) == 1:
            return found[0]
        known = (name for name, it in self.sizes.items() if it == found)
        name = next(known, None) or f"n{sum(it.startswith('n') for it in self.sizes) + 1}"
        self.sizes.setdefault(name, found)
        return name

    def _join(self, row: Sequence[Any], where: str) -> Any:
        """Joins the same argument of all traces."""
        first = row[0]
        if any(type(it) is not type(first) for it in row):
            raise _differs(where, "passes arguments of different types")
        if isinstance(first, Value):
            return self._find_value(row, where)
        kinds = [kind for kind in _JOIN if isinstance(first, kind)]
        return _JOIN[kinds[0]](self, row, where) if kinds else self._join_plain(row, where)

    def join_list(self, row: Sequence[Any], where: str) -> Any:
        """Joins lists or tuples, part by part."""
        if len({len(it) for it in row}) > 1:
            raise _differs(where, "passes lists of different lengths")
        parts = [self._join(it, where) for it in _rows(row)]
        return parts if isinstance(row[0], list) else tuple(parts)

    def join_dict(self, row: Sequence[dict[str, Any]], where: str) -> Any:
        """Joins options, one by one."""
        if any(it.keys() != row[0].keys() for it in row):
            raise _differs(where, "passes other options")
        return {key: self._join([it[key] for it in row], where) for key in row[0]}

    def join_slice(self, row: Sequence[Any], where: str) -> Any:
        """Joins slices, end by end."""
        return slice(*self._join([(it.start, it.stop, it.step) for it in row], where))

    def _find_value(self, row: Sequence[Value], where: str) -> Value:
        """Gives the value, which has the same number in all traces."""
        if len({it.number for it in row}) > 1:
            raise _differs(where, "reads different values")
        return self.values[row[0].number]

    def _join_plain(self, row: Sequence[Any], where: str) -> Any:
        """Gives what is the same everywhere, or how an integer follows from sizes."""
        first = row[0]
        if len(set(map(repr, row))) == 1:
            return first
        if type(first) is not int:
            raise _blame_layer(where) or ExportError(
                f"{where} passes a {type(first).__name__} that depends on the sizes of the "
                f"batch ({first!r} and {row[1]!r}); multiply and divide by the "
                "sizes themselves, one after the other"
            )
        found = find_size(tuple(row), self.sizes)
        return found or _refuse_number(row, where)


_JOIN: dict[Any, Any] = {
    list: _Writer.join_list,
    tuple: _Writer.join_list,
    dict: _Writer.join_dict,
    slice: _Writer.join_slice,
}


def _refuse_number(row: Sequence[int], where: str) -> Size:
    """Refuses an integer that follows from no sizes."""
    found = ", ".join(map(str, row))
    raise _blame_layer(where) or ExportError(
        f"{where} passes a number ({found}) that is no product, quotient or sum of the "
        "sizes of the batch; take it from the shape of a tensor"
    )


def _rows(parts: Any) -> Any:
    """Yields the first of all, then the second of all."""
    return zip(*parts, strict=True)


def _differs(where: str, what: str) -> ExportError:
    """Makes the error of a network whose operations follow from the sizes."""
    return ExportError(
        f"{where or 'the network'} {what} at another size of the batch, but an exported "
        "graph is the same for all; choose with sl.tensor.where, or give the export one "
        "length (length=)"
    )


def _blame_layer(*lines: str, functions: bool = False) -> ExportError | None:
    """Makes the error of a layer of `sl.nn`, whose code is not the user's; else None."""
    names = {getattr(it, "layer", "") for it in lines}
    if functions:  # these take no sizes from their caller
        names = {getattr(it, "layer", "") or getattr(it, "function", "") for it in lines}
    if len(names) > 1 or "" in names:
        return None
    return ExportError(
        f"{lines[0]}: {names.pop()} has other windows, or other operations, at another "
        "length, but an exported graph is the same for all; give the export one length "
        '(length=24, or a number instead of "length" in inputs=)'
    )


def _find_constant(graph: Graph, number: int) -> Value:
    """Makes the value of a constant."""
    array: np.ndarray[Any, Any] = graph.constants[number]
    return Value(number, tuple(array.shape), array.dtype)


def _constant(graphs: Sequence[Graph], number: int) -> Any:
    """Gives a constant; refuses one that the size of the batch decides."""
    arrays = [it.constants[number] for it in graphs]
    first = arrays[0]
    same = (it.shape == first.shape and it.tobytes() == first.tobytes() for it in arrays)
    if not all(same):
        reads = (op for op in graphs[0].operations if _reads(op, number))
        where = next((op.where for op in reads), "the network")
        raise _blame_layer(where, functions=True) or ExportError(
            f"{where} uses an array of NumPy's that depends on the sizes of the batch; "
            "make it by a function of the backend, such as x.backend.arange"
        )
    return first


def _reads(operation: Operation, number: int) -> bool:
    """Tells whether an operation reads a value."""
    return any(value.number == number for value in operation.inputs())
