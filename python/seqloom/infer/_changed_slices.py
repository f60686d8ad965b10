"""Slices of a network's values, at the positions that a change of the inputs can reach."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom.errors import CaptureError
from seqloom.tensor._families._numpy_arrays import allocate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.infer._changed_rules import LocalOperation

    Integers = NDArray[np.int64]
    # Array, its first position, and the range of positions to read.
    Source = tuple[NDArray[Any], int, int, int]


class Range(NamedTuple):
    """For each row: the first position of a slice; all slices have one width."""

    starts: Integers
    width: int


class Slice(NamedTuple):
    """Slices of all rows, with the first position of each slice."""

    array: NDArray[Any]
    starts: Integers


class RowRun(NamedTuple):
    """Neighbouring rows with the same reference and the same slices."""

    first: int
    stop: int
    source: int


class Reference(NamedTuple):
    """A value of all references, at the positions from `start`."""

    rows: list[NDArray[Any]]
    start: int
    stop: int
    length: int  # the number of positions of the whole value


@dataclass(slots=True)
class Slices:
    """A value of several alternatives, at positions that may differ from the reference.

    An insertion or deletion moves the positions on one side of it. Position ``i`` before
    the slice `middle` is position ``i - before`` of the reference; position ``i`` after it
    is position ``i - after``. The reference has no such positions before `left_stop` and
    from `right_start`: the slices `left` and `right` contain these.
    """

    axis: int
    length: int
    runs: list[RowRun]
    middle: Slice
    left: Slice | None = None
    right: Slice | None = None
    before: Integers | None = None
    after: Integers | None = None
    left_stop: int = 0
    right_start: int = -1
    reference: Reference | None = None
    # Slices that were read, and may be read again.
    copies: list[Slice] = field(default_factory=list[Slice])

    @classmethod
    def of_part(
        cls, array: NDArray[Any], axis: int, extent: tuple[tuple[int, int], int]
    ) -> Slices:
        """Return the needed positions of whole sequences, from `LocalGraph.describe`."""
        (start, _), length = extent
        starts = np.full(len(array), start, np.int64)
        return cls(axis, length, [RowRun(0, len(array), 0)], Slice(array, starts))

    @property
    def width(self) -> int:
        """The number of positions of each slice in the middle."""
        return self.middle.array.shape[self.axis]

    @property
    def slices(self) -> list[Slice]:
        """The slices that exist."""
        return [it for it in (self.middle, self.left, self.right) if it is not None]

    @property
    def plan(self) -> SlicePlan:
        """The positions of the slices."""
        left, right = (
            it and Range(it.starts, it.array.shape[self.axis])
            for it in (self.left, self.right)
        )
        moves = self.before, self.after, self.left_stop, self.right_start
        return SlicePlan(Range(self.middle.starts, self.width), left, right, *moves)

    def read(self, places: Range, *, fill: float = 0) -> NDArray[Any]:
        """Return other slices of the value; `fill` is the value outside of its ends."""
        starts, width = places
        is_inside = int(starts.min()) >= 0 and int(starts.max()) + width <= self.length
        for one in (*self.slices, *self.copies) if is_inside else ():
            first = int(starts[0] - one.starts[0])
            is_within = 0 <= first <= one.array.shape[self.axis] - width
            if is_within and (starts - one.starts == first).all():
                return one.array[self._at(first, first + width)]
        shape = list(self.middle.array.shape)
        shape[self.axis] = width
        made = allocate(tuple(shape), self.middle.array.dtype)
        for run in self.runs:
            self._fill_run(made, run, int(starts[run.first]), fill=fill)
        return made

    def merge(self, start: int, stop: int) -> Slices:
        """Return the value with one slice from the change to the end that is moved."""
        starts = self.middle.starts
        stops = starts + self.width
        if self.before is not None:
            starts = np.full_like(starts, start)
        if self.after is not None:
            stops = np.full_like(starts, stop)
        first, last = int(starts.min()), int(stops.max())
        place = Range(np.full_like(starts, first), last - first)
        array = self.read(place)
        return Slices(
            self.axis,
            self.length,
            self.runs,
            Slice(array, place.starts),
            reference=self.reference,
        )

    def to_whole(self) -> NDArray[Any]:
        """Return all positions of each sequence."""
        return self.read(Range(np.zeros_like(self.middle.starts), self.length))

    def _fill_run(
        self, made: NDArray[Any], run: RowRun, start: int, *, fill: float
    ) -> None:
        """Fill the rows of a run, whose slices begin at `start`."""
        into, stop = made[run.first : run.stop], start + made.shape[self.axis]
        after = (slice(None),) * (made.ndim - 1 - self.axis)
        if start < 0:
            into[(..., slice(0, -start), *after)] = fill
        if stop > self.length:
            into[(..., slice(max(self.length - start, 0), None), *after)] = fill
        for array, first, *limits in self._list_sources(run, start, stop):
            low = max(limits[0], first, 0)
            width = array.shape[self.axis - made.ndim]
            high = min(limits[1], first + width, self.length)
            if low < high:
                to = (..., slice(low - start, high - start), *after)
                into[to] = array[(..., slice(low - first, high - first), *after)]

    def _list_sources(self, run: RowRun, start: int, stop: int) -> list[Source]:
        """Return the arrays with the positions of the rows of a run."""
        low = int(self.middle.starts[run.first])
        high = low + self.width
        found = [
            (array[run.first : run.stop], int(starts[run.first]), start, stop)
            for array, starts in self.slices
        ]
        if self.reference is None:
            if low > max(start, 0) or high < min(stop, self.length):
                raise CaptureError(f"positions {start} to {stop} of a value are not stored")
            return found
        row, first = self.reference.rows[run.source], self.reference.start
        ahead, behind = (
            first if it is None else first + int(it[run.first])
            for it in (self.before, self.after)
        )
        old = (row, ahead, start, min(stop, low)), (row, behind, max(start, high), stop)
        return [*old, *found]

    def _at(self, start: int, stop: int) -> Any:
        return (*(slice(None),) * self.axis, slice(start, stop))


class SlicePlan(NamedTuple):
    """The slices of a result; see `Slices`."""

    middle: Range
    left: Range | None
    right: Range | None
    before: Integers | None
    after: Integers | None
    left_stop: int
    right_start: int


@dataclass(frozen=True, slots=True)
class Extent:
    """The needed positions of a result, and the positions of the references."""

    low: int
    high: int
    first: int
    last: int
    longer: int  # how many more positions alternatives have
    least: int  # the minimum width of slices

    def fit(self, starts: Integers, stops: Integers) -> Range:
        """Return slices of a common width within the needed positions."""
        low, high = self.low, self.high
        first, last = int(starts.min()), int(stops.max())
        if first < low or last > high:
            stops, starts = np.minimum(stops, high), np.maximum(starts, low)
        width = min(max(int((stops - starts).max()), self.least), high - low)
        if first >= low and int(starts.max()) + width <= high:
            return Range(starts, width)
        return Range(np.clip(starts, low, high - width), width)

    def fit_end(self, start: int, stop: int, rows: int) -> Range | None:
        """Return positions that are the same in each row; None if none is needed."""
        if max(start, self.low) >= min(stop, self.high):
            return None
        return self.fit(np.full(rows, start), np.full(rows, stop))


def plan_slices(rule: LocalOperation, local: Sequence[Slices], extent: Extent) -> SlicePlan:
    """Return the slices of a result that differ from the reference."""
    before = _scale([it.before for it in local], rule.stride)
    after = _scale([it.after for it in local], rule.stride)
    starts, stops = local[0].middle.starts, local[0].middle.starts + local[0].width
    for other in local[1:]:
        starts = np.minimum(starts, other.middle.starts)
        stops = np.maximum(stops, other.middle.starts + other.width)
    starts, stops = rule.find_first(starts), rule.find_stop(stops)
    left_stop, right_start = 0, rule.length
    if before is not None:
        left_stop = rule.find_stop(max(it.left_stop for it in local))
        left_stop = max(left_stop, extent.first + int(before.max()))
        starts = np.minimum(starts, extent.last + before)
    if after is not None:
        stops = np.maximum(stops, extent.first + after)
    if after is not None and (after != extent.longer).any():
        right_start = rule.find_first(min(it.right_start for it in local))
        right_start = min(right_start, extent.last + int(after.min()), rule.length)
    middle = extent.fit(starts, stops)
    left, right = (
        extent.fit_end(*it, len(starts))
        for it in ((0, left_stop), (right_start, rule.length))
    )
    total = sum(it.width for it in (middle, left, right) if it is not None)
    low, high = extent.low, extent.high
    # Computing all positions costs little more than most positions.
    if 8 * total >= 7 * (high - low):
        middle = Range(np.full_like(starts, low), high - low)
        return SlicePlan(middle, None, None, None, None, 0, rule.length)
    return SlicePlan(middle, left, right, before, after, left_stop, right_start)


def _scale(moves: list[Integers | None], stride: int) -> Integers | None:
    """Return the moves of a result; all its local arguments have the same moves."""
    found = [it for it in moves if it is not None]
    return found[0] // stride if len(found) == len(moves) else None
