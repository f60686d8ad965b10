"""Dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError
from seqloom.nn import functional
from seqloom.nn._module import Module

if TYPE_CHECKING:
    from seqloom._key import Key
    from seqloom.tensor import Tensor


class Dropout(Module):
    """Sets random elements to zero in training (Srivastava et al. 2014).

    Args:
        p: Probability of zero, in [0, 1).

    Examples:
        >>> import seqloom as sl
        >>> drop = sl.nn.Dropout(0.5)
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 1.0])
        >>> sorted(set(drop(x, key=sl.Key(0)).numpy().tolist()) | {0.0, 2.0})
        [0.0, 2.0]
    """

    p: float

    def __init__(self, p: float = 0.5) -> None:
        if not 0 <= p < 1:
            raise ArgumentError(f"p must be in [0, 1), got {p}")
        self.p = p

    def __call__(self, x: Tensor, *, key: Key | None = None) -> Tensor:
        """Drops elements of a tensor of any shape."""
        if not self.training or self.p == 0:
            return x
        if key is None:
            raise ArgumentError(
                "dropout in training needs a key: pass key=sl.Key(seed, epoch, batch) to "
                "the model, or call model.eval() first"
            )
        return functional.dropout(x, self.p, key)
