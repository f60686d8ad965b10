"""Updates of parameters, as fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]


class Updates(Backend):
    """What changes parameters."""

    def adamw(
        self,
        params: list[Floats],
        grads: list[Floats],
        first: list[Floats],
        second: list[Floats],
        decays: list[float],
        *,
        lr: float,
        betas: tuple[float, float],
        eps: float,
        step: int,
    ) -> None:
        """One step of AdamW in place (Loshchilov and Hutter 2019)."""
        grads = [np.ascontiguousarray(grad) for grad in grads]
        _native.adamw(
            params, grads, first, second, lr, *betas, eps, decays, step, self.threads
        )
