"""Batch norm and instance norm, which keep running averages of their statistics."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer, as_number
from seqloom.errors import ShapeError
from seqloom.nn import functional
from seqloom.nn._initialisers import Fill
from seqloom.nn._joint import batch_norm_jointly, find_joint
from seqloom.nn._module import Module
from seqloom.nn._parts import spell_layer
from seqloom.nn._stored import Buffer, Param, get_value
from seqloom.nn.functional._dtypes import LAYER, require_same_dtype
from seqloom.nn.functional._norms import join_records, scale_channels
from seqloom.nn.functional._operands import as_operand
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

_RANKS = {2: "(n, c)", 3: "(n, c, l)", 4: "(n, c, h, w)"}


class ChannelNorm(Module):
    """A norm with learned numbers, and perhaps running averages, for each channel."""

    weight: Param | None
    bias: Param | None
    running_mean: Buffer | None
    running_var: Buffer | None
    num_batches_tracked: Buffer | None
    num_features: int
    eps: float
    momentum: float | None

    def _declare(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        *,
        affine: bool,
        track_running_stats: bool,
    ) -> None:
        """Declares the parameters and the averages."""
        self.num_features = as_integer("num_features", num_features)
        shape = (self.num_features,)
        self.weight = Param(shape, Fill(1.0)) if affine else None
        self.bias = Param(shape, Fill(0.0)) if affine else None
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if track_running_stats:
            # In 16 bits the share of a new batch would be rounded away.
            self.running_mean = Buffer(shape, Fill(0.0), least_dtype="float32")
            self.running_var = Buffer(shape, Fill(1.0), least_dtype="float32")
            # Other libraries, and records of earlier versions, do not count batches.
            count = Buffer((), Fill(0), dtype="int64", optional=True)
            self.num_batches_tracked = count
        self.eps = eps
        expected = "a number, or None for a mean over all batches"
        self.momentum = (
            None if momentum is None else as_number("momentum", momentum, expected=expected)
        )

    def by_averages(self, x: Tensor, mask: Any = None) -> Tensor:
        """Normalises by the running averages, also in training mode.

        Args:
            x: ``(n, c, ...)``.
            mask: ``(n, ...)`` without the axis of channels, 1 or true at real positions;
                default: all.

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
            require_same_dtype(type(self).__name__, LAYER, weight, x, bias)
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
        """Moves the running averages towards the statistics of `count` values."""
        mean_of, variance_of = self.running_mean, self.running_var
        counter = self.num_batches_tracked
        if mean_of is None or variance_of is None or counter is None:
            return
        counter.assign(counter.value + 1)
        share: Any = self.momentum
        if share is None:
            share = 1.0 / counter.value.astype(mean_of.dtype)
        # The averages hold the unbiased variance, as torch's do.
        unbiased = share * count / _at_least_one(count - 1)
        updates = ((mean_of, mean, share), (variance_of, variance, unbiased))
        for running, new, part in updates:
            new = as_operand(new, new.detach(), running.value.dtype)  # noqa: PLW2901
            running.assign(running.value * (1 - share) + new * part)

    def _require_rank(self, x: Tensor, *ranks: int) -> None:
        """Refuses an input with another number of axes or of channels."""
        if x.ndim not in ranks or x.shape[1] != self.num_features:
            shapes = " or ".join(_RANKS[rank] for rank in ranks)
            raise ShapeError(
                f"{spell_layer(self)} takes {shapes} with {self.num_features} channels, "
                f"got shape {tuple(x.shape)}"
            )


class BatchNorm(ChannelNorm):
    """A batch norm for any number of axes."""

    def _normalise(self, x: Tensor, mask: Any) -> Tensor:
        """Normalises by the batch in training, by the averages in evaluation."""
        by_batch = self.training or self.running_mean is None
        if not by_batch or 0 in x.shape:  # an empty batch has no statistics
            return self.by_averages(x, mask)
        mask = None if mask is None else as_operand(x, mask, x.dtype)
        weight, bias = get_value(self.weight), get_value(self.bias)
        if self.training and (joint := find_joint()) is not None:
            # Several processes share the batch: its statistics are those of all.
            out, *found = batch_norm_jointly(joint, x, weight, bias, mask, eps=self.eps)
            self._update_averages(*found)
            return out
        out, mean, variance = functional.batch_norm(x, weight, bias, mask, eps=self.eps)
        if self.training:
            self._update_averages(mean, variance, _count_positions(x, mask))
        return out


class BatchNorm1d(BatchNorm):
    """Normalises each channel over the batch (Ioffe and Szegedy 2015).

    Training uses the statistics of the batch and updates their running averages;
    evaluation uses the averages. Padding does not count. The averages are float32 or wider
    also in a model of 16 bits.

    Args:
        num_features: Number of channels.
        eps: Number added to the variance.
        momentum: Weight of the newest batch in the running averages; None for the mean
            over all batches so far.
        affine: Whether to scale and shift each channel by learned numbers.
        track_running_stats: Whether to keep running averages; without them, evaluation
            uses the statistics of its batch too.

    Raises:
        ArgumentError: `num_features` is not an integer, or `momentum` is not a number.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.BatchNorm1d(2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[[1.0, 3.0], [5.0, 9.0]]])).numpy().round(2).tolist()
        [[[-1.0, 1.0], [-1.0, 1.0]]]
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        flags = {"affine": affine, "track_running_stats": track_running_stats}
        self._declare(num_features, eps, momentum, **flags)

    def __call__(self, x: Tensor, mask: Any = None) -> Tensor:
        """Normalises a batch.

        Args:
            x: ``(n, c, l)`` or ``(n, c)``.
            mask: ``(n, l)``, 1 or true at real positions; default: all.

        Returns:
            The normalised values, 0 at padding.

        Raises:
            DTypeError: `x` and the weight have different dtypes.
            ShapeError: `x` has another number of axes or channels; or, in training, the
                batch has only one value for each channel.
        """
        self._require_rank(x, 2, 3)
        return self._normalise(x, mask)


class BatchNorm2d(BatchNorm):
    """Normalises each channel of images over the batch, as `BatchNorm1d`.

    Args:
        num_features: Number of channels.
        eps: Number added to the variance.
        momentum: Weight of the newest batch in the running averages; None for the mean
            over all batches so far.
        affine: Whether to scale and shift each channel by learned numbers.
        track_running_stats: Whether to keep running averages.

    Raises:
        ArgumentError: `num_features` is not an integer, or `momentum` is not a number.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.BatchNorm2d(1).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[[[1.0, 3.0]]]])).numpy().round(2).tolist()
        [[[[-1.0, 1.0]]]]
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        flags = {"affine": affine, "track_running_stats": track_running_stats}
        self._declare(num_features, eps, momentum, **flags)

    def __call__(self, x: Tensor, mask: Any = None) -> Tensor:
        """Normalises a batch.

        Args:
            x: ``(n, c, h, w)``.
            mask: ``(n, h, w)``, 1 or true at real positions; default: all.

        Returns:
            The normalised values, 0 at padding.

        Raises:
            DTypeError: `x` and the weight have different dtypes.
            ShapeError: `x` has another number of axes or channels; or, in training, the
                batch has only one value for each channel.
        """
        self._require_rank(x, 4)
        return self._normalise(x, mask)


class InstanceNorm(ChannelNorm):
    """An instance norm for any number of axes."""

    def _normalise(self, x: Tensor, axes: int) -> Tensor:
        """Normalises each record by its own statistics, or by the averages."""
        if x.ndim == axes + 1:  # a record without a batch
            return apply(
                "squeeze", self._normalise(apply("expand_dims", x, axis=0), axes), 0
            )
        self._require_rank(x, axes + 2)
        if self.running_mean is not None and not self.training:
            return self.by_averages(x)
        weight, bias = get_value(self.weight), get_value(self.bias)
        out, mean, variance = join_records(
            "instance_norm", x, self.num_features, weight, bias, self.eps
        )
        if self.running_mean is not None and x.shape[0]:
            shape = x.shape[0], self.num_features
            mean, variance = (
                apply("reshape", part, shape).mean(axis=0) for part in (mean, variance)
            )
            self._update_averages(mean, variance, prod(x.shape[2:]))
        return apply("reshape", out, x.shape)


class InstanceNorm1d(InstanceNorm):
    """Normalises each channel of each record by itself (Ulyanov et al. 2016).

    Args:
        num_features: Number of channels.
        eps: Number added to the variance.
        momentum: Weight of the newest batch in the running averages; None for the mean
            over all batches so far.
        affine: Whether to scale and shift each channel by learned numbers.
        track_running_stats: Whether to keep running averages, which evaluation uses.

    Raises:
        ArgumentError: `num_features` is not an integer, or `momentum` is not a number.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.InstanceNorm1d(1)
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0]], [[5.0, 9.0]]])
        >>> norm(x).numpy().round(2).tolist()
        [[[-1.0, 1.0]], [[-1.0, 1.0]]]
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
    ) -> None:
        flags = {"affine": affine, "track_running_stats": track_running_stats}
        self._declare(num_features, eps, momentum, **flags)

    def __call__(self, x: Tensor) -> Tensor:
        """Normalises ``(n, c, l)`` or ``(c, l)``."""
        return self._normalise(x, 1)


class InstanceNorm2d(InstanceNorm):
    """Normalises each channel of each image by itself, as `InstanceNorm1d`.

    Args:
        num_features: Number of channels.
        eps: Number added to the variance.
        momentum: Weight of the newest batch in the running averages; None for the mean
            over all batches so far.
        affine: Whether to scale and shift each channel by learned numbers.
        track_running_stats: Whether to keep running averages, which evaluation uses.

    Raises:
        ArgumentError: `num_features` is not an integer, or `momentum` is not a number.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.InstanceNorm2d(1)
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 3.0]]]])
        >>> norm(x).numpy().round(2).tolist()
        [[[[-1.0, 1.0]]]]
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
    ) -> None:
        flags = {"affine": affine, "track_running_stats": track_running_stats}
        self._declare(num_features, eps, momentum, **flags)

    def __call__(self, x: Tensor) -> Tensor:
        """Normalises ``(n, c, h, w)`` or ``(c, h, w)``."""
        return self._normalise(x, 2)


def _count_positions(x: Tensor, mask: Tensor | None) -> Any:
    """Counts the real positions: a number, or a tensor if there is a mask."""
    return x.shape[0] * prod(x.shape[2:]) if mask is None else mask.sum()


def _at_least_one(count: object) -> Any:
    """Limits a divisor to at least 1."""
    return max(count, 1) if isinstance(count, int) else apply("maximum", count, 1.0)
