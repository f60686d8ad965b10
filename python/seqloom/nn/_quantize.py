"""Replaces the linear layers of a network by layers of 8 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from seqloom.nn._layers import Int8Linear, Linear
from seqloom.nn._linear_layers import find_linear, replace_layer
from seqloom.nn._module import Module
from seqloom.nn._stored import Stored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from seqloom.tensor import Tensor

Network = TypeVar("Network", bound=Module)


def quantize_int8(
    module: Network, sample: Any = None, *, targets: Sequence[str] = ("*",)
) -> Network:
    """Replaces linear layers of a module by layers of 8 bits, for inference on a CPU.

    Each plain `Linear` that matches becomes an `Int8Linear`. With a sample the module is
    called once before, to measure the inputs of each layer, by which they are evened out.
    Give it data like that which the module will see: networks with some channels that are
    far larger than others lose much without it. The module is in evaluation mode
    afterwards.

    To load a record of such a module, build the module, call this, and load the record.

    Args:
        module: The module, bound to a backend; it is changed.
        sample: Arguments of a call of the module: a tuple, or the only one.
        targets: Patterns of the paths of linear layers, such as ``"layers.*"``.

    Returns:
        The same module.

    Raises:
        ArgumentError: No linear layer matches, or weights hold a NaN or an infinity.
        RecordError: The module is not bound to a backend.

    Examples:
        >>> import seqloom as sl
        >>> net = sl.nn.Sequential(sl.nn.Linear(4, 8), sl.nn.GELU(), sl.nn.Linear(8, 2))
        >>> net = net.bind("numpy", sl.Key(0))
        >>> x = net.backend.tensor(sl.Key(1).uniform(64).reshape(16, 4))
        >>> exact = net(x)
        >>> float(abs(sl.nn.quantize_int8(net, x)(x) - exact).max()) < 0.02
        True
    """
    found = find_linear(module.eval(), targets)
    layers = {path: layer for path, layer in found if type(layer) is Linear}
    largest: Mapping[str, Any] = {} if sample is None else _measure(module, layers, sample)
    rounded = {path: Int8Linear.of(it, largest.get(path)) for path, it in layers.items()}
    _replace(module, rounded)
    for path, layer in rounded.items():
        for name, part in layer.named(Stored):
            part.path = f"{path}.{name}"
    return module


class _Observed(Linear):
    """A layer that keeps the greatest size of each of its inputs."""

    largest: list[NDArray[Any]]

    def __init__(self, layer: Linear) -> None:
        self.weight, self.bias, self.largest = layer.weight, layer.bias, []

    def __call__(self, x: Tensor) -> Tensor:
        """Looks at the input, and maps it."""
        rows = x.detach().numpy().astype("float32").reshape(-1, x.shape[-1])
        if len(rows):
            self.largest = [np.maximum.reduce([*self.largest, abs(rows).max(axis=0)])]
        return super().__call__(x)


def _measure(module: Module, layers: Mapping[str, Linear], sample: Any) -> dict[str, Any]:
    """Returns the greatest size of each input of those layers that a call reaches."""
    observed = {path: _Observed(layer) for path, layer in layers.items()}
    _replace(module, observed)
    try:
        module(*(sample if isinstance(sample, tuple) else (sample,)))
    finally:
        _replace(module, layers)
    return {path: it.largest[0] for path, it in observed.items() if it.largest}


def _replace(module: Module, layers: Mapping[str, Any]) -> None:
    """Puts layers in the places that their paths name."""
    for path, layer in layers.items():
        replace_layer(module, path, layer)
