"""The error function and its inverse, computed with elementary operations.

Near 0, erf is computed by a Taylor series. For larger x, erfc(x) is
exp(-x * x) * s(t) / (1 + 2 x), where s is a Chebyshev series in
t = (x - 3.75) / (x + 3.75). The formula for erfc is from Shepherd and Laframboise
(1981); its coefficients were fitted to an error of 2e-15.

The inverse error function converts uniform random numbers to normal random numbers. The
polynomials of the inverse in ``w = -log(1 - x * x)`` are those of XLA, from Giles,
"Approximating the erfinv function" (GPU Computing Gems, 2011).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    in_float32,
    make_out,
    to_contiguous,
    write_out,
)
from seqloom.tensor._families._numpy_functions import to_floats
from seqloom.tensor._families._rule import Rule, ShapeRule, infer_broadcast, rule_from_input

if TYPE_CHECKING:
    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions


# Default implementations ---------------------------------------------------------------


_CHEBYSHEV_CENTRE = 3.75
_TAYLOR_LIMIT = 1.0
_TAYLOR_TERMS = 20
_CHEBYSHEV_COEFFICIENTS = (
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
    """Return the error function of each value."""
    far = b.multiply(b.sign(x), b.subtract(1.0, _erfc_tail(b, b.abs(x))))
    return b.where(b.less(b.abs(x), _TAYLOR_LIMIT), _taylor_erf(b, x), far)


def erfc(b: Functions, x: Array) -> Array:
    """Return ``1 - erf(x)``, accurate also for large `x`."""
    tail = _erfc_tail(b, b.abs(x))
    far = b.where(b.less(x, 0), b.subtract(2.0, tail), tail)
    return b.where(b.less(b.abs(x), 0.5), b.subtract(1.0, _taylor_erf(b, x)), far)


def _taylor_erf(b: Functions, x: Array) -> Array:
    """Return erf of values between -1 and 1, computed with a Taylor series."""
    x = b.clip(x, -_TAYLOR_LIMIT, _TAYLOR_LIMIT)
    square = b.square(x)
    total = b.multiply(square, 0.0)
    for n in range(_TAYLOR_TERMS, -1, -1):
        term = (-1) ** n / (math.factorial(n) * (2 * n + 1))
        total = b.add(b.multiply(total, square), term)
    return b.multiply(b.multiply(total, x), 2.0 / math.sqrt(math.pi))


def _erfc_tail(b: Functions, x: Array) -> Array:
    """Return erfc of values >= 0, by Clenshaw's recurrence for Chebyshev series."""
    t = b.subtract(1.0, b.divide(2.0 * _CHEBYSHEV_CENTRE, b.add(x, _CHEBYSHEV_CENTRE)))
    older = newer = b.multiply(t, 0.0)
    for coefficient in reversed(_CHEBYSHEV_COEFFICIENTS[1:]):
        doubled = b.multiply(b.multiply(t, newer), 2.0)
        older, newer = newer, b.add(b.subtract(doubled, older), coefficient)
    total = b.add(b.subtract(b.multiply(t, newer), older), _CHEBYSHEV_COEFFICIENTS[0])
    scale = b.exp(b.negative(b.square(x)))
    return b.divide(b.multiply(scale, total), b.add(b.multiply(x, 2.0), 1.0))


# fmt: off
_ERF_INV_32 = (
    (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
     -0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
    (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
     -0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)
_ERF_INV_64 = (
    (-3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18,
     1.115787767802518096e-17, -1.333171662854620906e-16, 2.0972767875968561637e-17,
     6.6376381343583238325e-15, -4.0545662729752068639e-14, -8.1519341976054721522e-14,
     2.6335093153082322977e-12, -1.2975133253453532498e-11, -5.4154120542946279317e-11,
     1.051212273321532285e-09, -4.1126339803469836976e-09, -2.9070369957882005086e-08,
     4.2347877827932403518e-07, -1.3654692000834678645e-06, -1.3882523362786468719e-05,
     0.0001867342080340571352, -0.00074070253416626697512, -0.0060336708714301490533,
     0.24015818242558961693, 1.6536545626831027356),
    (2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
     1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
     2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
     6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
     0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
     -0.0037512085075692412107, 0.005370914553590063617, 1.0052589676941592334,
     3.0838856104922207635),
    (-2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
     -3.7894654401267369937e-09, 7.6157012080783393804e-09, -1.4960026627149240478e-08,
     2.9147953450901080826e-08, -6.7711997758452339498e-08, 2.2900482228026654717e-07,
     -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
     7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026,
     1.0103004648645343977, 4.8499064014085844221),
)
# fmt: on


def erf_inv(b: Functions, x: Array, *, narrow: bool) -> Array:
    """Return the inverse of erf, using the polynomials for one float precision."""
    w = b.negative(b.log1p(b.negative(b.square(x))))
    if narrow:
        near = _evaluate_polynomial(b, _ERF_INV_32[0], b.subtract(w, 2.5))
        far = _evaluate_polynomial(b, _ERF_INV_32[1], b.subtract(b.sqrt(w), 3.0))
        return b.multiply(b.where(b.less(w, 5.0), near, far), x)
    near = _evaluate_polynomial(b, _ERF_INV_64[0], b.subtract(w, 3.125))
    root = b.sqrt(w)
    middle = _evaluate_polynomial(b, _ERF_INV_64[1], b.subtract(root, 3.25))
    far = _evaluate_polynomial(b, _ERF_INV_64[2], b.subtract(root, 5.0))
    far = b.where(b.less(w, 16.0), middle, far)
    return b.multiply(b.where(b.less(w, 6.25), near, far), x)


def _evaluate_polynomial(b: Functions, coefficients: tuple[float, ...], x: Array) -> Array:
    """Evaluate a polynomial with Horner's method, highest power first."""
    first, *rest = coefficients
    total = b.add(b.multiply(x, 0.0), first)
    for coefficient in rest:
        total = b.add(b.multiply(total, x), coefficient)
    return total


# Gradient rules ------------------------------------------------------------------------


_ERF_SLOPE_AT_ZERO = 2 / math.sqrt(math.pi)


def _erf_gradient(b: Functions, grad: Array, x: Array) -> Array:
    bell = b.exp(b.negative(b.square(x)))
    return b.multiply(grad, b.multiply(bell, _ERF_SLOPE_AT_ZERO))


GRAD_RULES: dict[str, Rule] = {
    "erf": rule_from_input(_erf_gradient),
    "erfc": rule_from_input(lambda b, grad, x: b.negative(_erf_gradient(b, grad, x))),
}


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {**dict.fromkeys(("erf", "erfc"), infer_broadcast)}


# NumPy versions ------------------------------------------------------------------------


# Fused programs that compute only the error function, one for each type code.
_ERF_PROGRAMS = {
    code: _native.ElementwiseProgram(code == "d", 1, [], [("erf", [0])], [(1, None, [])])
    for code in "fd"
}


@in_float32
def numpy_erf(b: Functions, x: Floats, *, out: Floats | None = None) -> Floats:
    """Return the error function of each value."""
    x = to_contiguous(to_floats(x))
    made = make_out(out, x.shape, x.dtype)
    _ERF_PROGRAMS[x.dtype.char].run((x,), (made,), b.threads)
    return write_out(made, out)


# The error function of XLA in single precision: a quotient of polynomials in x²,
# rounded after each step.
_NUMERATOR = (
    0.00022905065861350646,
    0.0034082910107109506,
    0.050955695062380861,
    0.18520832239976145,
    1.128379143519084,
)
_DENOMINATOR = (
    -1.1791602954361697e-7,
    0.000023547966471313185,
    0.0010179625278914885,
    0.014070470171167667,
    0.11098505178285362,
    0.49746925110067538,
    1.0,
)
_ERF_MAX_INPUT = np.float32(3.832506856900711)


def erf_in_float32(x: Any) -> float:
    """Return the error function in single precision, bitwise equal to that of XLA."""
    if x.dtype != np.float32:
        return math.erf(x)
    x = np.clip(x, -_ERF_MAX_INPUT, _ERF_MAX_INPUT)
    return float(
        x * _evaluate_float32(_NUMERATOR, x * x) / _evaluate_float32(_DENOMINATOR, x * x)
    )


def _evaluate_float32(terms: tuple[float, ...], x: Any) -> Any:
    """Evaluate a polynomial in float32 with Horner's method, highest power first."""
    value = np.float32(terms[0])
    for term in terms[1:]:
        value = np.float32(float(value) * float(x) + float(np.float32(term)))
    return value
