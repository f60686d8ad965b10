"""Layers one after the other."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from seqloom.nn._module import Module

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom._key import Key
    from seqloom.tensor import Tensor


class Sequential(Module):
    """Calls what it is given, one after the other.

    Layers that take a ``key`` get one of their own, folded from the call's by position.

    Args:
        *layers: Modules and functions.

    Examples:
        >>> import seqloom as sl
        >>> F = sl.nn.functional
        >>> net = sl.nn.Sequential(
        ...     sl.nn.Linear(4, 8), F.relu, sl.nn.Dropout(0.5), sl.nn.Linear(8, 1)
        ... )
        >>> net = net.bind("numpy", sl.Key(0)).eval()
        >>> net(net.backend.tensor([[0.0] * 4])).shape
        (1, 1)
    """

    layers: list[Any]

    def __init__(self, *layers: Callable[..., Any]) -> None:
        self.layers = list(layers)

    def __call__(self, x: Tensor, *, key: Key | None = None) -> Tensor:
        """The last layer's output."""
        for place, layer in enumerate(self.layers):
            options = {"key": key and key.fold(place)} if _takes_key(layer) else {}
            x = layer(x, **options)
        return x


@lru_cache(maxsize=4096)
def _signature_takes_key(function: Any) -> bool:
    """Whether a function has a parameter `key`."""
    return "key" in inspect.signature(function).parameters


def _takes_key(layer: Callable[..., Any]) -> bool:
    """Whether a layer is stochastic."""
    return _signature_takes_key(
        type(layer).__call__ if isinstance(layer, Module) else layer
    )
