"""Values of a graph, and the call of an operator with them."""

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

    from seqloom.models._onnx._graph import Node

    # Computes the outputs of a node: tensors, known numbers, or values to be laid out.
    Operator: TypeAlias = Callable[["Call"], Any]

_DIRECTIONS_LAST = (0, 2, 1, 3)


@dataclass(frozen=True, eq=False, slots=True)
class Permuted:
    """A tensor whose axes are still to be brought into another order."""

    base: Tensor
    order: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes in the new order."""
        return tuple(self.base.shape[axis] for axis in self.order)

    def tensor(self) -> Tensor:
        """Bring the axes into order."""
        return apply("permute_dims", self.base, self.order)


@dataclass(frozen=True, eq=False, slots=True)
class Reshaped:
    """A tensor that is still to get another shape, with the same values in a row."""

    base: Tensor
    shape: tuple[int, ...]

    def tensor(self) -> Tensor:
        """Return the values the shape."""
        return apply("reshape", self.base, self.shape)


@dataclass(frozen=True, eq=False, slots=True)
class Directions:
    """The states of a recurrent node, ``(position, direction, record, width)``.

    With `is_last`, ``(position, record, direction, width)``.
    """

    states: tuple[Tensor, ...]  # of each direction, (record, position, width)
    is_last: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes as ONNX has them."""
        records, positions, width = self.states[0].shape
        count = len(self.states)
        middle = (records, count) if self.is_last else (count, records)
        return (positions, *middle, width)

    def tensor(self) -> Tensor:
        """Put the directions side by side."""
        axis, order = (2, (1, 0, 2, 3)) if self.is_last else (1, (2, 1, 0, 3))
        return apply("permute_dims", apply("stack", list(self.states), axis=axis), order)

    @property
    def joined_shape(self) -> tuple[int, ...] | None:
        """The sizes with directions and width as one axis; None unless `is_last`."""
        *before, directions, width = self.shape
        return (*before, directions * width) if self.is_last else None

    def joined(self) -> Permuted:
        """Return ``(position, record, direction * width)``."""
        is_one = len(self.states) == 1
        rows = self.states[0] if is_one else apply("concat", list(self.states), axis=2)
        return Permuted(rows, (1, 0, 2))


@dataclass(frozen=True, eq=False, slots=True)
class RowPlaces:
    """A position in each record, plus where that record begins among all rows."""

    positions: Tensor
    begins: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """One number for each record."""
        return self.positions.shape

    def tensor(self) -> Tensor:
        """Add them."""
        return self.positions + as_operand(self.positions, self.begins)

    def begin_at(self, length: int) -> bool:
        """Return whether each record begins `length` rows after the one before."""
        return bool((self.begins == np.arange(len(self.begins)) * length).all())


@dataclass(frozen=True, eq=False, slots=True)
class RecordPlaces:
    """A position in each record, beside the number of the record: ``(record, 2)``."""

    positions: Tensor  # (record, 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """Two numbers for each record."""
        return (self.positions.shape[0], 2)

    def tensor(self) -> Tensor:
        """Put the numbers beside the positions."""
        numbers = np.arange(self.positions.shape[0])[:, None]
        numbers = as_tensor(numbers.astype(self.positions.dtype), self.positions)
        return apply("concat", [numbers, self.positions], axis=1)


def is_known(value: Any) -> TypeGuard[NDArray[Any]]:
    """Return whether a value is known before anything is computed."""
    return isinstance(value, np.ndarray)


def lay_out(value: Any) -> Any:
    """Return the tensor of a value that is still to be laid out; others as they are."""
    return value if isinstance(value, Tensor) or is_known(value) else value.tensor()


def as_tensor(value: Any, x: Tensor) -> Tensor:
    """Return a value as a tensor on the backend of `x`."""
    if not is_known(value):
        return lay_out(value)
    if value.ndim and value.size and not any(value.strides):
        return fill_like(x, value.shape, value.flat[0])
    counted = _count_like(x, value)
    return as_operand(x, value) if counted is None else counted


def find_extreme(dtype: np.dtype[Any], *, largest: bool) -> Any:
    """Return the largest or the smallest value of an element type; of floats, infinity."""
    if dtype.kind == "b":
        return largest
    if dtype.kind not in "iu":
        return np.inf if largest else -np.inf
    return np.iinfo(dtype).max if largest else np.iinfo(dtype).min


def fill_like(x: Tensor, shape: Sequence[int], value: Any) -> Tensor:
    """Make a tensor of one number, on the backend of `x`."""
    # Made of `x`, so that a captured graph has no array of the batch's size.
    if not x.size or not math.prod(shape):
        return as_operand(x, np.full(tuple(shape), value, np.asarray(value).dtype))
    one = x[tuple(slice(0, 1) for _ in x.shape)].reshape(())
    rows = apply("zeros_like", apply("broadcast_to", one, tuple(shape)))
    dtype = np.asarray(value).dtype
    rows = rows if rows.dtype == dtype else rows.astype(dtype.name)
    return rows if not value else rows + value.item()


def take_part(x: Tensor, axis: int, part: slice | int) -> Tensor:
    """Take a slice or one position of an axis."""
    return x[(*(slice(None),) * axis, part)]


def pad_axis(x: Tensor, axis: int, widths: tuple[int, int], *, value: Any = 0) -> Tensor:
    """Add a number before and after an axis."""
    around = [(0, 0)] * x.ndim
    around[axis] = widths
    return apply("pad", x, tuple(around), value=value)


def _count_like(x: Tensor, values: NDArray[Any]) -> Tensor | None:
    """Count from one number to another on the backend of `x`, if the numbers are such."""
    # A captured graph then counts to whatever size a batch has.
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
    """Return a value another shape; of two in a row the first is left out."""
    shape = tuple(shape)
    if isinstance(value, Reshaped):
        return reshape(value.base, shape)
    if isinstance(value, Directions) and shape == value.joined_shape:
        return value.joined()
    if tuple(value.shape) == shape:
        return value
    return value.reshape(shape) if is_known(value) else Reshaped(lay_out(value), shape)


def permute(value: Any, order: Sequence[int]) -> Any:
    """Bring axes into another order; two orders in a row become one."""
    order = tuple(order)
    if is_known(value):
        return value.transpose(order)
    if isinstance(value, Directions) and not value.is_last and order == _DIRECTIONS_LAST:
        return Directions(value.states, is_last=True)
    if isinstance(value, Permuted):
        return permute(value.base, [value.order[axis] for axis in order])
    base = lay_out(value)
    return base if order == tuple(range(base.ndim)) else Permuted(base, order)


# Known numbers are few: a shape, or a table of positions.
MOST_KNOWN = 1 << 26


@dataclass(frozen=True, eq=False, slots=True)
class Call:
    """A node with the values of its inputs; None for one that is left out."""

    node: Node
    values: list[Any]
    opset: int

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_known(self) -> bool:
        """Whether all inputs are known numbers, so that the result is such too."""
        return all(it is None or is_known(it) for it in self.values)

    def has(self, place: int) -> bool:
        """Return whether an input is given."""
        return place < len(self.values) and self.values[place] is not None

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute of the node."""
        return self.node.attributes.get(name, default)

    def word(self, name: str, default: str, choices: Sequence[str]) -> str:
        """Return an attribute that is one of some words."""
        found = self.attribute(name, default)
        if found not in choices:
            self.refuse(f"has {name}={quote(found)}, which is not supported")
        return found

    def value(self, place: int) -> Any:
        """Return an input as it is; refuses a node that lacks it."""
        if not self.has(place):
            raise OperationError(f"has no input {place}")
        return self.values[place]

    @property
    def first(self) -> Tensor:
        """A tensor on the backend that computes: the first one among the inputs."""
        for value in self.values:
            if value is not None and not is_known(value):
                return lay_out(value)
        return backend("numpy").tensor(np.asarray(self.value(0)))

    def tensor(self, place: int) -> Tensor:
        """Return an input as a tensor."""
        value = self.value(place)
        return as_tensor(value, self.first) if is_known(value) else lay_out(value)

    def optional(self, place: int) -> Tensor | None:
        """Return an input as a tensor, or None where it is left out."""
        return self.tensor(place) if self.has(place) else None

    def operand(self, place: int) -> Any:
        """Return an input as a tensor, or as a number that takes the others' type."""
        value = self.value(place)
        if is_known(value) and not value.ndim and not self.is_known:
            return value.item()
        return self.tensor(place)

    def known(self, place: int, what: str) -> NDArray[Any]:
        """Return an input whose numbers must be known before anything is computed."""
        value = self.value(place)
        if not is_known(value):
            self.refuse(
                f"takes its {what} from values that are computed; only what follows from "
                "the sizes of the inputs and from constants of the file can be used there"
            )
        return value

    def integers(self, place: int, what: str) -> list[int]:
        """Return an input as integers that are known."""
        return [int(it) for it in self.known(place, what).ravel()]

    def listed(self, name: str, place: int, default: Any = None) -> Any:
        """Return integers that older files have as an attribute, newer ones as an input."""
        if self.has(place):
            return self.integers(place, name)
        return self.attribute(name, default)

    def shape(self, place: int) -> tuple[int, ...]:
        """Return the sizes of an input, which need not be laid out for it."""
        return tuple(map(int, self.value(place).shape))

    def axis(self, axis: int, rank: int) -> int:
        """Count an axis from the front."""
        if not -rank <= axis < max(rank, 1):
            self.refuse(f"has axis={axis}, but its input has {rank} axes")
        return axis % max(rank, 1)

    def refuse(self, reason: str) -> NoReturn:
        """Raise an error; the node's name is put before the reason."""
        raise OperationError(reason)
