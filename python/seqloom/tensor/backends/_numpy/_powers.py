"""Powers that cost less than a power."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor.backends._numpy._blocks import fresh

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[Any]


def by_products(power: Callable[..., Floats]) -> Callable[..., Floats]:
    """Powers, of floats by products or a root where the exponent is a number of few.

    Args:
        power: NumPy's power; a product of three is at most two units in the last place
            from the exact one.

    Returns:
        A function of the same arguments.
    """

    def call(x: Any, y: Any, out: Floats | None = None) -> Floats:
        is_number = type(y) is int or type(y) is float
        if is_number and y in _CHEAP and x.dtype.char in "fd":
            made = fresh(x.shape, x.dtype) if out is None and x.ndim else out
            return _CHEAP[y](x, made)
        return power(x, y) if out is None else power(x, y, out)

    return call


def _cube(x: Floats, out: Floats | None) -> Floats:
    """``x * x * x``; where `out` is x itself, its square needs room of its own."""
    square = np.multiply(x, x, out=None if out is x else out)
    return np.multiply(square, x, out=out)


_CHEAP: dict[float, Callable[..., Floats]] = {0.5: np.sqrt, 2.0: np.square, 3.0: _cube}
