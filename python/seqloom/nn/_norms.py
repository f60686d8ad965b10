"""Layer norm, RMS norm, group norm, and normalisation of vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._batch_norm import fill_channels, require_norm_dtypes, scale_channels
from seqloom.nn._initialisers import Fill
from seqloom.nn._module import Module
from seqloom.nn._operands import as_operand, as_size, require_floats
from seqloom.nn._parameters import Param, get_value
from seqloom.nn._submodules import label_layer, require_axis
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence


def layer_norm(
    x: Tensor,
    normalized_shape: Sequence[int] | int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over the last axes to mean 0 and variance 1 (Ba et al. 2016).

    Args:
        x: Input ``(..., *normalized_shape)``.
        normalized_shape: Lengths of the last axes; an integer for one axis.
        weight: Standard deviation of the result, of shape `normalized_shape`.
        bias: Mean of the result, of shape `normalized_shape`.
        eps: Number added to the variance.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: The last axes of `x` do not have the shape `normalized_shape`.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 3.0]])
        >>> layer_norm(x, (2,)).numpy().round(2).tolist()
        [[-1.0, 1.0]]
    """
    require_norm_dtypes("layer_norm", x, weight, bias)
    rows, (weight, bias) = _join_normalised_axes(x, normalized_shape, weight, bias)
    out = apply("layer_norm", rows, weight, bias, eps=eps)[0]
    return out if out.shape == x.shape else apply("reshape", out, x.shape)


def rms_norm(
    x: Tensor,
    normalized_shape: Sequence[int] | int,
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divide by the root mean square over the last axes (Zhang and Sennrich 2019).

    Args:
        x: Input ``(..., *normalized_shape)``.
        normalized_shape: Lengths of the last axes; an integer for one axis.
        weight: Factor of the result, with the shape `normalized_shape`.
        eps: Number added to the mean square; default: the machine epsilon of the dtype.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: The last axes of `x` do not have the shape `normalized_shape`.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[3.0, 3.0]])
        >>> rms_norm(x, (2,)).numpy().round(4).tolist()
        [[1.0, 1.0]]
    """
    require_norm_dtypes("rms_norm", x, weight)
    rows, (weight,) = _join_normalised_axes(x, normalized_shape, weight)
    step = float(x.backend.finfo(x.dtype).eps) if eps is None else eps
    out = apply("rms_norm", rows, weight, eps=step)[0]
    return out if out.shape == x.shape else apply("reshape", out, x.shape)


def to_axis_lengths(shape: Any) -> tuple[int, ...]:
    """Return the lengths of the normalised axes as a tuple."""
    kind: Any = type(shape)  # pyright: ignore[reportUnknownVariableType]
    lengths: Any = shape if issubclass(kind, (list, tuple)) else (shape,)
    return tuple(as_integer("normalized_shape", length) for length in lengths)


def _join_normalised_axes(
    x: Tensor, sizes: Sequence[int] | int, *further: Tensor | None
) -> tuple[Tensor, Any]:
    """Reshape the normalised axes of all arguments to one axis."""
    sizes = to_axis_lengths(sizes)
    if not sizes or x.shape[-len(sizes) :] != sizes:
        raise ShapeError(
            f"the last axes of x must have the lengths normalized_shape={sizes}, got "
            f"shape {x.shape}"
        )
    if len(sizes) == 1:
        return x, further
    size = math.prod(sizes)
    flat = [None if y is None else apply("reshape", y, (size,)) for y in further]
    return apply("reshape", x, (*x.shape[: -len(sizes)], size)), flat


class LayerNorm(Module):
    """Layer norm: normalises rows to mean 0 and variance 1 (Ba et al. 2016).

    Args:
        normalized_shape: Lengths of the last axes; an integer for one axis.
        eps: Number added to the variance.
        elementwise_affine: If True, scale and shift by learned parameters.
        bias: If True, shift by learned parameters; requires `elementwise_affine`.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.LayerNorm(2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[1.0, 3.0]])).numpy().round(2).tolist()
        [[-1.0, 1.0]]
    """

    weight: Param | None
    bias: Param | None
    normalized_shape: tuple[int, ...]
    eps: float

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        self.normalized_shape = shape = to_axis_lengths(normalized_shape)
        self.weight = Param(shape, Fill(1.0)) if elementwise_affine else None
        self.bias = Param(shape, Fill(0.0)) if elementwise_affine and bias else None
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise a tensor whose last axes have the shape `normalized_shape`."""
        weight, bias = get_value(self.weight), get_value(self.bias)
        _require_last_axes(self, x, self.normalized_shape)
        return layer_norm(x, self.normalized_shape, weight, bias, self.eps)


class RMSNorm(Module):
    """RMS norm: divides rows by their root mean square (Zhang and Sennrich 2019).

    Args:
        normalized_shape: Lengths of the last axes; an integer for one axis.
        eps: Number added to the mean square; default: the machine epsilon of the dtype.
        elementwise_affine: If True, scale by learned parameters.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.RMSNorm(2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[3.0, 3.0]])).numpy().round(2).tolist()
        [[1.0, 1.0]]
    """

    weight: Param | None
    normalized_shape: tuple[int, ...]
    eps: float | None

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float | None = None,
        elementwise_affine: bool = True,
    ) -> None:
        self.normalized_shape = shape = to_axis_lengths(normalized_shape)
        self.weight = Param(shape, Fill(1.0)) if elementwise_affine else None
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise a tensor whose last axes have the shape `normalized_shape`."""
        weight = get_value(self.weight)
        _require_last_axes(self, x, self.normalized_shape)
        return rms_norm(x, self.normalized_shape, weight, self.eps)


def _require_last_axes(layer: Module, x: Tensor, lengths: tuple[int, ...]) -> None:
    """Raise if the last axes of the input do not have the layer's shape."""
    if tuple(x.shape[-len(lengths) :]) != lengths:
        form = ", ".join(("...", *map(str, lengths)))
        raise ShapeError(
            f"{label_layer(layer)}: expected x of shape ({form}), got {tuple(x.shape)}"
        )


def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise groups of channels of each record (Wu and He 2018).

    Args:
        x: Input ``(n, c, ...)``.
        num_groups: Number of groups; the channels of a group are normalised together.
        weight: Factor of each channel, ``(c,)``; default 1.
        bias: Offset of each channel, ``(c,)``; default 0.
        eps: Number added to the variance.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: `num_groups` does not divide the number of channels, or a group has
            only one value.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0], [3.0], [5.0], [9.0]]])
        >>> group_norm(x, 2).numpy().round(2).flatten().tolist()
        [-1.0, 1.0, -1.0, 1.0]
    """
    require_norm_dtypes("group_norm", x, weight, bias)
    if x.ndim > 1 and num_groups == x.shape[1]:  # one pass over memory, not two
        return normalise_channel_groups("group_norm", x, None, weight, bias, eps)[0]
    out, *_ = normalise_channel_groups("group_norm", x, num_groups, None, None, eps)
    return out if weight is None and bias is None else scale_channels(out, weight, bias)


def normalise_channel_groups(
    name: str,
    x: Tensor,
    groups: int | None,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise each group of channels of each record; by default, each channel."""
    # Call the batch norm with a single record, whose channels are the groups of all
    # records. The batch norm returns the output, and the means and biased variances of
    # all groups.
    records, channels = x.shape[:2]
    groups = channels if groups is None else as_size("num_groups", groups, 1)
    values = math.prod(x.shape[1:]) // max(groups, 1)
    if channels % max(groups, 1) or values == 1:
        raise ShapeError(
            f"{name}: expected a multiple of {groups} channels, and more than 1 value in "
            f"each of the {groups} groups of a record, got shape {x.shape}"
        )
    rows = apply("reshape", x, (1, records * groups, values))
    weight, bias = (
        fill_channels(
            rows, None if part is None else apply("tile", part, (records,)), default
        )
        for part, default in ((weight, 1.0), (bias, 0.0))
    )
    out, *statistics = apply("batch_norm", rows, weight, bias, None, eps=eps)
    # Always reshape, so that an exported graph accepts any number of records.
    return apply("reshape", out, x.shape), *statistics


class GroupNorm(Module):
    """Group norm: normalises groups of channels of each record (Wu and He 2018).

    Args:
        num_groups: Number of groups; must divide `num_channels`.
        num_channels: Number of channels.
        eps: Number added to the variance.
        affine: If True, scale and shift each channel by learned parameters.

    Raises:
        ArgumentError: A number is not an integer, or `num_groups` does not divide
            `num_channels`.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.GroupNorm(1, 2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[[1.0], [3.0]]])).numpy().round(2).tolist()
        [[[-1.0], [1.0]]]
    """

    weight: Param | None
    bias: Param | None
    num_groups: int
    eps: float

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True
    ) -> None:
        self.num_groups = as_size("num_groups", num_groups, 1)
        shape = (as_integer("num_channels", num_channels),)
        if num_channels % num_groups:
            raise ArgumentError(
                f"num_channels must be a multiple of num_groups={num_groups}, got "
                f"{num_channels}"
            )
        self.weight = Param(shape, Fill(1.0)) if affine else None
        self.bias = Param(shape, Fill(0.0)) if affine else None
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise ``(n, c, ...)``."""
        weight, bias = get_value(self.weight), get_value(self.bias)
        if self.weight is not None:
            (channels,) = self.weight.shape
            require_axis(self, x, 1, channels, form=f"(n, {channels}, ...)")
        return group_norm(x, self.num_groups, weight, bias, self.eps)


def normalize(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divide vectors by their norm along an axis.

    Args:
        x: A tensor.
        p: Order of the norm; infinity for the maximum, 0 for the number of non-zero
            elements.
        dim: Axis of the vectors.
        eps: Lower limit of the divisor.

    Returns:
        A tensor with the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[0.0, 4.0]])
        >>> normalize(x).numpy().tolist()
        [[0.0, 1.0]]
    """
    require_floats("normalize", x)
    return x / apply("maximum", _vector_norm(x, p, dim), eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Compute the cosine of the angle between two vectors along an axis.

    Args:
        x1: A tensor.
        x2: A tensor, array or list that broadcasts with `x1`.
        dim: Axis of the vectors.
        eps: Lower limit of each norm.

    Returns:
        A tensor without the axis `dim`.

    Raises:
        DTypeError: `x1` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[3.0, 0.0]])
        >>> cosine_similarity(x, [[2.0, 0.0]]).numpy().tolist()
        [1.0]
    """
    require_floats("cosine_similarity", x1, "x1")
    x2 = as_operand(x1, x2, x1.dtype)
    unit1 = x1 / apply("maximum", _vector_norm(x1, 2.0, dim), eps)
    unit2 = x2 / apply("maximum", _vector_norm(x2, 2.0, dim), eps)
    return (unit1 * unit2).sum(axis=dim)


def _vector_norm(x: Tensor, p: float, dim: int) -> Tensor:
    """Compute the norm, keeping the axis; the gradient of a zero vector is 0."""
    if p == 1:
        return abs(x).sum(axis=dim, keepdims=True)
    if p == 0:
        some = apply("not_equal", x, 0).astype(x.dtype)
        return some.sum(axis=dim, keepdims=True)
    if math.isinf(p):
        return getattr(abs(x), "max" if p > 0 else "min")(axis=dim, keepdims=True)
    powers = apply("square", x) if p == 2 else abs(x) ** p  # noqa: PLR2004
    total = powers.sum(axis=dim, keepdims=True)
    some = total > 0
    safe = apply("where", some, total, 1.0)
    root = apply("sqrt", safe) if p == 2 else safe ** (1 / p)  # noqa: PLR2004
    return apply("where", some, root, 0.0)
