"""Values of a graph: tensors, constants and lazy values; and the call of an operator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

import numpy as np

from seqloom._arguments import quote
from seqloom.errors import OperationError
from seqloom.nn._operands import as_operand
from seqloom.tensor import Tensor, apply, backend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from seqloom.models._onnx._graph import OnnxNode

    # Function that computes the outputs of a node: tensors, constants or lazy values.
    Operator: TypeAlias = Callable[["OnnxCall"], Any]

_DIRECTIONS_LAST = (0, 2, 1, 3)


@dataclass(frozen=True, eq=False, slots=True)
class Permuted:
    """Lazy permutation of the axes of a tensor."""

    base: Tensor
    order: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape after the permutation."""
        return tuple(self.base.shape[axis] for axis in self.order)

    def tensor(self) -> Tensor:
        """Compute the permuted tensor."""
        return apply("permute_dims", self.base, self.order)


@dataclass(frozen=True, eq=False, slots=True)
class Reshaped:
    """Lazy reshape of a tensor."""

    base: Tensor
    shape: tuple[int, ...]

    def tensor(self) -> Tensor:
        """Compute the reshaped tensor."""
        return apply("reshape", self.base, self.shape)


@dataclass(frozen=True, eq=False, slots=True)
class Directions:
    """States of a recurrent node, ``(position, direction, record, width)``.

    With `is_last`, the axes are ``(position, record, direction, width)``.
    """

    states: tuple[Tensor, ...]  # one array per direction: (record, position, width)
    is_last: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape in the axis order of ONNX."""
        records, positions, width = self.states[0].shape
        count = len(self.states)
        middle = (records, count) if self.is_last else (count, records)
        return (positions, *middle, width)

    def tensor(self) -> Tensor:
        """Stack the directions into one tensor."""
        axis, order = (2, (1, 0, 2, 3)) if self.is_last else (1, (2, 1, 0, 3))
        return apply("permute_dims", apply("stack", list(self.states), axis=axis), order)

    @property
    def joined_shape(self) -> tuple[int, ...] | None:
        """Shape with directions and width joined into one axis; None unless `is_last`."""
        *before, directions, width = self.shape
        return (*before, directions * width) if self.is_last else None

    def joined(self) -> Permuted:
        """Return the joined states ``(position, record, direction * width)``."""
        is_one = len(self.states) == 1
        rows = self.states[0] if is_one else apply("concat", list(self.states), axis=2)
        return Permuted(rows, (1, 0, 2))


@dataclass(frozen=True, eq=False, slots=True)
class RowPositions:
    """Lazy sum of a position in each record and the first row of the record."""

    positions: Tensor
    begins: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape: one integer for each record."""
        return self.positions.shape

    def tensor(self) -> Tensor:
        """Compute the sum as a tensor."""
        return self.positions + as_operand(self.positions, self.begins)

    def has_stride(self, length: int) -> bool:
        """Return whether consecutive records start `length` rows apart."""
        return bool((self.begins == np.arange(len(self.begins)) * length).all())


@dataclass(frozen=True, eq=False, slots=True)
class RecordPositions:
    """Lazy pairs of a record index and a position in the record: ``(record, 2)``."""

    positions: Tensor  # shape (record, 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape: two integers for each record."""
        return (self.positions.shape[0], 2)

    def tensor(self) -> Tensor:
        """Compute the pairs as a tensor."""
        numbers = np.arange(self.positions.shape[0])[:, None]
        numbers = as_tensor(numbers.astype(self.positions.dtype), self.positions)
        return apply("concat", [numbers, self.positions], axis=1)


def is_known(value: Any) -> TypeGuard[NDArray[Any]]:
    """Return whether a value is constant: it does not depend on the inputs' values."""
    return isinstance(value, np.ndarray)


def to_tensor(value: Any) -> Any:
    """Compute the tensor of a lazy value; return other values unchanged."""
    return value if isinstance(value, Tensor) or is_known(value) else value.tensor()


def as_tensor(value: Any, x: Tensor) -> Tensor:
    """Convert a value to a tensor on the backend of `x`."""
    if not is_known(value):
        return to_tensor(value)
    if value.ndim and value.size and not any(value.strides):
        return fill_like(x, value.shape, value.flat[0])
    counted = _make_range_like(x, value)
    return as_operand(x, value) if counted is None else counted


def find_extreme(dtype: np.dtype[Any], *, largest: bool) -> Any:
    """Return the largest or smallest value of an element type; for floats, infinity."""
    if dtype.kind == "b":
        return largest
    if dtype.kind not in "iu":
        return np.inf if largest else -np.inf
    return np.iinfo(dtype).max if largest else np.iinfo(dtype).min


def fill_like(x: Tensor, shape: Sequence[int], value: Any) -> Tensor:
    """Create a tensor with a constant value on the backend of `x`."""
    # The tensor is computed from `x`, so that a captured graph contains no array of the
    # batch's size.
    if not x.size or not math.prod(shape):
        return as_operand(x, np.full(tuple(shape), value, np.asarray(value).dtype))
    one = x[tuple(slice(0, 1) for _ in x.shape)].reshape(())
    rows = apply("zeros_like", apply("broadcast_to", one, tuple(shape)))
    dtype = np.asarray(value).dtype
    rows = rows if rows.dtype == dtype else rows.astype(dtype.name)
    return rows if not value else rows + value.item()


def slice_axis(x: Tensor, axis: int, part: slice | int) -> Tensor:
    """Select a slice or a single index along an axis."""
    return x[(*(slice(None),) * axis, part)]


def pad_axis(x: Tensor, axis: int, widths: tuple[int, int], *, value: Any = 0) -> Tensor:
    """Pad an axis with a constant value on both sides."""
    around = [(0, 0)] * x.ndim
    around[axis] = widths
    return apply("pad", x, tuple(around), value=value)


def _make_range_like(x: Tensor, values: NDArray[Any]) -> Tensor | None:
    """Return a range on the backend of `x` if the values form a range; otherwise None."""
    # A range, unlike an array, lets a captured graph support batches of any size.
    row = values.ravel()
    if len(row) <= 1 or row.dtype.kind not in "if":
        return None
    start, step = row[0].item(), (row[1] - row[0]).item()
    if not (step and float(step).is_integer() and float(start).is_integer()):
        return None
    if not (row == start + step * np.arange(len(row))).all():
        return None
    ends = int(start), int(start + step * len(row)), int(step)
    made = Tensor(x.backend.arange(*ends, dtype=values.dtype.name), x.backend)
    return made if values.ndim == 1 else made.reshape(values.shape)


def reshape(value: Any, shape: Sequence[int]) -> Any:
    """Reshape a value lazily; consecutive reshapes are merged."""
    shape = tuple(shape)
    if isinstance(value, Reshaped):
        return reshape(value.base, shape)
    if isinstance(value, Directions) and shape == value.joined_shape:
        return value.joined()
    if tuple(value.shape) == shape:
        return value
    return value.reshape(shape) if is_known(value) else Reshaped(to_tensor(value), shape)


def permute(value: Any, order: Sequence[int]) -> Any:
    """Permute axes lazily; consecutive permutations are merged."""
    order = tuple(order)
    if is_known(value):
        return value.transpose(order)
    if isinstance(value, Directions) and not value.is_last and order == _DIRECTIONS_LAST:
        return Directions(value.states, is_last=True)
    if isinstance(value, Permuted):
        return permute(value.base, [value.order[axis] for axis in order])
    base = to_tensor(value)
    return base if order == tuple(range(base.ndim)) else Permuted(base, order)


# Limit for the number of elements of a constant, such as a shape or a table of
# positions.
MAX_CONSTANT_SIZE = 1 << 26


@dataclass(frozen=True, eq=False, slots=True)
class OnnxCall:
    """Node with the values of its inputs; None for an omitted input."""

    node: OnnxNode
    values: list[Any]
    opset: int

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_known(self) -> bool:
        """True if all inputs are constants, so the results are constants, too."""
        return all(it is None or is_known(it) for it in self.values)

    def has(self, place: int) -> bool:
        """Return whether an input exists."""
        return place < len(self.values) and self.values[place] is not None

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute of the node."""
        return self.node.attributes.get(name, default)

    def choice(self, name: str, default: str, choices: Sequence[str]) -> str:
        """Return a string attribute; raise if it is not one of the choices."""
        found = self.attribute(name, default)
        if found not in choices:
            self.fail(f"has {name}={quote(found)}, which is not supported")
        return found

    def value(self, place: int) -> Any:
        """Return an input; raise if the node lacks it."""
        if not self.has(place):
            raise OperationError(f"has no input {place}")
        return self.values[place]

    @property
    def first(self) -> Tensor:
        """First tensor among the inputs; its backend computes the node."""
        for value in self.values:
            if value is not None and not is_known(value):
                return to_tensor(value)
        return backend("numpy").tensor(np.asarray(self.value(0)))

    def tensor(self, place: int) -> Tensor:
        """Return an input as a tensor."""
        value = self.value(place)
        return as_tensor(value, self.first) if is_known(value) else to_tensor(value)

    def optional(self, place: int) -> Tensor | None:
        """Return an input as a tensor, or None if it is omitted."""
        return self.tensor(place) if self.has(place) else None

    def operand(self, place: int) -> Any:
        """Return an input as a tensor, or as a Python number if it is constant."""
        value = self.value(place)
        if is_known(value) and not value.ndim and not self.is_known:
            return value.item()
        return self.tensor(place)

    def constant(self, place: int, what: str) -> NDArray[Any]:
        """Return a constant input; raise if it depends on the inputs' values."""
        value = self.value(place)
        if not is_known(value):
            self.fail(
                f"computes its {what} from input values; only values that depend on the "
                "sizes of the inputs and on constants of the file are supported here"
            )
        return value

    def integers(self, place: int, what: str) -> list[int]:
        """Return a constant input as integers."""
        return [int(it) for it in self.constant(place, what).ravel()]

    def listed(self, name: str, place: int, default: Any = None) -> Any:
        """Return integers from an input, or in older files from an attribute."""
        if self.has(place):
            return self.integers(place, name)
        return self.attribute(name, default)

    def shape(self, place: int) -> tuple[int, ...]:
        """Return the shape of an input without computing a lazy value."""
        return tuple(map(int, self.value(place).shape))

    def axis(self, axis: int, rank: int) -> int:
        """Return a non-negative axis; raise if it is out of range."""
        if not -rank <= axis < max(rank, 1):
            self.fail(f"has axis={axis}, but its input has {rank} axes")
        return axis % max(rank, 1)

    def fail(self, reason: str) -> NoReturn:
        """Raise an error; the caller adds the name of the node."""
        raise OperationError(reason)
