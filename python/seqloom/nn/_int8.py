"""Linear layers with 8-bit weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from seqloom._arguments import as_integer
from seqloom._key import Key
from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._initialisers import Fill
from seqloom.nn._linear import Linear, find_linear_layers, replace_layer
from seqloom.nn._module import Module
from seqloom.nn._operands import require_floats
from seqloom.nn._parameters import Buffer, ModuleArray, get_value
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from seqloom.tensor import Tensor

    Floats = NDArray[Any]

_MAX_INT8_WEIGHT = 127  # largest absolute weight; -128 is not used
_MAX_INPUT_FEATURES = 1 << 16  # with more inputs, a 32-bit sum might overflow


class Int8Linear(Module):
    """Linear layer with int8 weights (-127 to 127) for inference.

    The output is ``(x * factor) @ (weight * scale).T + bias``. On a CPU the rows of the
    input are also rounded to 8 bits, with one scale for each row, and products are
    summed as integers. Integer sums are exact, so the result of a row is bitwise the
    same on every processor and does not depend on other rows. If an input channel
    always has large values, `factor` scales the channel down, and its weights are
    scaled up (SmoothQuant, Xiao et al. 2023).

    All arrays are buffers, because a layer with 8-bit weights is not trained. Gradients
    of the input are computed as for a layer with float weights.

    Args:
        in_features: Length of the last axis of the input; at most 65,536.
        out_features: Length of the last axis of the output.
        bias: If True, add a bias.

    Raises:
        ArgumentError: `in_features` is above 65,536; a 32-bit sum might overflow.

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
        if inside > _MAX_INPUT_FEATURES:
            raise ArgumentError(
                f"in_features must be at most {_MAX_INPUT_FEATURES}, because sums have 32 "
                f"bits, got {inside}; keep the layer in floats"
            )
        self.weight = Buffer((outside, inside), Fill(0), dtype="int8")
        self.scale = _make_float32_buffer((outside,), Fill(1.0))
        self.factor = _make_float32_buffer((inside,), Fill(1.0))
        self.bias = _make_float32_buffer((outside,), Fill(0.0)) if bias else None

    @classmethod
    def of(cls, layer: Linear, largest: Any = None) -> Self:
        """Quantise the weights of a linear layer, with one scale for each output.

        Args:
            layer: Layer that is bound to a backend; it does not change.
            largest: Largest absolute value of each input ``(in,)``, as measured on data;
                used to balance the inputs. If None, inputs are not balanced.

        Returns:
            A layer on the same backend.

        Raises:
            ArgumentError: A weight is NaN or infinite, or `largest` has a wrong shape
                or value.

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
                "the weights of the layer hold a NaN or an infinity, which cannot be "
                "quantised; load or train the layer again"
            )
        outside, inside = weight.shape
        layer8 = cls(inside, outside, bias=layer.bias is not None)
        layer8.bind(layer.backend, Key(0))
        factor = np.ones(inside, np.float32)
        if largest is not None:
            factor = _find_balancing_factors(np.asarray(largest, np.float32), weight)
        layer8._quantise(weight / factor, factor)
        if layer8.bias is not None and layer.bias is not None:
            layer8.bias.assign(np.asarray(layer.bias.numpy(), dtype=np.float32))
        return layer8

    def _quantise(self, weight: Floats, factor: Floats) -> None:
        """Quantise weights that were scaled for balanced inputs, and set the arrays."""
        scale = abs(weight).max(axis=1) / np.float32(_MAX_INT8_WEIGHT)
        scale[scale == 0] = 1.0  # avoid division by 0 for an output with zero weights
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
        """Return the operands of the operation: weight, scale, factor and bias.

        Returns:
            The weight, the scale and the factor as tensors, and the bias as a tensor or
            None.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Int8Linear(4, 2, bias=False).bind("numpy", sl.Key(0))
            >>> [None if array is None else array.shape for array in layer.arrays()]
            [(2, 4), (2,), (4,), None]
        """
        values = self.weight.value, self.scale.value, self.factor.value
        return *values, get_value(self.bias)


def _make_float32_buffer(shape: tuple[int, ...], initial: Fill) -> Buffer:
    """Create a buffer that is always stored in float32."""
    return Buffer(shape, initial, least_dtype="float32")


def _find_balancing_factors(largest: Floats, weight: Floats) -> Floats:
    """Return factors of geometric mean 1 that balance inputs and weights."""
    if largest.shape != weight.shape[1:] or not np.isfinite(largest).all():
        raise ArgumentError(
            f"largest must be {weight.shape[1]} finite numbers, the largest absolute value "
            f"of each input, got an array of shape {largest.shape}"
        )
    weight_max = abs(weight).max(axis=0)
    is_used = (largest > 0) & (weight_max > 0)
    if not is_used.any():
        return np.ones_like(largest)
    logs = np.zeros_like(largest)
    logs[is_used] = (np.log(weight_max[is_used]) - np.log(largest[is_used])) / 2
    logs[is_used] -= logs[is_used].mean()
    return np.exp(logs)


Network = TypeVar("Network", bound=Module)


def quantize_int8(
    module: Network, sample: Any = None, *, targets: Sequence[str] = ("*",)
) -> Network:
    """Replace linear layers of a module by int8 layers, for inference on a CPU.

    Each `Linear` whose path matches becomes an `Int8Linear`. With a sample, the module
    is first called once to measure the largest inputs of each layer, so that inputs and
    weights can be balanced. The sample should resemble the data of later calls; without
    a sample, networks with a few very large channels lose much accuracy. After the
    call, the module is in evaluation mode.

    To load a record of a quantised module, build the module, call this function, then
    load the record.

    Args:
        module: Module that is bound to a backend; it is changed in place.
        sample: Arguments for one call of the module: a tuple, or a single argument.
        targets: Glob patterns of the paths of linear layers, such as ``"layers.*"``.

    Returns:
        The changed module.

    Raises:
        ArgumentError: No linear layer matches, or a weight is NaN or infinite.
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
    matches = find_linear_layers(module.eval(), targets)
    layers = {path: layer for path, layer in matches if type(layer) is Linear}
    largest: Mapping[str, Any] = {}
    if sample is not None:
        largest = _max_inputs(module, layers, sample)
    rounded = {path: Int8Linear.of(it, largest.get(path)) for path, it in layers.items()}
    _replace_layers(module, rounded)
    for path, layer in rounded.items():
        for name, part in layer.named(ModuleArray):
            part.path = f"{path}.{name}"
    return module


class _MeasuredLinear(Linear):
    """Linear layer that records the largest absolute value of each input channel."""

    max_inputs: list[NDArray[Any]]

    def __init__(self, layer: Linear) -> None:
        self.weight, self.bias, self.max_inputs = layer.weight, layer.bias, []

    def __call__(self, x: Tensor) -> Tensor:
        """Record the input, and apply the layer."""
        rows = x.detach().numpy().astype("float32").reshape(-1, x.shape[-1])
        if len(rows):
            self.max_inputs = [np.maximum.reduce([*self.max_inputs, abs(rows).max(axis=0)])]
        return super().__call__(x)


def _max_inputs(
    module: Module, layers: Mapping[str, Linear], sample: Any
) -> dict[str, Any]:
    """Return the largest absolute inputs of all layers that the module calls."""
    found = {path: _MeasuredLinear(layer) for path, layer in layers.items()}
    _replace_layers(module, found)
    try:
        module(*(sample if isinstance(sample, tuple) else (sample,)))
    finally:
        _replace_layers(module, layers)
    return {path: it.max_inputs[0] for path, it in found.items() if it.max_inputs}


def _replace_layers(module: Module, layers: Mapping[str, Any]) -> None:
    """Replace the layers at these paths of the module."""
    for path, layer in layers.items():
        replace_layer(module, path, layer)
