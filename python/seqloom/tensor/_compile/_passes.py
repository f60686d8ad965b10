"""Passes over a captured graph, which remove unused operations and insert copies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._compile._capture import MIXED_NUMBER_FUNCTIONS
from seqloom.tensor._graph import OVERWRITES, Graph, Operation, Value, map_values, values_in
from seqloom.tensor._leaves import to_cache_key

if TYPE_CHECKING:
    from collections.abc import Callable


# Operations that return their operand if shape and dtype remain the same.
_IDENTITY_OPERATIONS = frozenset(
    {
        *("reshape", "broadcast_to", "astype", "asarray"),
        *("positive", "stop_gradient", "to_full_precision"),
    }
)


def simplify(graph: Graph) -> Graph:
    """Return the graph without repeated and unused operations."""
    return _remove_unused(_remove_repeated(graph))


def _remove_repeated(graph: Graph) -> Graph:
    """Remove operations without effect, and operations that repeat an earlier operation."""
    replacements: dict[int, Value] = {}
    known: dict[Any, Operation] = {}
    kept: list[Operation] = []

    def find_replacement(value: Value) -> Value:
        return replacements.get(value.number, value)

    for operation in graph.operations:
        args = map_values(operation.args, find_replacement)
        current = replace(operation, args=args)
        if (same := _find_unchanged(current)) is not None:
            replacements[operation.outputs[0].number] = same
            continue
        first = known.setdefault(_operation_key(current), current)
        if first is current:
            kept.append(current)
        else:
            pairs = zip(operation.outputs, first.outputs, strict=True)
            replacements.update((old.number, new) for old, new in pairs)
    outputs = [find_replacement(value) for value in graph.outputs]
    return replace(graph, operations=kept, outputs=outputs)


def _find_unchanged(operation: Operation) -> Value | None:
    """Return the operand if the operation returns it unchanged, else None."""
    source = operation.args[0] if operation.args else None
    if not isinstance(source, Value) or source.weak:
        return None
    result = operation.outputs[0]
    if (source.shape, source.dtype) != (result.shape, result.dtype):
        return None
    # A copy is recorded as a multiplication by the Python integer 1. The factors True
    # and 1.0 may change the dtype.
    factor: Any = operation.args[-1]
    is_copy = operation.name == "multiply" and type(factor) is int and factor == 1
    return source if is_copy or operation.name in _IDENTITY_OPERATIONS else None


def _operation_key(operation: Operation) -> object:
    """Return a key that is the same for equal operations; each loop has a unique key."""
    if operation.name == "scan":
        return id(operation)
    args = map_values(operation.args, lambda value: ("%", value.number))
    return operation.name, to_cache_key(args), to_cache_key(operation.options)


def _remove_unused(graph: Graph) -> Graph:
    needed = {value.number for value in graph.outputs}
    kept: list[Operation] = []
    for operation in reversed(graph.operations):
        if any(value.number in needed for value in operation.outputs):
            kept.append(operation)
            needed.update(value.number for value in operation.inputs())
    constants = {n: array for n, array in graph.constants.items() if n in needed}
    return replace(graph, constants=constants, operations=kept[::-1])


# Operations whose results may share the memory of their first argument.
_VIEW_OPERATIONS = frozenset(
    {
        *("reshape", "permute_dims", "broadcast_to", "expand_dims", "squeeze", "index"),
        *("flip", "matrix_transpose", "unstack", "roll", "tile", "repeat"),
        *("astype", "asarray", "stop_gradient", "positive", "to_full_precision"),
    }
)


def insert_copies(
    graph: Graph,
    shared: set[int],  # Inputs that may be changed later: state and NumPy arrays.
    state_count: int,  # Number of outputs that are new state, which come first.
    new_value: Callable[..., Value],
) -> Graph:
    """Return the graph with copies where memory would be shared or overwritten."""
    # Copy each result that shares memory with state, and each new state that shares
    # memory with another output.
    roots = _find_roots(graph.operations)
    fixed = {value.number for value in graph.inputs} | set(graph.constants)
    used, copies, outputs = set[int](), list[Operation](), list[Value]()
    for position, value in enumerate(graph.outputs):
        root = roots.get(value.number, value.number)
        foreign = fixed if position < state_count else shared
        if root in foreign or root in used:
            copies.append(_make_copy(value, new_value))
            value = copies[-1].outputs[0]  # noqa: PLW2901
        used.add(root)
        outputs.append(value)
    operations = [*graph.operations, *copies]
    graph = replace(graph, operations=operations, outputs=outputs)
    return _copy_before_writes(graph, new_value)


def _copy_before_writes(graph: Graph, new_value: Callable[..., Value]) -> Graph:
    """Copy a value before it is overwritten, if its old contents are still needed."""
    roots = _find_roots(graph.operations)
    # Find the last operation that reads each value; the outputs of the graph are read
    # at the end.
    last: dict[int, int] = {}
    for position, operation in enumerate(graph.operations):
        for value in operation.inputs():
            last[roots.get(value.number, value.number)] = position
    for value in graph.outputs:
        last[roots.get(value.number, value.number)] = len(graph.operations)
    donated = {graph.inputs[position].number for position in graph.donated}
    own = donated | {v.number for op in graph.operations for v in op.outputs}
    operations: list[Operation] = []
    for position, operation in enumerate(graph.operations):
        copies: dict[int, Operation] = {}
        written = [operation.args[at] for at in OVERWRITES.get(operation.name, ())]
        for value in values_in(written):
            root = roots.get(value.number, value.number)
            is_free = root == value.number and root in own and last[root] <= position
            if not is_free:
                copies[value.number] = _make_copy(value, new_value)
        operations += [*copies.values(), _read_copies(operation, copies)]
    return replace(graph, operations=operations)


def _read_copies(operation: Operation, copies: dict[int, Operation]) -> Operation:
    """Return the operation with copies as its operands."""
    if not copies:
        return operation

    def read_copy(value: Value) -> Value:
        copy = copies.get(value.number)
        return value if copy is None else copy.outputs[0]

    return replace(operation, args=map_values(operation.args, read_copy))


def _find_roots(operations: list[Operation]) -> dict[int, int]:
    """Return, for each value that may be a view, the value whose memory it may share."""
    roots: dict[int, int] = {}
    for operation in operations:
        sources = (
            list(values_in(operation.args[:1]))
            if operation.name in _VIEW_OPERATIONS
            else []
        )
        for value in operation.outputs if sources else ():
            number = sources[0].number
            roots[value.number] = roots.get(number, number)
    return roots


def _make_copy(value: Value, new_value: Callable[..., Value]) -> Operation:
    """Return an operation that copies a value."""
    args: tuple[Any, ...] = (value, 1)
    name = "multiply"
    if value.dtype == np.bool_:
        name, args = "logical_or", (value, value)
    return Operation(name, args, {}, (new_value(value.shape, value.dtype),), "copy")


def cast_numbers(graph: Graph) -> Graph:
    """Cast each Python number (an array without axes) to the dtype of the other operand."""
    weak = {value.number for value in graph.inputs if value.weak}
    casts: dict[tuple[int, np.dtype[np.generic]], Operation] = {}
    operations: list[Operation] = []
    made = [value for operation in graph.operations for value in operation.outputs]
    numbers = [value.number for value in (*graph.inputs, *made)]
    first_free = max([*numbers, *graph.constants], default=0) + 1

    def cast_value(value: Value, dtype: np.dtype[np.generic]) -> Value:
        if not value.weak:
            return value
        known = casts.get((value.number, dtype))
        if known is None:
            output = Value(first_free + len(casts), (), dtype)
            known = Operation("astype", (value, dtype), {}, (output,))
            casts[value.number, dtype] = known
            operations.append(known)
        return known.outputs[0]

    for operation in graph.operations:
        numbers = [value for value in operation.inputs() if value.number in weak]
        if numbers and operation.name not in MIXED_NUMBER_FUNCTIONS:
            dtype = _find_common_dtype(operation, weak)
            args = map_values(operation.args, lambda v, d=dtype: cast_value(v, d))
            operation = replace(operation, args=args)  # noqa: PLW2901
        operations.append(operation)
    return replace(graph, operations=operations)


def _find_common_dtype(operation: Operation, weak: set[int]) -> np.dtype[np.generic]:
    """Return the dtype of the result or, for a comparison, of the array."""
    dtype = operation.outputs[0].dtype
    if dtype.kind != "b":
        return dtype
    return next(v.dtype for v in operation.inputs() if v.number not in weak)
