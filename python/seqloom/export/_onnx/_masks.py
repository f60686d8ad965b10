"""Masks of recurrent layers, in ONNX, which knows the lengths of sequences only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqloom.tensor._graph import Value

if TYPE_CHECKING:
    from seqloom.export._onnx._builder import Builder
    from seqloom.tensor._graph import Operation

# What keeps a mask one of records, which begin at the first position.
_HARMLESS = frozenset({"astype", "asarray", "not_equal", "greater", "logical_not", "equal"})


def begins_with_records(b: Builder, mask: Value) -> bool:
    """Tells whether a mask follows from mask or lengths alone, so that it has no gaps."""
    if b.names[mask.number] in {"mask", "lengths"}:
        return True
    made = b.makers.get(mask.number)
    if made is None:
        return False
    if made.name == "less":
        return _is_of_lengths(b, made)
    values = [arg for arg in made.args if isinstance(arg, Value)]
    is_plain = made.name in _HARMLESS and len(values) == 1
    return is_plain and begins_with_records(b, values[0])


def _is_of_lengths(b: Builder, made: Operation) -> bool:
    """Tells whether positions from 0 are compared with lengths."""
    place, ends = made.args
    counted = b.makers.get(place.number) if isinstance(place, Value) else None
    if counted is None or counted.name != "arange" or counted.args[0] != 0:
        return False
    while isinstance(ends, Value) and (maker := b.makers.get(ends.number)) is not None:
        if maker.name not in {"expand_dims", "astype"}:
            return False
        ends = maker.args[0]
    return isinstance(ends, Value) and b.names[ends.number] == "lengths"


def count_real(b: Builder, mask: Value) -> str:
    """Counts the real positions of each record, ``(batch,)`` of int32."""
    row = [b.get(mask, "int32"), b.integers([1])]
    return b.node("ReduceSum", row, keepdims=0)


@dataclass(frozen=True, slots=True)
class Gaps:
    """A mask with gaps: real positions are moved to the front, and states back."""

    before: str  # (batch, length), the number of real positions before and at each
    is_real: str  # the same shape, 1 or 0 as int64
    order: str  # the same shape, the real positions, then the others
    count: str  # (batch, 1), of all real ones

    @classmethod
    def of(cls, b: Builder, mask: Value) -> Gaps:
        """Computes where each position goes."""
        is_real = b.get(mask, "int64")
        before = b.node("CumSum", [is_real, b.constant(1, "int64")])
        size = b.integers([b.dimensions(mask)[1]])
        place = b.node("CumSum", [_ones_like(b, is_real), b.constant(1, "int64")])
        # Real positions come first: their keys are larger by the length.
        keys = b.node("Sub", [b.node("Mul", [is_real, size]), place])
        order = b.several("TopK", [keys, size], 2, axis=1, largest=1, sorted=1)[1]
        count = b.node("ReduceSum", [is_real, b.integers([1])], keepdims=1)
        return cls(before, is_real, order, count)

    def move(self, b: Builder, x: str, width: int) -> str:
        """Moves real positions of ``(batch, length, width)`` to the front."""
        return b.node("GatherElements", [x, _widen(b, self.order, width)], axis=1)

    def spread(self, b: Builder, states: str, first: str, *, reverse: bool) -> str:
        """Gives each position the state that it has; before the first real one, `first`."""
        width, row = self._width(b, states), b.node("Unsqueeze", [first, b.integers([1])])
        place = b.node("Sub", [self.before, b.constant(1, "int64")])
        is_first = b.node("Less", [place, b.constant(0, "int64")])
        if reverse:  # of the real positions from here on, the first
            place = b.node("Sub", [self.before, self.is_real])
            is_first = b.node("Equal", [place, self.count])
        last = b.node("Sub", [self.count, b.constant(1, "int64")])
        inside = b.node("Min", [place, last])
        inside = b.node("Max", [inside, b.constant(0, "int64")])
        wide = b.node("Expand", [b.node("Unsqueeze", [inside, b.integers([2])]), width])
        found = b.node("GatherElements", [states, wide], axis=1)
        where = b.node("Unsqueeze", [is_first, b.integers([2])])
        return b.node("Where", [where, row, found])

    @staticmethod
    def _width(b: Builder, states: str) -> str:
        """Gives the shape ``(1, 1, width)``."""
        size = b.node("Shape", [states], start=2, end=3)
        return b.node("Concat", [b.integers([1, 1]), size], axis=0)


def _ones_like(b: Builder, x: str) -> str:
    """Gives ones of the shape of an array of int64."""
    return b.node("Expand", [b.constant(1, "int64"), b.node("Shape", [x])])


def _widen(b: Builder, x: str, width: int) -> str:
    """Repeats ``(batch, length)`` along a last axis."""
    column = b.node("Unsqueeze", [x, b.integers([2])])
    return b.node("Expand", [column, b.integers([1, 1, width])])
