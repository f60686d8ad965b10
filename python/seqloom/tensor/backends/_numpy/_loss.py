"""Losses, as fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]


class Losses(Backend):
    """What is minimised."""

    def cross_entropy(
        self, logits: Floats, labels: NDArray[np.int64], weights: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """The weighted loss of each row ``(n,)`` and its derivative ``(n, k)``."""
        logits = np.ascontiguousarray(logits)
        losses, grad = np.empty(len(logits), logits.dtype), np.empty_like(logits)
        labels = np.ascontiguousarray(labels, np.int64)
        _native.cross_entropy(logits, labels, weights, losses, grad, self.threads)
        return losses, grad
