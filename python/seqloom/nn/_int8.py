"""Linear layers with weights of 8 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from seqloom._arguments import as_integer
from seqloom._key import Key
from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._initialisers import Fill
from seqloom.nn._linear import Linear, find_linear, replace_layer
from seqloom.nn._module import Module
from seqloom.nn._operands import require_floats
from seqloom.nn._stored import Buffer, Stored, get_value
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from seqloom.tensor import Tensor

    Floats = NDArray[Any]

_MOST = 127  # greatest weight; -128 is not used
_DEEPEST = 1 << 16  # inputs that sums of 32 bits have room for


class Int8Linear(Module):
    """A linear layer whose weights are whole numbers from -127 to 127, for inference.

    ``(x * factor) @ (weight * scale).T + bias``. On a CPU the rows of the input are rounded
    to 8 bits too, each by a scale of its own, and products are summed as integers, which is
    exact: a row's result has the same bits on every processor, and beside any other rows.
    `factor` divides channels of the input that are large throughout, and their weights are
    multiplied as much (SmoothQuant, Xiao et al. 2023).

    All arrays are buffers: a layer of 8 bits is not trained. A gradient that goes through
    it is that of the layer in floats.

    Args:
        in_features: Length of the last axis of the input; at most 65,536.
        out_features: Length of the last axis of the output.
        bias: Whether to add a bias.

    Raises:
        ArgumentError: There are more inputs than sums of 32 bits have room for.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(4, 2).bind("numpy", sl.Key(0))
        >>> small = sl.nn.Int8Linear.of(layer)
        >>> small.weight.value.dtype, small(layer.backend.tensor([[0.0] * 4])).shape
        (dtype('int8'), (1, 2))
    """

    weight: Buffer
    scale: Buffer
    factor: Buffer
    bias: Buffer | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        inside = as_integer("in_features", in_features, least=1)
        outside = as_integer("out_features", out_features, least=1)
        if inside > _DEEPEST:
            raise ArgumentError(
                f"in_features must be at most {_DEEPEST}, because sums have 32 bits, got "
                f"{inside}; keep the layer in floats"
            )
        self.weight = Buffer((outside, inside), Fill(0), dtype="int8")
        self.scale = _make_full((outside,), Fill(1.0))
        self.factor = _make_full((inside,), Fill(1.0))
        self.bias = _make_full((outside,), Fill(0.0)) if bias else None

    @classmethod
    def of(cls, layer: Linear, largest: Any = None) -> Self:
        """Round the weights of a linear layer, each output's by a scale of its own.

        Args:
            layer: The layer, bound to a backend; it does not change.
            largest: The greatest size of each input ``(in,)``, as measured; by them the
                inputs are made alike. None leaves the inputs as they are.

        Returns:
            A layer on the same backend.

        Raises:
            ArgumentError: The weights hold a NaN or an infinity, or `largest` does not fit.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(2, 1, bias=False).bind("numpy", sl.Key(0))
            >>> layer.weight.assign([[0.5, 1.0]])
            >>> sl.nn.Int8Linear.of(layer).weight.numpy().tolist()
            [[64, 127]]
        """
        weight = np.asarray(layer.weight.numpy(), dtype=np.float32)
        if not np.isfinite(weight).all():
            raise ArgumentError(
                "the weights of the layer hold a NaN or an infinity, which has no whole "
                "number; load or train it again"
            )
        outside, inside = weight.shape
        made = cls(inside, outside, bias=layer.bias is not None)
        made.bind(layer.backend, Key(0))
        factor = np.ones(inside, np.float32)
        if largest is not None:
            factor = _even_out(np.asarray(largest, np.float32), weight)
        made._round(weight / factor, factor)
        if made.bias is not None and layer.bias is not None:
            made.bias.assign(np.asarray(layer.bias.numpy(), dtype=np.float32))
        return made

    def _round(self, weight: Floats, factor: Floats) -> None:
        """Set the arrays by weights for inputs that were multiplied."""
        scale = abs(weight).max(axis=1) / np.float32(_MOST)
        scale[scale == 0] = 1.0  # all weights are zero
        self.weight.assign(np.rint(weight / scale[:, None]).astype(np.int8))
        self.scale.assign(scale)
        self.factor.assign(factor)

    def __call__(self, x: Tensor) -> Tensor:
        """Map ``(..., in)`` to ``(..., out)``."""
        require_floats("Int8Linear", x)
        inside = self.weight.shape[1]
        if not x.ndim or x.shape[-1] != inside:
            raise ShapeError(
                f"Int8Linear: expected x of shape (..., {inside}), got {tuple(x.shape)}"
            )
        return apply("linear_int8", x, *self.arrays())

    def arrays(self) -> tuple[Any, ...]:
        """Return what operations call a layer: weight, scale, factor, and bias or None.

        Returns:
            Three tensors, and a tensor or None.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Int8Linear(4, 2, bias=False).bind("numpy", sl.Key(0))
            >>> [None if array is None else array.shape for array in layer.arrays()]
            [(2, 4), (2,), (4,), None]
        """
        values = self.weight.value, self.scale.value, self.factor.value
        return *values, get_value(self.bias)


def _make_full(shape: tuple[int, ...], initial: Fill) -> Buffer:
    """Make a buffer that stays in float32."""
    return Buffer(shape, initial, least_dtype="float32")


def _even_out(largest: Floats, weight: Floats) -> Floats:
    """Return factors that make inputs as uneven as their weights, of geometric mean 1."""
    if largest.shape != weight.shape[1:] or not np.isfinite(largest).all():
        raise ArgumentError(
            f"largest must be {weight.shape[1]} finite numbers, the greatest size of each "
            f"input, got an array of shape {largest.shape}"
        )
    against = abs(weight).max(axis=0)
    is_used = (largest > 0) & (against > 0)
    if not is_used.any():
        return np.ones_like(largest)
    logs = np.zeros_like(largest)
    logs[is_used] = (np.log(against[is_used]) - np.log(largest[is_used])) / 2
    logs[is_used] -= logs[is_used].mean()
    return np.exp(logs)


Network = TypeVar("Network", bound=Module)


def quantize_int8(
    module: Network, sample: Any = None, *, targets: Sequence[str] = ("*",)
) -> Network:
    """Replace linear layers of a module by layers of 8 bits, for inference on a CPU.

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
        """Look at the input, and map it."""
        rows = x.detach().numpy().astype("float32").reshape(-1, x.shape[-1])
        if len(rows):
            self.largest = [np.maximum.reduce([*self.largest, abs(rows).max(axis=0)])]
        return super().__call__(x)


def _measure(module: Module, layers: Mapping[str, Linear], sample: Any) -> dict[str, Any]:
    """Return the greatest size of each input of those layers that a call reaches."""
    observed = {path: _Observed(layer) for path, layer in layers.items()}
    _replace(module, observed)
    try:
        module(*(sample if isinstance(sample, tuple) else (sample,)))
    finally:
        _replace(module, layers)
    return {path: it.largest[0] for path, it in observed.items() if it.largest}


def _replace(module: Module, layers: Mapping[str, Any]) -> None:
    """Put layers in the places that their paths name."""
    for path, layer in layers.items():
        replace_layer(module, path, layer)
