"""The error function from sums and products.

Near 0, Taylor's series of erf. Elsewhere erfc(x) = exp(-x * x) * s(t) / (1 + 2 x) for
x > 0, where s is a Chebyshev series in t = (x - 3.75) / (x + 3.75) (the form of Shepherd
and Laframboise 1981; the coefficients are fitted here to 2e-15).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions

_CENTRE = 3.75
_NEAR = 1.0
_TERMS = 20
_SERIES = (
    1.177578934567402,
    -0.00459005458064643,
    -0.08424913336651804,
    0.05920993999819197,
    -0.026658668435305934,
    0.009074997670705229,
    -0.002413163540417663,
    0.0004907758365258058,
    -6.916973302501222e-05,
    4.139027985738952e-06,
    7.740383065057976e-07,
    -2.1886401023463176e-07,
    1.0764999544554676e-08,
    4.521959418024579e-09,
    -7.754402571447105e-10,
    -6.318079392997333e-11,
    2.8687385800196807e-11,
    1.9456658506555868e-13,
    -9.652487142908228e-13,
    3.2737701438634303e-14,
    3.369179935042155e-14,
    -1.7208456881689926e-15,
    -1.470178145890344e-15,
    2.2898349882893854e-16,
)


def erf(b: Functions, x: Array) -> Array:
    """The error function of each value."""
    far = b.multiply(b.sign(x), b.subtract(1.0, _tail(b, b.abs(x))))
    return b.where(b.less(b.abs(x), _NEAR), _series(b, x), far)


def erfc(b: Functions, x: Array) -> Array:
    """``1 - erf(x)``: the tail itself for large x, two less the tail for negative ones."""
    tail = _tail(b, b.abs(x))
    far = b.where(b.less(x, 0), b.subtract(2.0, tail), tail)
    return b.where(b.less(b.abs(x), 0.5), b.subtract(1.0, _series(b, x)), far)


def _series(b: Functions, x: Array) -> Array:
    """Taylor's series, of values up to 1."""
    x = b.clip(x, -_NEAR, _NEAR)
    square = b.square(x)
    total = b.multiply(square, 0.0)
    for n in range(_TERMS, -1, -1):
        term = (-1) ** n / (math.factorial(n) * (2 * n + 1))
        total = b.add(b.multiply(total, square), term)
    return b.multiply(b.multiply(total, x), 2.0 / math.sqrt(math.pi))


def _tail(b: Functions, x: Array) -> Array:
    """Erfc of values from 0 up: the Chebyshev series by Clenshaw's recurrence."""
    t = b.subtract(1.0, b.divide(2.0 * _CENTRE, b.add(x, _CENTRE)))
    older = newer = b.multiply(t, 0.0)
    for coefficient in reversed(_SERIES[1:]):
        doubled = b.multiply(b.multiply(t, newer), 2.0)
        older, newer = newer, b.add(b.subtract(doubled, older), coefficient)
    total = b.add(b.subtract(b.multiply(t, newer), older), _SERIES[0])
    scale = b.exp(b.negative(b.square(x)))
    return b.divide(b.multiply(scale, total), b.add(b.multiply(x, 2.0), 1.0))
