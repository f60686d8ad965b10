"""Fusion of a group of elementwise operations into one program of the Rust extension."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._graph import Value
from seqloom.tensor._operations import OPERATIONS

if TYPE_CHECKING:
    from seqloom.tensor._graph import Operation

# The Rust extension uses the same names for these operations.
_OPERATION_KINDS = {name: line.kind for name, line in OPERATIONS.items()}
# fmt: off
_RUST_REDUCERS = {"sum": "sum", "mean": "mean", "max": "max", "min": "min",
                  "prod": "prod", "any": "max", "all": "min"}
# fmt: on
# Exponents for which a faster operation exists.
_FAST_POWERS = {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}
# Dtypes in native byte order. Comparing dtypes is faster than comparing their names.
_FLOAT_NAMES = {np.dtype(name): name for name in ("float32", "float64")}
_REDUCIBLE_DTYPES = frozenset(map(np.dtype, ("float32", "float64", "bool")))
_FUSED_DTYPES = _REDUCIBLE_DTYPES | frozenset(
    map(np.dtype, ("int64", "int32", "uint32", "uint8"))
)
_NUMBER_TYPES = (int, float, np.integer, np.floating)

# Maximum size of the result of a reduction along axes other than the last.
_MAX_REDUCED_SIZE = 65_536


def find_fused_dtype(operation: Operation) -> str | None:
    """Return the dtype in which an operation is fused, or None if it cannot be fused."""
    kind = _OPERATION_KINDS.get(operation.name)
    if kind not in ("float", "bool") or not _has_plain_args(operation):
        return None
    operands = [arg for arg in operation.args if isinstance(arg, Value)]
    if not all(value.dtype in _FUSED_DTYPES for value in operands):
        return None
    if kind == "float":
        return _FLOAT_NAMES.get(operation.outputs[0].dtype)
    arrays = [value for value in operands if not value.weak and value.dtype != np.bool_]
    dtypes = {value.dtype for value in arrays} or {np.dtype("float32")}
    return _FLOAT_NAMES.get(dtypes.pop()) if len(dtypes) == 1 else None


def _has_plain_args(operation: Operation) -> bool:
    """Return True if all arguments are values or numbers, and there are no options."""
    args = operation.args
    if operation.name == "astype":
        return set(operation.options) <= {"copy"} and args[0].dtype.kind in "fiub"
    if operation.name == "clip" and len(args) != 3:  # noqa: PLR2004
        return False
    if operation.name == "where" and not _is_boolean(args[0]):
        return False
    return not operation.options and all(
        isinstance(a, (Value, *_NUMBER_TYPES)) for a in args
    )


def _is_boolean(arg: object) -> bool:
    """Return True if the dtype of a value is bool."""
    return isinstance(arg, Value) and arg.dtype == np.bool_


def find_reduction(operation: Operation) -> str | None:
    """Return the Rust name of a reduction, or None if the reduction cannot be fused."""
    name, options = operation.name, operation.options
    if name not in _RUST_REDUCERS or not set(options) <= {"axis", "keepdims"}:
        return None
    x = operation.args[0]
    if not isinstance(x, Value) or len(operation.args) > 1 or 0 in x.shape:
        return None
    can_fuse = _is_reducible(operation, x) and _is_cheap_reduction(operation)
    return _RUST_REDUCERS[name] if can_fuse else None


def _is_reducible(operation: Operation, x: Value) -> bool:
    """Return True if a fused group supports the dtypes of the operand and the result."""
    if x.dtype != operation.outputs[0].dtype:
        return False
    is_boolean = operation.name in ("any", "all")
    return x.dtype in _REDUCIBLE_DTYPES and (x.dtype == np.bool_) == is_boolean


def _is_cheap_reduction(operation: Operation) -> bool:
    """Return True if a reduction is along the last axes, or its result is small."""
    shape: tuple[int, ...] = operation.args[0].shape
    axes = find_reduced_axes(operation)
    if axes == tuple(range(len(shape) - len(axes), len(shape))):
        return True
    kept = int(np.prod([size for axis, size in enumerate(shape) if axis not in axes]))
    return kept <= _MAX_REDUCED_SIZE and 4 * kept <= int(np.prod(shape))


def find_reduced_axes(operation: Operation) -> tuple[int, ...]:
    """Return the axes that a reduction removes, sorted and nonnegative."""
    rank = len(operation.args[0].shape)
    axis = operation.options.get("axis")
    if axis is None:
        return tuple(range(rank))
    axes = cast("tuple[int, ...]", axis if isinstance(axis, (tuple, list)) else (axis,))
    # An array without axes may be reduced along axis 0.
    return tuple(sorted(axis % rank for axis in axes)) if rank else ()


@dataclass(slots=True)
class FusedGroup:
    """A program of the Rust extension, with the graph values that it reads and writes."""

    program: _native.ElementwiseProgram
    inputs: list[Value]
    outputs: list[Value]


def fuse_group(operations: list[Operation], dtype: str, stored: set[int]) -> FusedGroup:
    """Compile a group; only values whose numbers are in `stored` are written to memory."""
    draft = _ProgramBuilder()
    values = [value for operation in operations for value in operation.outputs]
    own = {value.number for value in values}
    for operation in operations:
        for arg in operation.args:
            draft.add_argument(arg, own)
    for operation in operations:
        draft.add_step(operation)
    outputs = [value for value in values if value.number in stored]
    makers = {value.number: op for op in operations for value in op.outputs}
    results = [draft.describe_result(value, makers[value.number]) for value in outputs]
    constants, double = list(draft.constants), dtype == "float64"
    program = _native.ElementwiseProgram(
        double, len(draft.inputs), constants, draft.steps, results
    )
    return FusedGroup(program, draft.inputs, outputs)


@dataclass(slots=True)
class _ProgramBuilder:
    """An unfinished program; a slot is the number of an input, constant or step."""

    inputs: list[Value] = field(default_factory=list["Value"])
    constants: dict[float, int] = field(default_factory=dict[float, int])
    steps: list[tuple[str, list[int]]] = field(default_factory=list[tuple[str, list[int]]])
    # The slot number of each graph value, by the number of the value.
    _slots: dict[int, int] = field(default_factory=dict[int, int])

    def add_argument(self, arg: object, own: set[int]) -> None:
        """Add an input or a constant, unless the group computes the argument."""
        if not isinstance(arg, Value):
            self.constants.setdefault(_to_float(arg), len(self.constants))
        elif arg.number not in own and arg.number not in self._slots:
            self._slots[arg.number] = len(self.inputs)
            self.inputs.append(arg)
        self.constants.setdefault(0.0, len(self.constants))

    def _get_slot(self, arg: object) -> int:
        """Return the slot number of an argument."""
        if isinstance(arg, Value):
            return self._slots[arg.number]
        return len(self.inputs) + self.constants[_to_float(arg)]

    def add_step(self, operation: Operation) -> None:
        """Add an elementwise operation; reductions are described with their results."""
        if find_fused_dtype(operation) is None:
            return
        name, args = _lower_operation(operation)
        slots = [self._get_slot(arg) for arg in args]
        if name is None:
            self._slots[operation.outputs[0].number] = slots[0]
            return
        new_slot = len(self.inputs) + len(self.constants) + len(self.steps)
        self._slots[operation.outputs[0].number] = new_slot
        self.steps.append((name, slots))

    def describe_result(
        self, value: Value, maker: Operation
    ) -> tuple[int, str | None, list[int]]:
        """Return the slot of a result, the optional reduction, and the reduced axes."""
        if find_fused_dtype(maker) is not None:
            return self._slots[value.number], None, []
        slot = self._get_slot(maker.args[0])
        return slot, find_reduction(maker), list(find_reduced_axes(maker))


def _lower_operation(operation: Operation) -> tuple[str | None, tuple[object, ...]]:
    """Return the Rust name (None for a no-op) and the operands of an operation."""
    name, args = operation.name, operation.args
    if name == "astype":
        to_boolean = operation.outputs[0].dtype == np.bool_ != args[0].dtype
        return ("not_equal", (args[0], 0.0)) if to_boolean else (None, args[:1])
    if name == "pow" and not isinstance(args[1], Value) and float(args[1]) in _FAST_POWERS:
        return _FAST_POWERS[float(args[1])], args[:1]
    return name, args


def _to_float(arg: object) -> float:
    """Return a number as a float, or 0 for an unused argument, such as a dtype."""
    return float(cast("float", arg)) if isinstance(arg, _NUMBER_TYPES) else 0.0
