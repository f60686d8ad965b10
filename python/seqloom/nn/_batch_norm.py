"""Batch norm, with running averages of the statistics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer, as_number
from seqloom.errors import ShapeError
from seqloom.nn._initialisers import Fill
from seqloom.nn._module import Module
from seqloom.nn._operands import LINEAR_ARGS, as_operand, require_same_dtype
from seqloom.nn._parameters import Buffer, Param, get_value
from seqloom.nn._processes import batch_norm_over_processes, find_batch_processes
from seqloom.nn._submodules import label_layer
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def batch_norm(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    mask: object = None,
    *,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise each channel by the statistics of the batch (Ioffe and Szegedy 2015).

    Unlike PyTorch's function, this function accepts a mask, and returns the statistics
    with which the layer updates its running averages.

    Args:
        x: Input ``(n, c)``, ``(n, c, l)`` or ``(n, c, h, w)``.
        weight: Standard deviation of the result, ``(c,)``; default 1.
        bias: Mean of the result, ``(c,)``; default 0.
        mask: Mask ``(n, l)`` or ``(n, h, w)``: 1 or true at real positions, 0 or false
            at padding, which is excluded; default: all real.
        eps: Number added to the variance.

    Returns:
        The output in the shape of `x`, 0 at padding; the means ``(c,)``; and the biased
        variances ``(c,)``.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: `x` has only one value for each channel.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x = B.tensor([[[1.0, 3.0]]])
        >>> batch_norm(x, B.tensor([1.0]), B.tensor([0.0]))[1].item()
        2.0
    """
    require_norm_dtypes("batch_norm", x, weight, bias)
    if x.ndim > 1 and x.shape[0] * math.prod(x.shape[2:]) == 1:
        # With one value for each channel, the result would always be 0.
        raise ShapeError(
            "batch_norm: expected more than 1 value for each channel in training, got "
            f"shape {x.shape}. Use larger batches, leave out a smaller last batch "
            "(Batches(..., drop_last=True), --drop-last), or call model.eval() to use the "
            "running averages"
        )
    flat, real = _flatten_positions(x, mask)
    weight, bias = fill_channels(x, weight, 1.0), fill_channels(x, bias, 0.0)
    out, *found = apply("batch_norm", flat, weight, bias, real, eps=eps)
    return _restore_shape(out, x), *found


_SHAPES_BY_RANK = {2: "(n, c)", 3: "(n, c, l)", 4: "(n, c, h, w)"}


class BatchNorm(Module):
    """Base class of the batch norm layers."""

    weight: Param | None
    bias: Param | None
    running_mean: Buffer | None
    running_var: Buffer | None
    num_batches_tracked: Buffer | None
    num_features: int
    eps: float
    momentum: float | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        self.num_features = as_integer("num_features", num_features)
        shape = (self.num_features,)
        self.weight = Param(shape, Fill(1.0)) if affine else None
        self.bias = Param(shape, Fill(0.0)) if affine else None
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if track_running_stats:
            # In 16 bits, small updates would be lost to rounding.
            self.running_mean = Buffer(shape, Fill(0.0), least_dtype="float32")
            self.running_var = Buffer(shape, Fill(1.0), least_dtype="float32")
            # Files of other libraries and of earlier seqloom versions lack this buffer.
            count = Buffer((), Fill(0), dtype="int64", optional=True)
            self.num_batches_tracked = count
        self.eps = eps
        expected = "a number, or None for a mean over all batches"
        self.momentum = (
            None if momentum is None else as_number("momentum", momentum, expected=expected)
        )

    def by_averages(self, x: Tensor, mask: Tensor | ArrayLike | None = None) -> Tensor:
        """Normalise by the running averages, even in training mode.

        Args:
            x: Input ``(n, c, ...)``.
            mask: Mask ``(n, ...)`` without the channel axis, 1 or true at real
                positions; by default, all positions are real.

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
        weight, bias = get_value(self.weight), get_value(self.bias)
        if weight is not None:
            require_same_dtype(type(self).__name__, LINEAR_ARGS, weight, x, bias)
        if self.running_mean is None or self.running_var is None:
            return scale_channels(x, weight, bias, mask)
        variance = self.running_var.value
        scale: Any = apply("sqrt", variance + self.eps)
        scale = (
            1.0 / scale if weight is None else as_operand(x, weight, scale.dtype) / scale
        )
        shift = self.running_mean.value * scale
        shift = -shift if bias is None else as_operand(x, bias, shift.dtype) - shift
        scale, shift = (as_operand(x, part, x.dtype) for part in (scale, shift))
        return scale_channels(x, scale, shift, mask)

    def _update_averages(self, mean: Tensor, variance: Tensor, count: Any) -> None:
        """Update the running averages with the statistics of `count` values."""
        mean_of, variance_of = self.running_mean, self.running_var
        counter = self.num_batches_tracked
        if mean_of is None or variance_of is None or counter is None:
            return
        counter.assign(counter.value + 1)
        share: Any = self.momentum
        if share is None:
            share = 1.0 / counter.value.astype(mean_of.dtype)
        # As in PyTorch, the running variance is unbiased.
        free = count - 1
        divisor = max(free, 1) if type(free) is int else apply("maximum", free, 1.0)
        unbiased = share * count / divisor
        updates = ((mean_of, mean, share), (variance_of, variance, unbiased))
        for running, new, part in updates:
            new = as_operand(new, new.detach(), running.value.dtype)  # noqa: PLW2901
            running.assign(running.value * (1 - share) + new * part)

    def _require_axes(self, x: Tensor, *ranks: int) -> None:
        """Raise if the input has a wrong number of axes or channels."""
        if x.ndim not in ranks or x.shape[1] != self.num_features:
            shapes = " or ".join(_SHAPES_BY_RANK[rank] for rank in ranks)
            raise ShapeError(
                f"{label_layer(self)} expects {shapes} with {self.num_features} channels, "
                f"got shape {tuple(x.shape)}"
            )

    def _normalise(self, x: Tensor, mask: Tensor | ArrayLike | None) -> Tensor:
        """Normalise by the batch in training, and by the running averages in evaluation."""
        by_batch = self.training or self.running_mean is None
        if not by_batch or 0 in x.shape:  # an empty batch has no statistics
            return self.by_averages(x, mask)
        mask = None if mask is None else as_operand(x, mask, x.dtype)
        weight, bias = get_value(self.weight), get_value(self.bias)
        if self.training and (processes := find_batch_processes()) is not None:
            # Several processes share the batch; use the statistics of the whole batch.
            out, *found = batch_norm_over_processes(
                processes, x, weight, bias, mask, eps=self.eps
            )
            self._update_averages(*found)
            return out
        out, mean, variance = batch_norm(x, weight, bias, mask, eps=self.eps)
        if self.training:
            count = mask.sum() if mask is not None else x.shape[0] * math.prod(x.shape[2:])
            self._update_averages(mean, variance, count)
        return out


class BatchNorm1d(BatchNorm, init=False):
    """Batch norm: normalises each channel over the batch (Ioffe and Szegedy 2015).

    Training uses the statistics of the batch, without padding, and updates the running
    averages. Evaluation uses the running averages. The running averages are float32
    even if the parameters are 16-bit floats.

    Args:
        num_features: Number of channels.
        eps: Number added to the variance.
        momentum: Weight of the current batch in the running averages; None for the mean
            over all batches.
        affine: If True, scale and shift each channel by learned parameters.
        track_running_stats: If True, keep running averages. If False, evaluation also
            uses the statistics of the batch.

    Raises:
        ArgumentError: `num_features` is not an integer, or `momentum` is not a number.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.BatchNorm1d(2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[[1.0, 3.0], [5.0, 9.0]]])).numpy().round(2).tolist()
        [[[-1.0, 1.0], [-1.0, 1.0]]]
    """

    def __call__(self, x: Tensor, mask: Tensor | ArrayLike | None = None) -> Tensor:
        """Normalise a batch.

        Args:
            x: Input ``(n, c, l)`` or ``(n, c)``.
            mask: Mask ``(n, l)``, 1 or true at real positions; default: all real.

        Returns:
            The normalised values, 0 at padding.

        Raises:
            DTypeError: `x` and the weight have different dtypes.
            ShapeError: `x` has a wrong number of axes or channels; or, in training, the
                batch has only one value for each channel.
        """
        self._require_axes(x, 2, 3)
        return self._normalise(x, mask)


class BatchNorm2d(BatchNorm, init=False):
    """Batch norm of images: normalises each channel over the batch, like `BatchNorm1d`.

    Args:
        num_features: Number of channels.
        eps: Number added to the variance.
        momentum: Weight of the current batch in the running averages; None for the mean
            over all batches.
        affine: If True, scale and shift each channel by learned parameters.
        track_running_stats: If True, keep running averages.

    Raises:
        ArgumentError: `num_features` is not an integer, or `momentum` is not a number.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.BatchNorm2d(1).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[[[1.0, 3.0]]]])).numpy().round(2).tolist()
        [[[[-1.0, 1.0]]]]
    """

    def __call__(self, x: Tensor, mask: Tensor | ArrayLike | None = None) -> Tensor:
        """Normalise a batch.

        Args:
            x: Input ``(n, c, h, w)``.
            mask: Mask ``(n, h, w)``, 1 or true at real positions; default: all real.

        Returns:
            The normalised values, 0 at padding.

        Raises:
            DTypeError: `x` and the weight have different dtypes.
            ShapeError: `x` has a wrong number of axes or channels; or, in training, the
                batch has only one value for each channel.
        """
        self._require_axes(x, 4)
        return self._normalise(x, mask)


def scale_channels(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, mask: object = None
) -> Tensor:
    """Multiply each channel by a weight and add a bias; 0 at masked positions."""
    flat, real = _flatten_positions(x, mask)
    weight, bias = fill_channels(x, weight, 1.0), fill_channels(x, bias, 0.0)
    return _restore_shape(apply("scale_shift", flat, weight, bias, real), x)


def _flatten_positions(x: Tensor, mask: object) -> tuple[Tensor, Tensor | None]:
    """Reshape ``(n, c, ...)`` and its mask ``(n, ...)`` to one axis of positions."""
    count = math.prod(x.shape[2:])
    real = None if mask is None else as_operand(x, mask, x.dtype)
    if x.ndim == 3:  # noqa: PLR2004  # (n, c, l)
        return x, real
    real = None if real is None else apply("reshape", real, (x.shape[0], count))
    return apply("reshape", x, (*x.shape[:2], count)), real


def _restore_shape(out: Tensor, x: Tensor) -> Tensor:
    """Reshape a result to the shape of the input."""
    return out if out.shape == x.shape else apply("reshape", out, x.shape)


def fill_channels(x: Tensor, values: Tensor | None, default: float) -> Tensor:
    """Return `values`, or the default for each channel if `values` is None."""
    if values is not None:
        return values
    return Tensor(x.backend.full((x.shape[1],), default, dtype=x.dtype), x.backend)


def require_norm_dtypes(
    name: str, x: Tensor, weight: Tensor | None, bias: Tensor | None = None
) -> None:
    """Raise if the arrays do not all have the float type of the weight."""
    if weight is not None:
        require_same_dtype(name, LINEAR_ARGS, weight, x, bias)
    else:
        require_same_dtype(name, ("x", "bias"), x, bias)
