"""Integers that record how they are computed from the sizes of a batch."""

from __future__ import annotations

import fractions
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement
from math import gcd, isfinite, prod
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# The factors of a product (named sizes and quotients), sorted by `repr`.
Monomial: TypeAlias = "tuple[str | Quotient, ...]"
Polynomial: TypeAlias = Mapping[Monomial, int]  # the nonzero coefficient of each monomial
Fraction: TypeAlias = tuple[Polynomial, int]  # numerator and divisor, rounded down

_MAX_DENOMINATOR = 48  # maximum denominator of the fraction for a float factor


@dataclass(frozen=True, slots=True)
class Quotient:
    """A polynomial divided by an integer and rounded down."""

    terms: tuple[tuple[Monomial, int], ...]
    over: int


class SymbolicSize(int):
    """An integer in one trace, with the polynomial of named sizes that computes it.

    Sums, differences, products and quotients are symbolic integers too. A result that is
    not a polynomial is a plain integer. A comparison of traces shows whether this integer
    depends on the sizes. The product with a float is symbolic only if the float is on the
    right, as in ``size * 0.5``.
    """

    polynomial: Polynomial
    fraction: Fraction | None  # fraction that computed the size

    def __new__(
        cls, value: int, polynomial: Polynomial, fraction: Fraction | None = None
    ) -> Self:
        """Create an integer with a polynomial."""
        size = super().__new__(cls, value)
        size.polynomial, size.fraction = polynomial, fraction
        return size

    @classmethod
    def of_name(cls, name: str, value: int) -> SymbolicSize:
        """Create the size of an input axis."""
        return cls(value, {(name,): 1})

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        fraction = _add_to_fraction(self, other) or _add_to_fraction(other, self)
        total = add_sizes(self.polynomial, to_polynomial(other))
        return _make_size(int(self) + int(other), total, fraction)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, int) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other if isinstance(other, int) else NotImplemented

    def __neg__(self) -> Any:
        fraction = self.fraction and (_negate_numerator(*self.fraction), self.fraction[1])
        return _make_size(-int(self), multiply_sizes(self.polynomial, {(): -1}), fraction)

    def __pos__(self) -> Any:
        return self

    __floor__ = __ceil__ = __trunc__ = __pos__

    def __abs__(self) -> Any:
        return self if int(self) >= 0 else -self

    def __mul__(self, other: Any) -> Any:
        if type(other) is float:
            return _multiply_float(self, other)
        if not isinstance(other, int):
            return NotImplemented
        product = multiply_sizes(self.polynomial, to_polynomial(other))
        return _make_size(int(self) * int(other), product)

    __rmul__ = __mul__

    def __pow__(self, power: Any, modulo: Any = None) -> Any:
        if isinstance(power, int) and power >= 0 and modulo is None:
            return prod([self] * power)
        return super().__pow__(power, modulo)

    def __truediv__(self, other: Any) -> Any:
        if type(other) is int and other > 0:
            return SymbolicRatio(int(self) / other, self, other)
        return super().__truediv__(other)

    def __floordiv__(self, other: Any) -> Any:
        return _divide_sizes(self, other)[0] if isinstance(other, int) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return _divide_sizes(other, self)[0] if isinstance(other, int) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return _divide_sizes(self, other)[1] if isinstance(other, int) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return _divide_sizes(other, self)[1] if isinstance(other, int) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return _divide_sizes(self, other) if isinstance(other, int) else NotImplemented

    def __rdivmod__(self, other: Any) -> Any:
        return _divide_sizes(other, self) if isinstance(other, int) else NotImplemented


class SymbolicRatio(float):
    """A size divided by an integer; `math.floor` and `math.ceil` return a size again."""

    size: Any
    over: int

    def __new__(cls, value: float, size: Any, over: int) -> Self:
        """Create a float that stores the quotient."""
        ratio = super().__new__(cls, value)
        ratio.size, ratio.over = size, over
        return ratio

    def __floor__(self) -> Any:
        return self.size // self.over

    def __ceil__(self) -> Any:
        return -(-self.size // self.over)


def to_plain_numbers(arg: Any) -> Any:
    """Replace symbolic numbers by plain numbers, because NumPy checks exact types."""
    if type(arg) in (list, tuple):
        return type(arg)(map(to_plain_numbers, arg))
    kinds: dict[type[Any], type[Any]] = {SymbolicSize: int, SymbolicRatio: float}
    return kinds[type(arg)](arg) if type(arg) in kinds else arg


def to_polynomial(size: int) -> Polynomial:
    """Return the polynomial of a size or of a plain integer, which is a constant."""
    if isinstance(size, SymbolicSize):
        return size.polynomial
    return {(): int(size)} if size else {}


def evaluate_size(polynomial: Polynomial, sizes: Mapping[str, int]) -> int:
    """Compute a polynomial at given sizes."""
    return sum(
        times * prod(_evaluate_factor(it, sizes) for it in factors)
        for factors, times in polynomial.items()
    )


def add_sizes(left: Polynomial, right: Polynomial, times: int = 1) -> Polynomial:
    """Add a multiple of one polynomial to another."""
    total = dict(left)
    for factors, more in right.items():
        total[factors] = total.get(factors, 0) + times * more
    return {factors: it for factors, it in total.items() if it}


def multiply_sizes(left: Polynomial, right: Polynomial) -> Polynomial:
    """Multiply two polynomials."""
    total: Polynomial = {}
    for one, times in left.items():
        shifted = {_sort_factors((*one, *two)): it for two, it in right.items()}
        total = add_sizes(total, shifted, times)
    return total


def divide_size(polynomial: Polynomial, over: int) -> Polynomial:
    """Divide by a positive integer and round down; equal quotients get the same form."""
    if (fraction := find_fraction(polynomial)) is not None:
        return divide_size(fraction[0], over * fraction[1])
    whole = {factors: it // over for factors, it in polynomial.items() if it // over}
    rest = {factors: it % over for factors, it in polynomial.items() if it % over}
    shift = rest.pop((), 0)
    if not rest:
        return whole
    common = gcd(over, *rest.values())
    over, shift = over // common, shift // common
    rest = {factors: rest[factors] // common for factors in sorted(rest, key=repr)}
    numerator = add_sizes(rest, {(): shift})
    # Choose one of two equal forms: -((2 - x) // 3) equals x // 3, and x - (x + 1) // 2
    # equals x // 2.
    opposite = (*(over - it for it in rest.values()), over - 1 - shift)
    if opposite < (*rest.values(), shift):
        return add_sizes(whole, divide_size(_negate_numerator(numerator, over), over), -1)
    quotient = Quotient(tuple(sorted(numerator.items(), key=repr)), over)
    is_nested = find_fraction(numerator) is not None
    return add_sizes(whole, divide_size(numerator, over) if is_nested else {(quotient,): 1})


def find_fraction(polynomial: Polynomial) -> Fraction | None:
    """Write a polynomial with one quotient as a fraction, such as x + (x + 1) // 2."""
    keys = [key for key in polynomial if any(isinstance(it, Quotient) for it in key)]
    if len(keys) != 1 or len(keys[0]) != 1 or abs(polynomial[keys[0]]) != 1:
        return None
    times, quotient = polynomial[keys[0]], cast("Quotient", keys[0][0])
    numerator, over = dict(quotient.terms), quotient.over
    if times < 0:
        numerator = _negate_numerator(numerator, over)
    return add_sizes(numerator, add_sizes(polynomial, {keys[0]: -times}), over), over


def _negate_numerator(numerator: Polynomial, over: int) -> Polynomial:
    """Return the numerator of -(x // n), which is (n - 1 - x) // n."""
    return add_sizes({(): over - 1}, numerator, -1)


def _divide_exactly(polynomial: Polynomial, by: Polynomial) -> Polynomial | None:
    """Divide by a polynomial; return None if there is a remainder."""
    lead, rest = max(by, key=_monomial_key), polynomial
    quotient: Polynomial = {}
    while rest:
        factors = max(rest, key=_monomial_key)
        remaining = list(factors)
        if rest[factors] % by[lead] or not all(_pop_factor(remaining, it) for it in lead):
            return None
        part = {tuple(remaining): rest[factors] // by[lead]}
        quotient, rest = (
            add_sizes(quotient, part),
            add_sizes(rest, multiply_sizes(part, by), -1),
        )
    return quotient


def _pop_factor(factors: list[Any], factor: Any) -> bool:
    """Remove a factor from a product; return False if the factor does not occur."""
    if factor not in factors:
        return False
    factors.remove(factor)
    return True


def _divide_sizes(size: int, other: int) -> tuple[int, int]:
    """Return quotient and remainder, as plain integers if they have no polynomial."""
    whole, rest = divmod(int(size), int(other))
    below = to_polynomial(other)
    common = gcd(*below.values())
    primitive = {factors: it // common for factors, it in below.items()}
    above = _divide_exactly(to_polynomial(size), primitive)
    if above is None:
        return whole, rest
    quotient = _make_size(whole, divide_size(above, common), (above, common))
    return quotient, size - other * quotient


def _multiply_float(size: SymbolicSize, factor: float) -> float:
    """Multiply by a float, exactly if the float is a ratio of small integers."""
    product = int(size) * factor
    if not isfinite(factor):
        return product
    exact = fractions.Fraction(factor)
    ratio = exact.limit_denominator(_MAX_DENOMINATOR)
    # Use fractions, because a float product may be slightly below an integer: 180 *
    # 0.35 < 63.
    if abs(exact - ratio) * 2**54 > abs(ratio):
        return product
    return SymbolicRatio(product, size * ratio.numerator, ratio.denominator)


def _add_to_fraction(size: int, other: int) -> Fraction | None:
    """Add an integer to a size that is computed by a fraction."""
    fraction = getattr(size, "fraction", None)
    if fraction is None:
        return None
    numerator, over = fraction
    return add_sizes(numerator, to_polynomial(other), over), over


def _make_size(value: int, polynomial: Polynomial, fraction: Fraction | None = None) -> int:
    """Create a symbolic integer, or a plain integer if the polynomial is constant."""
    is_constant = not any(polynomial)  # the constant term alone
    return value if is_constant else SymbolicSize(value, polynomial, fraction)


def _evaluate_factor(factor: str | Quotient, sizes: Mapping[str, int]) -> int:
    """Compute a factor at given sizes."""
    if isinstance(factor, str):
        return sizes[factor]
    return evaluate_size(dict(factor.terms), sizes) // factor.over


def _sort_factors(factors: Monomial) -> Monomial:
    """Sort the factors of a product."""
    return tuple(sorted(factors, key=repr))


def _monomial_key(factors: Monomial) -> tuple[int, list[str]]:
    """Return a sort key of monomials that defines the order of division."""
    return len(factors), [repr(it) for it in factors]


# The values of one integer in all traces.
Series = tuple[int, ...]

_MAX_FACTORS = 3  # maximum number of factors in a product
_MIN_TRACES = 4  # two traces determine a line, two more confirm it


@dataclass(frozen=True, slots=True)
class Size:
    """A size with the value (product of sizes * times + shift) // over + plus."""

    of: tuple[str, ...]
    times: int = 1
    over: int = 1
    plus: int = 0
    shift: int = 0  # number added before the division

    def to_json(self) -> dict[str, object]:
        """Return the size as JSON, as docs/reference/exported-model.md defines it."""
        terms = {"times": self.times, "over": self.over, "plus": self.plus}
        shift = {"shift": self.shift} if self.shift else {}
        return {"size": list(self.of), **terms, **shift}


def find_size(wanted: SymbolicSize, names: Mapping[str, Polynomial]) -> Size | None:
    """Express a size by named sizes; return None if the file format cannot represent it."""
    # Prefer products to quotients, few sizes to many, and names of input axes to other
    # names.
    products = _list_sizes((wanted.polynomial, 1), names)
    if (size := next((it for it in products if it.over == 1), None)) is not None:
        return size
    fractions = (wanted.polynomial, 1), find_fraction(wanted.polynomial), wanted.fraction
    found = (size for it in fractions if it for size in _list_sizes(it, names))
    return next(found, None)


def _list_sizes(fraction: Fraction, names: Mapping[str, Polynomial]) -> Iterator[Size]:
    """Yield the sizes that are equal to a fraction, sorted by the number of factors."""
    degree = max(map(len, fraction[0]), default=0)
    for count in range(1, min(degree, _MAX_FACTORS) + 1):
        for of in combinations_with_replacement(names, count):
            product = reduce(multiply_sizes, (names[name] for name in of))
            if (size := _to_size(fraction, of, product)) is not None:
                yield size


def _to_size(fraction: Fraction, of: tuple[str, ...], product: Polynomial) -> Size | None:
    """Return a fraction as a size if it is (sizes * times + shift) // over; else None."""
    numerator, over = fraction
    if any(factors and factors not in numerator for factors in product):
        return None
    first = next(factors for factors in product if factors)
    sign = 1 if product[first] > 0 else -1
    times, per = sign * numerator[first], sign * product[first]
    rest = add_sizes(multiply_sizes(numerator, {(): per}), product, -times)
    if any(rest):
        return None
    common = gcd(times, over * per)
    over, shift = over * per // common, rest.get((), 0) // common
    return Size(of, times // common, over, shift // over, shift % over)


def fit_size(numbers: Series, known: Mapping[Series, Polynomial]) -> Polynomial | None:
    """Return the polynomial that is equal to a plain integer in all traces."""
    # `int`, `len` and NumPy return plain integers. A network from an ONNX file computes
    # shapes from these plain integers, as a product of sizes, times a factor, plus a
    # number.
    if len(numbers) < _MIN_TRACES:
        return None
    for count in range(1, _MAX_FACTORS + 1):
        for factors in combinations_with_replacement(known, count):
            products = [prod(it) for it in zip(*factors, strict=True)]
            if (line := _fit_line(numbers, products)) is not None:
                product = reduce(multiply_sizes, (known[it] for it in factors))
                return add_sizes({(): line[1]}, product, line[0])
    return None


def _fit_line(numbers: Series, products: Sequence[int]) -> tuple[int, int] | None:
    """Fit a line to the first two traces; return None if another trace is off the line."""
    rise, run = numbers[1] - numbers[0], products[1] - products[0]
    if run == 0 or rise == 0 or rise % run:
        return None
    times = rise // run
    plus = numbers[0] - times * products[0]
    fits = (times * it + plus == n for n, it in zip(numbers, products, strict=True))
    return (times, plus) if all(fits) else None
