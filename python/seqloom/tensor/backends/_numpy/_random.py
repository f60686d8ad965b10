"""Random numbers by key, as kernels: the same bits as on every backend."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.tensor._backend import Backend
from seqloom.tensor._defaults import _drawn as drawn
from seqloom.tensor.backends._numpy._filling import fill, make_out, write_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[Any]


def random_bits(
    b: Backend, key: Any, shape: Sequence[int], *, out: NDArray[np.uint32] | None = None
) -> NDArray[np.uint32]:
    """Words of 32 random bits."""
    made = make_out(out, drawn.to_shape(shape), np.uint32)
    _native.position_bits(*words_of(key), made.reshape(-1), b.threads)
    return write_to(made, out)


def uniform(
    b: Backend,
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = "float32",
    out: Floats | None = None,
) -> Floats:
    """Numbers from 0 (included) to 1 (excluded)."""
    if np.dtype(dtype).itemsize == 2:  # noqa: PLR2004 - half precision
        return write_to(Backend.uniform(b, key, shape, dtype=dtype), out)
    made = make_out(out, drawn.to_shape(shape), dtype)
    _native.uniform(*words_of(key), made.reshape(-1), b.threads)
    return write_to(made, out)


def normal(
    b: Backend,
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = "float32",
    out: Floats | None = None,
) -> Floats:
    """Numbers of mean 0 and deviation 1."""
    return truncated_normal(b, key, -math.inf, math.inf, shape, dtype=dtype, out=out)


def truncated_normal(
    b: Backend,
    key: Any,
    lower: float,
    upper: float,
    shape: Sequence[int],
    *,
    dtype: Any = "float32",
    out: Floats | None = None,
) -> Floats:
    """Normal numbers, given that they lie between two bounds."""
    if np.dtype(dtype).itemsize == 2:  # noqa: PLR2004 - half precision
        whole = Backend.truncated_normal(b, key, lower, upper, shape, dtype=dtype)
        return write_to(whole, out)
    made, ends = make_out(out, drawn.to_shape(shape), dtype), drawn.bounds(lower, upper)
    bounds = _bounds(*ends, np.dtype(dtype).type)
    _native.truncated_normal(*words_of(key), *bounds, made.reshape(-1), b.threads)
    if math.isinf(lower) and math.isinf(upper):
        return write_to(made, out)
    if (edge := drawn.beyond(*bounds)) is not None:
        made[np.isnan(made)] = edge
    return write_to(made, out)


def bernoulli(
    b: Backend,
    key: Any,
    p: Any,
    shape: Sequence[int],
    *,
    out: NDArray[np.bool] | None = None,
) -> NDArray[np.bool]:
    """True with probability `p`, in float32."""
    if not isinstance(p, (int, float)):
        return np.less(b.uniform(key, shape), p, out=out)
    made = make_out(out, drawn.to_shape(shape), np.bool)
    _native.bernoulli(*words_of(key), drawn.share(p), made.reshape(-1), b.threads)
    return write_to(made, out)


def randint(
    b: Backend,
    key: Any,
    low: int,
    high: int,
    shape: Sequence[int],
    *,
    out: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """Whole numbers (int32) from `low` (included) to `high` (excluded)."""
    low, high = drawn.rising(low, high)
    made = make_out(out, drawn.to_shape(shape), np.int32)
    _native.randint(*words_of(key), low, high, made.reshape(-1), b.threads)
    return write_to(made, out)


def permutation(b: Backend, key: Any, n: int) -> NDArray[np.int32]:
    """The numbers (int32) from 0 to n - 1 in random order."""
    made = np.empty(drawn.to_count(n), np.int32)
    _native.shuffled(*words_of(key), made, b.threads)
    return made


def dropout(
    b: Backend, x: Floats, key: Any, rate: float, *, out: Floats | None = None
) -> Floats:
    """Zeros a share `rate` of the values by the key and scales up the others."""
    kernel, words = _native.dropout, words_of(key)
    return fill(kernel, x, *words, rate, threads=b.threads, out=out)


def words_of(key: Any) -> tuple[int, int]:
    """The two words of a key."""
    words = getattr(key, "words", key)
    try:
        return int(words[0]), int(words[1])
    except (TypeError, IndexError) as error:
        raise ArgumentError(
            "random numbers are drawn by a key, sl.Key(seed) or its two words; this is "
            f"{type(key).__name__}"
        ) from error


def _bounds(lower: float, upper: float, one: Any) -> tuple[float, float, float, float]:
    """Between which values of the error function, and of its inverse, numbers lie."""
    if math.isinf(lower) and math.isinf(upper):
        return float(np.nextafter(one(-1), one(0))), 1.0, -math.inf, math.inf
    inverse = one(1) / one(math.sqrt(2))
    low, high = (_erf(one(bound) * inverse) for bound in (lower, upper))
    least = np.nextafter(one(lower), one(math.inf))
    most = np.nextafter(one(upper), one(-math.inf))
    return low, high, float(least), float(most)


# XLA's error function in single precision: a quotient of polynomials in the square, each
# step of which is rounded once.
_ABOVE = (
    0.00022905065861350646,
    0.0034082910107109506,
    0.050955695062380861,
    0.18520832239976145,
    1.128379143519084,
)
_BELOW = (
    -1.1791602954361697e-7,
    0.000023547966471313185,
    0.0010179625278914885,
    0.014070470171167667,
    0.11098505178285362,
    0.49746925110067538,
    1.0,
)
_END = np.float32(3.832506856900711)


def _erf(x: Any) -> float:
    """The error function, in single precision to XLA's last bit."""
    if x.dtype != np.float32:
        return math.erf(x)
    x = np.clip(x, -_END, _END)
    return float(x * _polynomial(_ABOVE, x * x) / _polynomial(_BELOW, x * x))


def _polynomial(terms: tuple[float, ...], x: Any) -> Any:
    """By Horner's rule, the highest power first."""
    value = np.float32(terms[0])
    for term in terms[1:]:
        value = np.float32(float(value) * float(x) + float(np.float32(term)))
    return value
