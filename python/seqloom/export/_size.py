"""Sizes that differ from batch to batch, and integers that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# The same number in each of the traces, one for each.
Series = tuple[int, ...]
Sizes = Mapping[str, Sequence[int]]

_MOST_SIZES = 3  # of a product
# With larger ones the traces would not tell two quotients apart.
_MOST_TIMES = 4
_MOST_OVER = 16
_FAR = 1 << 12  # forms that agree up to here are the same


@dataclass(frozen=True, slots=True)
class Size:
    """The product of some sizes, times a number, shifted, divided, plus another one."""

    of: tuple[str, ...]
    times: int = 1
    over: int = 1
    plus: int = 0
    shift: int = 0  # what is added before it is divided

    def at(self, sizes: Sizes) -> Series:
        """Computes it in each trace."""
        products = _multiply(self.of, sizes)
        times, over, shift = self.times, self.over, self.shift
        return tuple((it * times + shift) // over + self.plus for it in products)

    def to_json(self) -> dict[str, object]:
        """Writes it as the page of the format says."""
        terms = {"times": self.times, "over": self.over, "plus": self.plus}
        shift = {"shift": self.shift} if self.shift else {}
        return {"size": list(self.of), **terms, **shift}


def find_size(wanted: Series, sizes: Sizes) -> Size | None:
    """Finds how a number follows from sizes that are known; None if it does not."""
    lines = _guess_products(wanted, sizes)
    found = next((it for it in lines if it.at(sizes) == wanted), None)
    if found is not None:
        return found
    quotients = (_find_quotient(wanted, name, sizes) for name in sizes)
    return next((it for it in quotients if it is not None), None)


def _guess_products(wanted: Series, sizes: Sizes) -> Iterator[Size]:
    """Yields what may be it: the product of the fewest sizes first."""
    # Names that are known longest come first: those of the batch.
    for count in range(1, _MOST_SIZES + 1):
        for of in combinations_with_replacement(sizes, count):
            if (line := _fit_line(wanted, _multiply(of, sizes))) is not None:
                yield Size(of, *line)


def _find_quotient(wanted: Series, name: str, sizes: Sizes) -> Size | None:
    """Finds what is divided and rounded down; None if the traces do not decide it."""
    guesses = _fit_quotients(wanted, (name,), sizes[name])
    fits = [it for it in guesses if it.at(sizes) == wanted]
    simple = [it for it in fits if not it.shift]
    found = [it for it in simple if not it.plus] or simple or fits
    probe = {name: range(1, _FAR)}
    agree = {it.at(probe) for it in found}  # the same quotient has several forms
    return found[0] if len(agree) == 1 else None


def _fit_line(wanted: Series, known: Sequence[int]) -> tuple[int, int, int] | None:
    """Fits times and plus to the first two traces."""
    rise, run = wanted[1] - wanted[0], known[1] - known[0]
    if run == 0 or rise % run:
        return None
    times = rise // run
    return times, 1, wanted[0] - times * known[0]


def _fit_quotients(
    wanted: Series, of: tuple[str, ...], known: Sequence[int]
) -> Iterator[Size]:
    """Fits what is rounded down: each divisor, factor and shift, and what is missing."""
    for over in range(2, _MOST_OVER + 1):
        for times in (*range(1, _MOST_TIMES + 1), *range(-1, -_MOST_TIMES - 1, -1)):
            for shift in range(over):
                plus = wanted[0] - (known[0] * times + shift) // over
                yield Size(of, times, over, plus, shift)


def _multiply(of: tuple[str, ...], sizes: Sizes) -> Series:
    """Multiplies sizes, trace by trace."""
    return tuple(map(prod, zip(*(sizes[name] for name in of), strict=True)))
