"""Slices of a network's values, at the positions that a change of the inputs can reach."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


class Range(NamedTuple):
    """For each row: the first position of a slice; all slices have one width."""

    starts: Integers
    width: int


class Piece(NamedTuple):
    """Slices of all rows, with the first position of each slice."""

    array: NDArray[Any]
    starts: Integers


class Run(NamedTuple):
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


@dataclass(frozen=True, slots=True)
class Slices:
    """A value of several alternatives, at positions that may differ from the reference.

    An insertion or deletion moves the positions on one side of it. Position ``i`` before
    the slice `middle` is position ``i - before`` of the reference; position ``i`` after it
    is position ``i - after``. The reference has no such positions before `left_stop` and
    from `right_start`: the slices `left` and `right` contain these.
    """

    axis: int
    length: int
    runs: list[Run]
    middle: Piece
    reference: Reference | None = None
    left: Piece | None = None
    right: Piece | None = None
    before: Integers | None = None
    after: Integers | None = None
    left_stop: int = 0
    right_start: int = -1
    copies: tuple[Piece, ...] = ()  # slices that were read, and may be read again

    @classmethod
    def of_whole(cls, array: NDArray[Any], axis: int) -> Slices:
        """Return all positions of sequences."""
        piece = Piece(array, np.zeros(len(array), np.int64))
        return cls(axis, array.shape[axis], [Run(0, len(array), 0)], piece)

    @property
    def width(self) -> int:
        """The number of positions of each slice in the middle."""
        return self.middle.array.shape[self.axis]

    @property
    def pieces(self) -> list[Piece]:
        """The slices that exist."""
        return [it for it in (self.middle, self.left, self.right) if it is not None]

    def read(self, places: Range, *, fill: float = 0) -> NDArray[Any]:
        """Return other slices of the value; `fill` is the value outside of its ends."""
        starts, width = places
        is_inside = int(starts.min()) >= 0 and int(starts.max()) + width <= self.length
        for piece in (*self.pieces, *self.copies) if is_inside else ():
            first = int(starts[0] - piece.starts[0])
            is_within = 0 <= first <= piece.array.shape[self.axis] - width
            if is_within and (starts - piece.starts == first).all():
                return piece.array[self._at(first, first + width)]
        shape = list(self.middle.array.shape)
        shape[self.axis] = width
        made = np.empty(shape, self.middle.array.dtype)
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
        return replace(
            self,
            middle=Piece(self.read(place), place.starts),
            left=None,
            right=None,
            before=None,
            after=None,
        )

    def to_whole(self) -> NDArray[Any]:
        """Return all positions of each sequence."""
        return self.read(Range(np.zeros_like(self.middle.starts), self.length))

    def _fill_run(self, made: NDArray[Any], run: Run, start: int, *, fill: float) -> None:
        """Fill the rows of a run, whose slices begin at `start`."""
        into, stop = made[run.first : run.stop], start + made.shape[self.axis]
        if start < 0:
            into[self._at(0, -start)] = fill
        if stop > self.length:
            into[self._at(max(self.length - start, 0), stop - start)] = fill
        low = int(self.middle.starts[run.first])
        high = low + self.width
        if self.reference is not None:
            source = self.reference.rows[run.source][None]
            for moved, limits in (
                (self.before, (start, min(stop, low))),
                (self.after, (max(start, high), stop)),
            ):
                shift = 0 if moved is None else int(moved[run.first])
                first = self.reference.start + shift
                self._copy(into, start, source, first=first, limits=limits)
        for array, starts in self.pieces:
            rows, first = array[run.first : run.stop], int(starts[run.first])
            self._copy(into, start, rows, first=first, limits=(start, stop))

    def _copy(
        self,
        into: NDArray[Any],
        start: int,
        source: NDArray[Any],
        *,
        first: int,
        limits: tuple[int, int],
    ) -> None:
        """Copy positions of `source`, which begins at `first`, within the limits."""
        low = max(limits[0], first, 0)
        high = min(limits[1], first + source.shape[self.axis], self.length)
        if low < high:
            into[self._at(low - start, high - start)] = source[
                self._at(low - first, high - first)
            ]

    def _at(self, start: int, stop: int) -> Any:
        return (*(slice(None),) * self.axis, slice(start, stop))
