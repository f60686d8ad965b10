"""Low-rank adapters (LoRA) for linear layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from seqloom._arguments import as_integer, as_number
from seqloom._key import Key
from seqloom.errors import ArgumentError
from seqloom.nn._initialisers import FanIn, Fill
from seqloom.nn._linear import Linear, find_linear_layers, linear, replace_layer
from seqloom.nn._module import Module
from seqloom.nn._parameters import ModuleArray, Param

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor import Tensor

Network = TypeVar("Network", bound=Module)


class LoRALinear(Linear):
    """Linear layer with an adapter: ``W x + b + alpha / rank * up (down x)``.

    The adapted layer keeps the weight, the bias and the paths of the replaced layer. `up`
    is initialised to zero, so the adapter has no effect until it is trained (Hu et al.
    2021). Use `add_lora` to add adapters to a module, and `merge_lora` to merge the
    adapters into plain linear layers.

    Args:
        layer: The layer to adapt.
        rank: Rank of the adapter: the number of rows of `down`.
        alpha: Numerator of the adapter's factor ``alpha / rank``.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.LoRALinear(sl.nn.Linear(4, 2), rank=1, alpha=2.0)
        >>> layer = layer.bind("numpy", sl.Key(0))
        >>> [path for path, _ in layer.parameters()]
        ['weight', 'bias', 'down', 'up']
    """

    down: Param
    up: Param
    scale: float

    def __init__(self, layer: Linear, rank: int, alpha: float) -> None:
        self.weight, self.bias = layer.weight, layer.bias
        outside, inside = layer.weight.shape
        dtype = layer.weight.dtype
        rank = as_integer("rank", rank, least=1)
        self.down = Param((rank, inside), FanIn(inside), dtype=dtype)
        self.up = Param((outside, rank), Fill(0.0), dtype=dtype)
        self.scale = alpha / rank

    def __call__(self, x: Tensor) -> Tensor:
        """Map ``(..., in)`` to ``(..., out)``."""
        low = linear(x, self.down.value)
        return super().__call__(x) + linear(low, self.up.value) * self.scale

    def merge(self) -> Linear:
        """Add the adapter to the weight.

        Afterwards this layer and the returned layer share the changed weight. The
        adapter is set to zero, so the results of this layer do not change.

        Returns:
            A plain linear layer with the changed weight.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.LoRALinear(sl.nn.Linear(4, 2), rank=1, alpha=2.0)
            >>> type(layer.bind("numpy", sl.Key(0)).merge()).__name__
            'Linear'
        """
        outside, inside = self.weight.shape
        plain = Linear(inside, outside, bias=self.bias is not None)
        change = self.up.value @ self.down.value * self.scale
        self.weight.assign(self.weight.value + change)
        self.up.assign(self.up.value * 0)
        plain.weight, plain.bias = self.weight, self.bias
        return plain


def add_lora(
    module: Network,
    rank: int = 8,
    alpha: float = 16.0,
    targets: Sequence[str] = ("*",),
    *,
    key: Key | int = 0,
) -> Network:
    """Add adapters to linear layers of a module, and freeze all other parameters.

    A record of the module then contains only the adapters. `Module.load_record` accepts
    a record of adapters; all other parameters keep the values of the base model. Layers
    that are added later, such as a head, are trained and saved as usual.

    Args:
        module: Module to adapt; it is changed in place.
        rank: Rank of each adapter.
        alpha: Numerator of the adapters' factor ``alpha / rank``.
        targets: Glob patterns of the paths of linear layers, such as ``"*.qkv"``.
        key: Random key or integer that initialises the adapters if the module is already
            bound.

    Returns:
        The changed module.

    Raises:
        ArgumentError: No linear layer matches, `rank` is below 1, or the module already
            has adapters.

    Examples:
        >>> import seqloom as sl
        >>> model = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy")
        >>> before = model.number_of_parameters
        >>> model = sl.nn.add_lora(model, rank=2, targets=["*.qkv"])
        >>> model.number_of_parameters - before, len(model.to_record())
        (256, 4)
    """
    rank = as_integer("rank", rank, least=1)
    alpha = as_number("alpha", alpha, expected="a number")
    if any(module.named(LoRALinear)):
        raise ArgumentError(
            f"{type(module).__name__} already has adapters; train these adapters, or call "
            "merge_lora(module) first to merge them into the layers"
        )
    matches = find_linear_layers(module, targets)
    module.freeze()
    for _, part in module.named(ModuleArray):
        part.is_recorded = False
    for path, layer in matches:
        replace_layer(module, path, LoRALinear(layer, rank, alpha))
    root = key if isinstance(key, Key) else Key(key)
    parts = list(module.named(ModuleArray))
    backend = next((part.backend for _, part in parts if part.backend is not None), None)
    for path, part in parts:
        if backend is not None and part.backend is None:
            part.bind(path, backend, root.fold(path))
    return module


def merge_lora(module: Network) -> Network:
    """Merge the adapters of a module into its linear layers.

    The merged module computes the same results with plain linear layers. All parameters
    of the module are trainable and saved again.

    Args:
        module: Module that `add_lora` changed; it is changed in place.

    Returns:
        The changed module.

    Raises:
        ArgumentError: The module has no adapters.

    Examples:
        >>> import seqloom as sl
        >>> model = sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy")
        >>> paths = list(model.to_record())
        >>> model = sl.nn.merge_lora(sl.nn.add_lora(model, rank=2))
        >>> list(model.to_record()) == paths
        True
    """
    adapted = list(module.named(LoRALinear))
    if not adapted:
        raise ArgumentError(
            f"{type(module).__name__} has no adapters to merge; call add_lora(module) first"
        )
    for path, layer in adapted:
        replace_layer(module, path, layer.merge())
    for _, part in module.named(ModuleArray):
        part.is_recorded = True
    return module.unfreeze()
