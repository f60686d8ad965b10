"""Find where sequences differ from their references, and group similar differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom.infer._changed_slices import Reference, RowRun, Slice, Slices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


# The number of alternatives that are compared together.
_BLOCK_ROWS = 64


class Moves(NamedTuple):
    """Insertions and deletions of alternatives.

    The bases after an insertion move to the right by `counts`, or the bases before it move
    to the left by this number (`is_left`). A deletion has a negative number.
    """

    counts: Integers
    is_left: NDArray[np.bool_]

    @classmethod
    def of_substitutions(cls, count: int) -> Moves:
        """Return the moves of alternatives in which no base moves."""
        return cls(np.zeros(count, np.int64), np.zeros(count, bool))


class Alternatives(NamedTuple):
    """Sequences of one length, and the row of the reference of each sequence."""

    array: NDArray[Any]
    rows: Integers
    moves: Moves

    def list_moves(self, members: Integers, *, length: int, reference_length: int) -> Moves:
        """Return the moves that leave common bases; 0 for changes of a whole window."""
        counts, is_left = self.moves.counts[members], self.moves.is_left[members]
        if length != reference_length:
            return Moves(np.full_like(counts, length - reference_length), is_left & False)
        return Moves(np.where(2 * np.abs(counts) < length, counts, 0), is_left)


@dataclass(frozen=True, slots=True)
class Changes:
    """The positions of each alternative that may differ from its reference."""

    members: Integers  # rows of the alternatives
    sources: Integers  # rows of the references
    starts: Integers
    widths: Integers
    before: Integers  # see `Slices`
    after: Integers

    @classmethod
    def of(
        cls, members: Integers, sources: Integers, places: Integers, *, length: int
    ) -> Changes:
        """Return changes at places: start, width, and moves before and after it."""
        starts, widths, before, after = places.T
        # Widths are powers of two, so that many rows have the same width.
        widths = np.minimum(1 << np.ceil(np.log2(widths)).astype(np.int64), length)
        starts = np.minimum(starts, length - widths)
        return cls(members, sources, starts, widths, before, after)

    def split(self, size: int) -> Iterator[Changes]:
        """Yield groups of at most `size` alternatives with one width."""
        kinds = np.where(self.before != 0, 1, np.where(self.after != 0, 2, 0))
        keys = self.widths * 3 + kinds
        moved = self.before + self.after
        order = np.lexsort((self.starts, self.sources, moved, keys))
        edges = np.flatnonzero(np.diff(keys[order])) + 1
        for part in np.split(order, edges):
            for first in range(0, len(part), size):
                yield self._take(part[first : first + size])

    def slice(self, alternative: NDArray[Any], axis: int, reference: Reference) -> Slices:
        """Return slices of the inputs of a group."""
        inputs = alternative[self.members]
        length, width = inputs.shape[axis], int(self.widths[0])
        places = self.starts[:, None] + np.arange(width)
        others = tuple(it for it in range(1, inputs.ndim) if it != axis)
        array = np.take_along_axis(inputs, np.expand_dims(places, others), axis)
        left_stop = max(int(self.before.max()), 0)
        right_start = min(reference.length + int(self.after.min()), length)
        at = (slice(None),) * axis
        left = inputs[(*at, slice(0, left_stop))]
        right = inputs[(*at, slice(right_start, length))]
        return Slices(
            axis,
            length,
            self._find_runs(),
            Slice(array, self.starts),
            Slice(left, np.zeros_like(self.starts)) if left_stop else None,
            Slice(right, np.full_like(self.starts, right_start)) if right.size else None,
            self.before if self.before.any() else None,
            self.after if self.after.any() else None,
            left_stop,
            right_start,
            reference,
        )

    def _take(self, rows: Integers) -> Changes:
        return Changes(
            self.members[rows],
            self.sources[rows],
            self.starts[rows],
            self.widths[rows],
            self.before[rows],
            self.after[rows],
        )

    def _find_runs(self) -> list[RowRun]:
        """Return the runs of rows with the same reference and positions."""
        columns = np.stack([self.sources, self.starts, self.before, self.after])
        edges = np.flatnonzero((np.diff(columns) != 0).any(axis=0)) + 1
        firsts = [0, *edges.tolist()]
        stops = [*firsts[1:], len(self.members)]
        sources = self.sources[firsts].tolist()
        return [RowRun(*it) for it in zip(firsts, stops, sources, strict=True)]


def find_changes(
    reference: NDArray[Any],
    alternatives: Alternatives,
    axis: int,
    *,
    members: Integers,
    sources: Integers,
) -> Changes:
    """Find where some rows of alternatives differ from their references, the sources."""
    array = alternatives.array
    length = array.shape[axis]
    counts, is_left = alternatives.list_moves(
        members, length=length, reference_length=reference.shape[axis]
    )
    places = np.zeros((len(members), 4), np.int64)
    for block in _split_rows(np.flatnonzero(counts == 0)):
        pair = reference[sources[block]], array[members[block]]
        places[block, :2] = _find_substitutions(*pair, axis)
    for it in np.flatnonzero(counts).tolist():
        pair, count = (reference[sources[it]], array[members[it]]), int(counts[it])
        places[it] = _find_move(*pair, axis - 1, count=count, is_left=bool(is_left[it]))
    return Changes.of(members, sources, places, length=length)


def _split_rows(rows: Integers) -> Iterator[Integers]:
    for first in range(0, len(rows), _BLOCK_ROWS):
        yield rows[first : first + _BLOCK_ROWS]


def _find_substitutions(
    reference: NDArray[Any], alternative: NDArray[Any], axis: int
) -> Integers:
    """Return the first changed position, and the number of changed positions, by row."""
    others = tuple(it for it in range(1, reference.ndim) if it != axis)
    differs = (reference != alternative).any(axis=others)
    starts = differs.argmax(axis=1)
    widths = differs.shape[1] - differs[:, ::-1].argmax(axis=1) - starts
    return np.stack([starts, np.where(differs.any(axis=1), widths, 1)], 1)


def _find_move(
    reference: NDArray[Any],
    alternative: NDArray[Any],
    axis: int,
    *,
    count: int,
    is_left: bool,
) -> tuple[int, ...]:
    """Return the changed positions of an insertion or deletion, and the moves."""
    old, new = np.moveaxis(reference, axis, 0), np.moveaxis(alternative, axis, 0)
    if is_left:
        old, new = old[::-1], new[::-1]
    # The changes begin where the sequences differ at the same position, and end where they
    # differ after the move.
    shared = min(len(old), len(new))
    others = tuple(range(1, old.ndim))
    differs = (old[:shared] != new[:shared]).any(axis=others)
    start = int(differs.argmax()) if differs.any() else shared - 1
    first, last = max(count, 0), min(len(new), len(old) + count)
    differs = (old[first - count : last - count] != new[first:last]).any(axis=others)
    stop = last - int(differs[::-1].argmax()) if differs.any() else first
    stop = max(stop, start + 1)
    if is_left:
        return len(new) - stop, stop - start, -count, 0
    return start, stop - start, 0, count


class Cluster(NamedTuple):
    """References that are parts of one longer sequence, at some offsets."""

    rows: list[int]
    offsets: list[int]

    def join(self, reference: NDArray[Any], axis: int) -> NDArray[Any]:
        """Return the longer sequence, as an array with one row."""
        at = (slice(None),) * axis
        parts = [reference[self.rows[:1]]]
        for row, step in zip(self.rows[1:], np.diff(self.offsets).tolist(), strict=True):
            parts.append(reference[[row]][(*at, slice(-step, None))])
        return np.concatenate(parts, axis)


def find_clusters(
    reference: NDArray[Any], places: Integers | None, axis: int, *, step: int | None
) -> list[Cluster]:
    """Return references that overlap; `places` are their positions in the genome.

    The distances of the references of a cluster are multiples of `step`.
    """
    if places is None or step is None:
        return [Cluster([row], [0]) for row in range(len(reference))]
    length, at = reference.shape[axis], (slice(None),) * (axis - 1)
    found: list[Cluster] = []
    last = 0
    for row in np.argsort(places, kind="stable").tolist():
        shift, last = int(places[row]) - last, int(places[row])
        rows, offsets = found[-1] if found else ([], [])
        if (
            rows
            and 0 < shift <= length // 2
            and shift % step == 0
            and offsets[-1] + shift <= length
            and np.array_equal(
                reference[row][(*at, slice(0, length - shift))],
                reference[rows[-1]][(*at, slice(shift, length))],
            )
        ):
            rows.append(row)
            offsets.append(offsets[-1] + shift)
        else:
            found.append(Cluster([row], [0]))
    return found
