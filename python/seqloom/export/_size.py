"""Sizes of a traced graph: integers that record how they follow from those of a batch."""

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


# A product of named sizes and quotients, in the order of their texts.
Monomial: TypeAlias = "tuple[str | Quotient, ...]"
Polynomial: TypeAlias = Mapping[Monomial, int]  # coefficients, none of them 0
Fraction: TypeAlias = tuple[Polynomial, int]  # a numerator and a divisor, rounded down

_MAX_DENOMINATOR = 48  # of a float factor that is read as a fraction


@dataclass(frozen=True, slots=True)
class Quotient:
    """A polynomial divided by an integer and rounded down."""

    terms: tuple[tuple[Monomial, int], ...]
    over: int


class SymbolicSize(int):
    """The integer of one trace, and the polynomial that gives it at any sizes.

    Sums, differences, products and quotients are such integers too. A result that has no
    polynomial is a plain integer; the probes reveal that it varies. A float factor keeps
    the polynomial only on the right: ``size * 0.5``.
    """

    polynomial: Polynomial
    fraction: Fraction | None  # by which the size was computed

    def __new__(
        cls, value: int, polynomial: Polynomial, fraction: Fraction | None = None
    ) -> Self:
        """Make an integer that has a polynomial."""
        size = super().__new__(cls, value)
        size.polynomial, size.fraction = polynomial, fraction
        return size

    @classmethod
    def of_name(cls, name: str, value: int) -> SymbolicSize:
        """Make a size that follows from no other."""
        return cls(value, {(name,): 1})

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        fraction = _add_to_fraction(self, other) or _add_to_fraction(other, self)
        total = add(self.polynomial, polynomial_of(other))
        return _make(int(self) + int(other), total, fraction)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, int) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other if isinstance(other, int) else NotImplemented

    def __neg__(self) -> Any:
        fraction = self.fraction and (_negate(*self.fraction), self.fraction[1])
        return _make(-int(self), multiply(self.polynomial, {(): -1}), fraction)

    def __pos__(self) -> Any:
        return self

    __floor__ = __ceil__ = __trunc__ = __pos__

    def __abs__(self) -> Any:
        return self if int(self) >= 0 else -self

    def __mul__(self, other: Any) -> Any:
        if type(other) is float:
            return _scale(self, other)
        if not isinstance(other, int):
            return NotImplemented
        product = multiply(self.polynomial, polynomial_of(other))
        return _make(int(self) * int(other), product)

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
    """A size over an integer: `math.floor` and `math.ceil` make a size of it again."""

    size: Any
    over: int

    def __new__(cls, value: float, size: Any, over: int) -> Self:
        """Make a float that has a quotient."""
        ratio = super().__new__(cls, value)
        ratio.size, ratio.over = size, over
        return ratio

    def __floor__(self) -> Any:
        return self.size // self.over

    def __ceil__(self) -> Any:
        return -(-self.size // self.over)


def to_plain(arg: Any) -> Any:
    """Replace symbolic numbers by plain ones: NumPy's backend compares exact types."""
    if type(arg) in (list, tuple):
        return type(arg)(map(to_plain, arg))
    kinds: dict[type[Any], type[Any]] = {SymbolicSize: int, SymbolicRatio: float}
    return kinds[type(arg)](arg) if type(arg) in kinds else arg


def polynomial_of(size: int) -> Polynomial:
    """Return the polynomial of a size; that of a plain integer is a constant."""
    if isinstance(size, SymbolicSize):
        return size.polynomial
    return {(): int(size)} if size else {}


def evaluate(polynomial: Polynomial, sizes: Mapping[str, int]) -> int:
    """Compute a polynomial at some sizes."""
    return sum(
        times * prod(_evaluate_factor(it, sizes) for it in factors)
        for factors, times in polynomial.items()
    )


def add(left: Polynomial, right: Polynomial, times: int = 1) -> Polynomial:
    """Add a multiple of a polynomial to another one."""
    total = dict(left)
    for factors, more in right.items():
        total[factors] = total.get(factors, 0) + times * more
    return {factors: it for factors, it in total.items() if it}


def multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    """Multiply two polynomials."""
    total: Polynomial = {}
    for one, times in left.items():
        shifted = {_sort((*one, *two)): it for two, it in right.items()}
        total = add(total, shifted, times)
    return total


def divide(polynomial: Polynomial, over: int) -> Polynomial:
    """Divide by a positive integer and rounds down; equal quotients look the same."""
    if (fraction := find_fraction(polynomial)) is not None:
        return divide(fraction[0], over * fraction[1])
    whole = {factors: it // over for factors, it in polynomial.items() if it // over}
    rest = {factors: it % over for factors, it in polynomial.items() if it % over}
    shift = rest.pop((), 0)
    if not rest:
        return whole
    common = gcd(over, *rest.values())
    over, shift = over // common, shift // common
    rest = {factors: rest[factors] // common for factors in sorted(rest, key=repr)}
    numerator = add(rest, {(): shift})
    # One of two forms: x // 3 is -((2 - x) // 3), and x // 2 is x - (x + 1) // 2.
    opposite = (*(over - it for it in rest.values()), over - 1 - shift)
    if opposite < (*rest.values(), shift):
        return add(whole, divide(_negate(numerator, over), over), -1)
    quotient = Quotient(tuple(sorted(numerator.items(), key=repr)), over)
    is_nested = find_fraction(numerator) is not None
    return add(whole, divide(numerator, over) if is_nested else {(quotient,): 1})


def find_fraction(polynomial: Polynomial) -> Fraction | None:
    """Write a polynomial as one fraction, if it has one quotient: x + (x + 1) // 2."""
    keys = [key for key in polynomial if any(isinstance(it, Quotient) for it in key)]
    if len(keys) != 1 or len(keys[0]) != 1 or abs(polynomial[keys[0]]) != 1:
        return None
    times, quotient = polynomial[keys[0]], cast("Quotient", keys[0][0])
    numerator, over = dict(quotient.terms), quotient.over
    if times < 0:
        numerator = _negate(numerator, over)
    return add(numerator, add(polynomial, {keys[0]: -times}), over), over


def _negate(numerator: Polynomial, over: int) -> Polynomial:
    """Return the numerator of -(x // n), which is (n - 1 - x) // n."""
    return add({(): over - 1}, numerator, -1)


def _divide_exactly(polynomial: Polynomial, by: Polynomial) -> Polynomial | None:
    """Divide by a polynomial; None if a rest remains."""
    lead, rest = max(by, key=_degree), polynomial
    quotient: Polynomial = {}
    while rest:
        factors = max(rest, key=_degree)
        remaining = list(factors)
        if rest[factors] % by[lead] or not all(_take(remaining, it) for it in lead):
            return None
        part = {tuple(remaining): rest[factors] // by[lead]}
        quotient, rest = add(quotient, part), add(rest, multiply(part, by), -1)
    return quotient


def _take(factors: list[Any], factor: Any) -> bool:
    """Remove a factor; False if there is none."""
    if factor not in factors:
        return False
    factors.remove(factor)
    return True


def _divide_sizes(size: int, other: int) -> tuple[int, int]:
    """Divide with a rest; both are plain integers if no polynomial gives the quotient."""
    whole, rest = divmod(int(size), int(other))
    below = polynomial_of(other)
    common = gcd(*below.values())
    primitive = {factors: it // common for factors, it in below.items()}
    above = _divide_exactly(polynomial_of(size), primitive)
    if above is None:
        return whole, rest
    quotient = _make(whole, divide(above, common), (above, common))
    return quotient, size - other * quotient


def _scale(size: SymbolicSize, factor: float) -> float:
    """Multiply by a float, which a ratio of small integers may be."""
    product = int(size) * factor
    if not isfinite(factor):
        return product
    exact = fractions.Fraction(factor)
    ratio = exact.limit_denominator(_MAX_DENOMINATOR)
    # Otherwise a product may miss an integer: 180 * 0.35 < 63, and 50 * 1.1 > 55.
    if abs(exact - ratio) * 2**54 > abs(ratio):
        return product
    return SymbolicRatio(product, size * ratio.numerator, ratio.denominator)


def _add_to_fraction(size: int, other: int) -> Fraction | None:
    """Add to the fraction by which a size was computed."""
    fraction = getattr(size, "fraction", None)
    if fraction is None:
        return None
    numerator, over = fraction
    return add(numerator, polynomial_of(other), over), over


def _make(value: int, polynomial: Polynomial, fraction: Fraction | None = None) -> int:
    """Make an integer, a plain one if it depends on no size."""
    is_constant = not any(polynomial)  # no key but ()
    return value if is_constant else SymbolicSize(value, polynomial, fraction)


def _evaluate_factor(factor: str | Quotient, sizes: Mapping[str, int]) -> int:
    """Compute a factor at some sizes."""
    if isinstance(factor, str):
        return sizes[factor]
    return evaluate(dict(factor.terms), sizes) // factor.over


def _sort(factors: Monomial) -> Monomial:
    """Bring factors into their order."""
    return tuple(sorted(factors, key=repr))


def _degree(factors: Monomial) -> tuple[int, list[str]]:
    """Order monomials so that products keep the order."""
    return len(factors), [repr(it) for it in factors]


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
        """Write it as the page of the format says."""
        terms = {"times": self.times, "over": self.over, "plus": self.plus}
        shift = {"shift": self.shift} if self.shift else {}
        return {"size": list(self.of), **terms, **shift}


def find_size(wanted: SymbolicSize, names: Mapping[str, Polynomial]) -> Size | None:
    """Write a size by others that have names; None if the format cannot."""
    # A product is preferred to a quotient, and few sizes to several. Names that are known
    # longest come first: those of the batch.
    products = _list_sizes((wanted.polynomial, 1), names)
    if (size := next((it for it in products if it.over == 1), None)) is not None:
        return size
    fractions = (wanted.polynomial, 1), find_fraction(wanted.polynomial), wanted.fraction
    found = (size for it in fractions if it for size in _list_sizes(it, names))
    return next(found, None)


def _list_sizes(fraction: Fraction, names: Mapping[str, Polynomial]) -> Iterator[Size]:
    """Yield the forms of a fraction, those of the fewest sizes first."""
    degree = max(map(len, fraction[0]), default=0)
    for count in range(1, min(degree, _MAX_FACTORS) + 1):
        for of in combinations_with_replacement(names, count):
            product = reduce(multiply, (names[name] for name in of))
            if (size := _write(fraction, of, product)) is not None:
                yield size


def _write(fraction: Fraction, of: tuple[str, ...], product: Polynomial) -> Size | None:
    """Write a fraction whose numerator is a multiple of a product, plus a number."""
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
    """Find the size that an integer is in each trace, if a program has lost its symbol."""
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
    """Fit a multiple and a number to the first two traces; None if another differs."""
    rise, run = numbers[1] - numbers[0], products[1] - products[0]
    if run == 0 or rise == 0 or rise % run:
        return None
    times = rise // run
    plus = numbers[0] - times * products[0]
    fits = (times * it + plus == n for n, it in zip(numbers, products, strict=True))
    return (times, plus) if all(fits) else None
