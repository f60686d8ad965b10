"""Rows by time, of which there are never more than a few hundred."""

from __future__ import annotations

from typing import Generic, TypeVar

Row = TypeVar("Row")


class Timeline(Generic[Row]):
    """Rows of a job of any length: once there are too many, every second one goes.

    Rows that count from the beginning lose nothing by that: their differences are the sums
    of the differences that were there.
    """

    def __init__(self, step: float = 0.05, *, most: int = 600) -> None:
        self.rows: list[Row] = []
        self._step, self._most = step, most
        self._first, self._last = 0.0, -step

    def is_due(self, seconds: float) -> bool:
        """Says whether the last row is old enough."""
        return seconds - self._last >= self._step

    def add(self, seconds: float, row: Row) -> None:
        """Adds a row, if it is due."""
        if not self.is_due(seconds):
            return
        self._first = self._first if self.rows else seconds
        self._last = seconds
        self.rows.append(row)
        if len(self.rows) > self._most:
            self.rows = self.rows[::2]
            # Rows that come further apart than the step make it theirs.
            apart = (self._last - self._first) / (len(self.rows) - 1)
            self._step = max(2 * self._step, apart)
