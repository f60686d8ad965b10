"""Layer norm and RMS norm, which normalise each row by itself, and batch norm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer, as_number
from seqloom.nn import functional
from seqloom.nn._initialisers import Fill
from seqloom.nn._module import Module
from seqloom.nn._stored import Buffer, Param
from seqloom.nn.functional._dtypes import LAYER, require_same_dtype
from seqloom.nn.functional._norms import axes_of
from seqloom.nn.functional._operands import as_operand
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


class LayerNorm(Module):
    """Normalises rows to mean 0 and variance 1, then scales and shifts (Ba et al. 2016).

    Args:
        normalized_shape: Lengths of the last axes, or of the last one.
        eps: Number added to the variance.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.LayerNorm(2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[1.0, 3.0]])).numpy().round(2).tolist()
        [[-1.0, 1.0]]
    """

    weight: Param
    bias: Param
    eps: float

    def __init__(self, normalized_shape: int | tuple[int, ...], eps: float = 1e-5) -> None:
        shape = axes_of(normalized_shape)
        self.weight, self.bias = Param(shape, Fill(1.0)), Param(shape, Fill(0.0))
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        """Normalises a tensor whose last axes are `normalized_shape`."""
        weight, bias = self.weight.value, self.bias.value
        return functional.layer_norm(x, self.weight.shape, weight, bias, self.eps)


class RMSNorm(Module):
    """Divides rows by their root mean square, then scales (Zhang and Sennrich 2019).

    Args:
        normalized_shape: Lengths of the last axes, or of the last one.
        eps: Number added to the mean square; default: the machine epsilon of the dtype.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.RMSNorm(2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[3.0, 3.0]])).numpy().round(2).tolist()
        [[1.0, 1.0]]
    """

    weight: Param
    eps: float | None

    def __init__(
        self, normalized_shape: int | tuple[int, ...], eps: float | None = None
    ) -> None:
        self.weight = Param(axes_of(normalized_shape), Fill(1.0))
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        """Normalises a tensor whose last axes are `normalized_shape`."""
        return functional.rms_norm(x, self.weight.shape, self.weight.value, self.eps)


class BatchNorm1d(Module):
    """Normalises each channel over the batch (Ioffe and Szegedy 2015).

    Training uses the statistics of the batch and updates their running averages;
    evaluation uses the averages. Padding does not count.

    Args:
        num_features: Number of channels.
        eps: Number added to the variance.
        momentum: Weight of the newest batch in the running averages.

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
        shape = (as_integer("num_features", num_features),)
        self.weight, self.bias = Param(shape, Fill(1.0)), Param(shape, Fill(0.0))
        self.running_mean, self.running_var = (
            Buffer(shape, Fill(0.0)),
            Buffer(shape, Fill(1.0)),
        )
        expected = "a number (None, a mean over all batches, is not supported)"
        self.eps = eps
        self.momentum = as_number("momentum", momentum, expected=expected)

    def __call__(self, x: Tensor, mask: Any = None) -> Tensor:
        """Normalises a batch.

        Args:
            x: ``(n, c, l)`` or ``(n, c)``.
            mask: ``(n, l)``, 1 or true at real positions; default: all.

        Returns:
            The normalised values.

        Raises:
            DTypeError: `x` and the weight have different dtypes.
            ShapeError: In training, the batch has only one value for each channel.
        """
        if x.ndim == 2:  # noqa: PLR2004
            return apply("squeeze", self(apply("expand_dims", x, axis=2)), axis=2)
        if not self.training or 0 in x.shape:  # an empty batch has no statistics
            return self.by_averages(x, mask)
        mask = None if mask is None else as_operand(x, mask, x.dtype)
        out, mean, variance = functional.batch_norm(
            x, self.weight.value, self.bias.value, mask, eps=self.eps
        )
        self._update_averages(mean, variance, _count_positions(x, mask))
        return out

    def by_averages(self, x: Tensor, mask: Any = None) -> Tensor:
        """Normalises by the running averages, also in training mode.

        Args:
            x: ``(n, c, l)``.
            mask: ``(n, l)``, 1 or true at real positions; default: all.

        Returns:
            The normalised values.

        Raises:
            DTypeError: `x` and the weight have different dtypes.

        Examples:
            >>> import seqloom as sl
            >>> norm = sl.nn.BatchNorm1d(1, eps=0.0).bind("numpy", sl.Key(0))
            >>> norm.by_averages(norm.backend.tensor([[[3.0]]])).item()
            3.0
        """
        require_same_dtype("BatchNorm1d", LAYER, self.weight.value, x)
        mask = None if mask is None else as_operand(x, mask, x.dtype)
        deviation = apply("sqrt", self.running_var.value + self.eps)
        scale = self.weight.value / deviation
        shift = self.bias.value - self.running_mean.value * scale
        return apply("scale_shift", x, scale, shift, mask)

    def _update_averages(self, mean: Tensor, variance: Tensor, count: Any) -> None:
        """Updates the running averages, with the unbiased variance of the batch."""
        share = self.momentum
        unbiased = share * count / _at_least_one(count - 1)
        mean, variance = mean.detach(), variance.detach()
        self.running_mean.assign(self.running_mean.value * (1 - share) + mean * share)
        self.running_var.assign(self.running_var.value * (1 - share) + variance * unbiased)


def _count_positions(x: Tensor, mask: Tensor | None) -> Any:
    """Counts the real positions: a number, or a tensor if there is a mask."""
    return x.shape[0] * x.shape[2] if mask is None else mask.sum()


def _at_least_one(count: object) -> Any:
    """Limits a divisor to at least 1."""
    return max(count, 1) if isinstance(count, int) else apply("maximum", count, 1.0)
