"""Which values occur, how often and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._defaults._derived import Derived

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array


class Sets(Derived):
    """The standard's functions of sets: values come sorted, and each NaN is its own.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> B.unique_values(B.asarray([3, 1, 3])).tolist()
        [1, 3]
    """

    def unique_all(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """The values, where each occurs first, which one each place holds, and counts."""
        order, starts, firsts = self._groups(x)
        row = self.reshape(x, (-1,))
        indices = self.take(order, firsts, axis=0)
        group = self.subtract(self.cumulative_sum(self._whole(starts), axis=0), 1)
        inverse = self.take(group, self.argsort(order), axis=0)
        values = self.take(row, indices, axis=0)
        return values, indices, self.reshape(inverse, x.shape), self._sizes(firsts, row)

    def unique_counts(self, x: Array) -> tuple[Array, Array]:
        """The values, and how often each occurs."""
        values, _, _, counts = self.unique_all(x)
        return values, counts

    def unique_inverse(self, x: Array) -> tuple[Array, Array]:
        """The values, and which of them each place holds."""
        values, _, inverse, _ = self.unique_all(x)
        return values, inverse

    def unique_values(self, x: Array) -> Array:
        """The values that occur."""
        order, _, firsts = self._groups(x)
        return self.take(self.reshape(x, (-1,)), self.take(order, firsts, axis=0), axis=0)

    def isin(self, x: Array, y: Array, *, invert: bool = False) -> Array:
        """Whether each value of `x` is one of `y`'s; with `invert`, whether it is none."""
        x, y = (self.asarray(each) for each in (x, y))
        row = self.reshape(y, (-1,))
        found = self.any(self.equal(self.expand_dims(x, axis=-1), row), axis=-1)
        return self.logical_not(found) if invert else found

    def _groups(self, x: Array) -> tuple[Array, Array, Array]:
        """The order of the values, where in it a new one begins, and those places."""
        row = self.reshape(self.stop_gradient(x), (-1,))
        order = self.argsort(row)
        ranked = self.take(row, order, axis=0)
        count = row.shape[0]
        later = self.not_equal(
            self.index(ranked, slice(min(1, count), count)),
            self.index(ranked, slice(0, max(count - 1, 0))),
        )
        first = self.ones((min(1, count),), dtype="bool")
        starts = self.concat([first, later])
        return order, starts, self.nonzero(starts)[0]

    def _sizes(self, firsts: Array, row: Array) -> Array:
        """How many places lie from each to the next."""
        end = self.full((1,), row.shape[0], dtype=self.dtype(firsts))
        ends = self.concat([firsts, end])
        return self.subtract(self.index(ends, slice(1, None)), firsts)

    def _whole(self, x: Array) -> Array:
        """Truths as numbers that count."""
        return self.astype(x, self.dtype(self.arange(1)))
