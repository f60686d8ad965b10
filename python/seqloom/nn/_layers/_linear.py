"""The linear layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom._arguments import as_integer
from seqloom.nn import functional
from seqloom.nn._initialisers import FanIn
from seqloom.nn._module import Module
from seqloom.nn._stored import Param, get_value

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


class Linear(Module):
    """Linear layer: ``x @ weight.T + bias``.

    Args:
        in_features: Length of the last axis of the input.
        out_features: Length of the last axis of the output.
        bias: Whether to add a bias.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(4, 2).bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[0.0] * 4])).shape
        (1, 2)
    """

    weight: Param
    bias: Param | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        inside = as_integer("in_features", in_features)
        outside = as_integer("out_features", out_features)
        self.weight = Param((outside, inside), FanIn(inside))
        self.bias = Param((outside,), FanIn(inside)) if bias else None

    def __call__(self, x: Tensor) -> Tensor:
        """Maps ``(..., in)`` to ``(..., out)``."""
        return functional.linear(x, self.weight.value, get_value(self.bias))
