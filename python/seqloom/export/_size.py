"""Sizes that differ from batch to batch, and integers that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The same number in each of the traces, one for each.
Series = tuple[int, ...]

_MOST_SIZES = 3  # of a product
_MOST_TIMES = 8
_MOST_OVER = 64


@dataclass(frozen=True, slots=True)
class Size:
    """The product of some sizes, times and divided by a number, plus another one."""

    of: tuple[str, ...]
    times: int = 1
    over: int = 1
    plus: int = 0

    def at(self, sizes: Mapping[str, Series]) -> Series:
        """Computes it in each trace."""
        products = _multiply(self.of, sizes)
        return tuple(it * self.times // self.over + self.plus for it in products)

    def to_json(self) -> dict[str, object]:
        """Writes it as the page of the format says."""
        terms = {"times": self.times, "over": self.over, "plus": self.plus}
        return {"size": list(self.of), **terms}


def find_size(wanted: Series, sizes: Mapping[str, Series]) -> Size | None:
    """Finds how a number follows from sizes that are known; None if it does not."""
    return next((it for it in _guess(wanted, sizes) if it.at(sizes) == wanted), None)


def _guess(wanted: Series, sizes: Mapping[str, Series]) -> Iterator[Size]:
    """Yields what may be it: the simplest first, and what is divided last."""
    # Names that are known longest come first: those of the batch.
    products = [
        of
        for count in range(1, _MOST_SIZES + 1)
        for of in combinations_with_replacement(sizes, count)
    ]
    for of in products:
        if (line := _fit_line(wanted, _multiply(of, sizes))) is not None:
            yield Size(of, *line)
    for of in products[: len(sizes)]:
        yield from _fit_quotients(wanted, of, _multiply(of, sizes))


def _fit_line(wanted: Series, known: Series) -> tuple[int, int, int] | None:
    """Fits times and plus to the first two traces."""
    rise, run = wanted[1] - wanted[0], known[1] - known[0]
    if run == 0 or rise % run:
        return None
    times = rise // run
    return times, 1, wanted[0] - times * known[0]


def _fit_quotients(wanted: Series, of: tuple[str, ...], known: Series) -> Iterator[Size]:
    """Fits what is rounded down: each divisor and factor, and what is missing then."""
    for over in range(2, _MOST_OVER + 1):
        for times in (*range(1, _MOST_TIMES + 1), *range(-1, -_MOST_TIMES - 1, -1)):
            yield Size(of, times, over, wanted[0] - known[0] * times // over)


def _multiply(of: tuple[str, ...], sizes: Mapping[str, Series]) -> Series:
    """Multiplies sizes, trace by trace."""
    return tuple(map(prod, zip(*(sizes[name] for name in of), strict=True)))
