"""Updates of parameters, as fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor.backends._numpy._filling import to_contiguous

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend

    Floats = NDArray[Any]


def adamw(
    b: Backend,
    params: list[Floats],
    grads: list[Floats],
    first: list[Floats],
    second: list[Floats],
    lr: Any,
    step: Any,
    *,
    betas: tuple[float, float],
    eps: float,
    decays: Sequence[float],
) -> tuple[list[Floats], list[Floats], list[Floats]]:
    """One step of AdamW, written into the arrays that it is given."""
    # NumPy's functions give arrays without axes as scalars, which no kernel can write.
    params, first, second = (
        [np.asarray(array, order="C") for array in several]
        for several in (params, first, second)
    )
    grads = [to_contiguous(grad) for grad in grads]
    rate, number = float(lr), int(step)
    _native.adamw(
        *(params, grads, first, second, rate, *betas, eps, list(decays), number),
        b.threads,
    )
    return params, first, second
