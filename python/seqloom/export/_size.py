"""Integers as an exported model writes them: products and quotients of sizes with names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement
from math import gcd, prod
from typing import TYPE_CHECKING

from seqloom.export._symbolic_size import add, find_fraction, multiply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from seqloom.export._symbolic_size import Fraction, Polynomial, SymbolicSize

# The same number in each of the traces, one for each.
Series = tuple[int, ...]

_MAX_FACTORS = 3  # of a product
_MIN_TRACES = 4  # two decide a multiple and a number, the others confirm them


@dataclass(frozen=True, slots=True)
class Size:
    """(The product of the sizes * times + shift) // over + plus."""

    of: tuple[str, ...]
    times: int = 1
    over: int = 1
    plus: int = 0
    shift: int = 0  # what is added before it is divided

    def to_json(self) -> dict[str, object]:
        """Writes it as the page of the format says."""
        terms = {"times": self.times, "over": self.over, "plus": self.plus}
        shift = {"shift": self.shift} if self.shift else {}
        return {"size": list(self.of), **terms, **shift}


def find_size(wanted: SymbolicSize, names: Mapping[str, Polynomial]) -> Size | None:
    """Writes a size by others that have names; None if the format cannot."""
    # A product is preferred to a quotient, and few sizes to several. Names that are known
    # longest come first: those of the batch.
    products = _list_sizes((wanted.polynomial, 1), names)
    if (size := next((it for it in products if it.over == 1), None)) is not None:
        return size
    fractions = (wanted.polynomial, 1), find_fraction(wanted.polynomial), wanted.fraction
    found = (size for it in fractions if it for size in _list_sizes(it, names))
    return next(found, None)


def _list_sizes(fraction: Fraction, names: Mapping[str, Polynomial]) -> Iterator[Size]:
    """Yields the forms of a fraction, those of the fewest sizes first."""
    degree = max(map(len, fraction[0]), default=0)
    for count in range(1, min(degree, _MAX_FACTORS) + 1):
        for of in combinations_with_replacement(names, count):
            product = reduce(multiply, (names[name] for name in of))
            if (size := _write(fraction, of, product)) is not None:
                yield size


def _write(fraction: Fraction, of: tuple[str, ...], product: Polynomial) -> Size | None:
    """Writes a fraction whose numerator is a multiple of a product, plus a number."""
    numerator, over = fraction
    if any(factors and factors not in numerator for factors in product):
        return None
    first = next(factors for factors in product if factors)
    sign = 1 if product[first] > 0 else -1
    times, per = sign * numerator[first], sign * product[first]
    rest = add(multiply(numerator, {(): per}), product, -times)
    if any(rest):
        return None
    common = gcd(times, over * per)
    over, shift = over * per // common, rest.get((), 0) // common
    return Size(of, times // common, over, shift // over, shift % over)


def fit(numbers: Series, known: Mapping[Series, Polynomial]) -> Polynomial | None:
    """Finds the size that an integer is in each trace, if a program has lost its symbol."""
    # `int`, `len` and NumPy give plain integers. A network from an ONNX file computes its
    # shapes of them: multiples of a product of sizes, plus a number.
    if len(numbers) < _MIN_TRACES:
        return None
    for count in range(1, _MAX_FACTORS + 1):
        for factors in combinations_with_replacement(known, count):
            products = [prod(it) for it in zip(*factors, strict=True)]
            if (line := _fit_line(numbers, products)) is not None:
                product = reduce(multiply, (known[it] for it in factors))
                return add({(): line[1]}, product, line[0])
    return None


def _fit_line(numbers: Series, products: Sequence[int]) -> tuple[int, int] | None:
    """Fits a multiple and a number to the first two traces; None if another differs."""
    rise, run = numbers[1] - numbers[0], products[1] - products[0]
    if run == 0 or rise == 0 or rise % run:
        return None
    times = rise // run
    plus = numbers[0] - times * products[0]
    fits = (times * it + plus == n for n, it in zip(numbers, products, strict=True))
    return (times, plus) if all(fits) else None
