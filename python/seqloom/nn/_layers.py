"""The layers."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.nn import functional
from seqloom.nn._module import Module
from seqloom.nn._stored import Buffer, FanIn, Fill, Param
from seqloom.nn.functional._layers import same_padding
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom._key import Key
    from seqloom.tensor import Tensor


class Linear(Module):
    """``x @ weight.T + bias``.

    Args:
        in_features: Length of the last axis before.
        out_features: Length of the last axis after.
        bias: Whether to add one.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(4, 2).bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[0.0] * 4])).shape
        (1, 2)
    """

    weight: Param
    bias: Param | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        self.weight = Param((out_features, in_features), FanIn(in_features))
        self.bias = Param((out_features,), FanIn(in_features)) if bias else None

    def __call__(self, x: Tensor) -> Tensor:
        """``(..., in)`` to ``(..., out)``."""
        return functional.linear(x, self.weight.value, _value(self.bias))


class Conv1d(Module):
    """Cross-correlation along the last axis.

    Args:
        in_channels: Channels before.
        out_channels: Channels after.
        kernel_size: Places that one output sees.
        stride: Places from one window to the next.
        padding: Zeros before and after, or ``"same"``.
        dilation: Places from one weight to the next.
        bias: Whether to add one.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Conv1d(4, 8, 5, padding="same").bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[[0.0] * 60] * 4])).shape
        (1, 8, 60)
    """

    weight: Param
    bias: Param | None
    stride: int
    padding: int
    dilation: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int | str = 0,
        dilation: int = 1,
        bias: bool = True,
    ) -> None:
        fan_in = FanIn(in_channels * kernel_size)
        self.weight = Param((out_channels, in_channels, kernel_size), fan_in)
        self.bias = Param((out_channels,), fan_in) if bias else None
        self.stride, self.dilation = stride, dilation
        if isinstance(padding, str):
            padding = same_padding(kernel_size, stride, padding, dilation)
        self.padding = padding

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, in, l)`` to ``(n, out, l')``."""
        return functional.conv1d(
            x,
            self.weight.value,
            _value(self.bias),
            self.stride,
            self.padding,
            self.dilation,
        )


class BatchNorm1d(Module):
    """Normalises each channel (Ioffe and Szegedy 2015); padding does not count.

    In training by the batch's statistics, of which running averages are kept; in
    evaluation by those averages.

    Args:
        num_features: Channels.
        eps: Added to the variance.
        momentum: The share of the newest batch in the running averages.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.BatchNorm1d(2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[[1.0, 3.0], [5.0, 9.0]]])).numpy().round(2).tolist()
        [[[-1.0, 1.0], [-1.0, 1.0]]]
    """

    weight: Param
    bias: Param
    running_mean: Buffer
    running_var: Buffer
    eps: float
    momentum: float

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        shape = (num_features,)
        self.weight, self.bias = Param(shape, Fill(1.0)), Param(shape, Fill(0.0))
        self.running_mean, self.running_var = (
            Buffer(shape, Fill(0.0)),
            Buffer(shape, Fill(1.0)),
        )
        self.eps, self.momentum = eps, momentum

    def __call__(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """``(n, c, l)`` to the same shape, ``(n, c)`` too; `mask` is 1 at real places."""
        if x.ndim == 2:  # noqa: PLR2004
            return apply("squeeze", self(apply("expand_dims", x, axis=2)), axis=2)
        if not self.training:
            return self._by_averages(x, mask)
        out, mean, variance = functional.batch_norm(
            x, self.weight.value, self.bias.value, mask, eps=self.eps
        )
        self._remember(mean, variance, _places(x, mask))
        return out

    def _by_averages(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """The evaluation form: one multiplication and one addition by channel."""
        deviation = apply("sqrt", self.running_var.value + self.eps)
        scale = self.weight.value / deviation
        shift = self.bias.value - self.running_mean.value * scale
        return apply("scale_shift", x, scale, shift, mask)

    def _remember(self, mean: Tensor, variance: Tensor, places: float) -> None:
        """Moves the running averages towards the batch's, with the unbiased variance."""
        share = self.momentum
        unbiased = share * places / max(places - 1, 1)
        mean, variance = mean.detach(), variance.detach()
        self.running_mean.assign(self.running_mean.value * (1 - share) + mean * share)
        self.running_var.assign(self.running_var.value * (1 - share) + variance * unbiased)


class Dropout(Module):
    """Zeros a share of the values in training (Srivastava et al. 2014).

    Args:
        p: The share, in [0, 1).

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
            raise ArgumentError(f"the share to drop must lie in [0, 1), got {p}")
        self.p = p

    def __call__(self, x: Tensor, *, key: Key | None = None) -> Tensor:
        """Any shape to the same shape."""
        if not self.training or self.p == 0:
            return x
        if key is None:
            raise ArgumentError(
                "dropout in training needs a key: pass key=sl.Key(seed, epoch, batch) to "
                "the model, or call model.eval() first"
            )
        return functional.dropout(x, self.p, key)


class MaxPool1d(Module):
    """The largest value of each window.

    Args:
        kernel_size: Places in a window.
        stride: Places from one window to the next; default the window.
        padding: Places before and after that never win.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.MaxPool1d(2)(sl.tensor.backend("numpy").tensor([[[1.0, 4.0]]])).item()
        4.0
    """

    kernel_size: int
    stride: int | None
    padding: int

    def __init__(
        self, kernel_size: int, stride: int | None = None, padding: int = 0
    ) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, c, l)`` to ``(n, c, l')``."""
        return functional.max_pool1d(x, self.kernel_size, self.stride, self.padding)


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


def _takes_key(layer: Callable[..., Any]) -> bool:
    """Whether a layer is stochastic."""
    return "key" in inspect.signature(layer).parameters


def _value(param: Param | None) -> Tensor | None:
    """A parameter that may be absent."""
    return None if param is None else param.value


def _places(x: Tensor, mask: Tensor | None) -> float:
    """How many places of a batch are real."""
    return x.shape[0] * x.shape[2] if mask is None else float(mask.sum().item())
