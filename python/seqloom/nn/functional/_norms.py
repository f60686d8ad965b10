"""Normalisation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer
from seqloom.errors import ShapeError
from seqloom.nn.functional._dtypes import LAYER, require_floats, require_same_dtype
from seqloom.nn.functional._geometry import as_size
from seqloom.nn.functional._operands import as_operand
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence


def batch_norm(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    mask: object = None,
    *,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalises each channel by the batch's own statistics (Ioffe and Szegedy 2015).

    Other than torch's function it takes a mask, and returns the statistics: the layer
    updates the running averages, because no function writes into its arguments.

    Args:
        x: ``(n, c)``, ``(n, c, l)`` or ``(n, c, h, w)``.
        weight: ``(c,)``, standard deviation of the result; default 1.
        bias: ``(c,)``, mean of the result; default 0.
        mask: ``(n, l)`` or ``(n, h, w)``, 1 or true for real positions, and 0 or false for
            padding, which does not count; default: all real.
        eps: Number added to the variance.

    Returns:
        The output, shaped as `x` and 0 at padding; the means ``(c,)``; the biased
        variances.

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
    _require_floats("batch_norm", x, weight, bias)
    _require_several(x)
    flat, kept = _flatten_positions(x, mask)
    weight, bias = _fill(x, weight, 1.0), _fill(x, bias, 0.0)
    out, *statistics = apply("batch_norm", flat, weight, bias, kept, eps=eps)
    return _restore(out, x), *statistics


def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each record over groups of its channels (Wu and He 2018).

    Args:
        x: ``(n, c, ...)``.
        num_groups: Number of groups of channels that are normalised together.
        weight: ``(c,)``, factor of each channel; default 1.
        bias: ``(c,)``, summand of each channel; default 0.
        eps: Number added to the variance.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: The groups do not divide the channels, or a group has only one value.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0], [3.0], [5.0], [9.0]]])
        >>> group_norm(x, 2).numpy().round(2).flatten().tolist()
        [-1.0, 1.0, -1.0, 1.0]
    """
    _require_floats("group_norm", x, weight, bias)
    if x.ndim > 1 and num_groups == x.shape[1]:  # one pass over memory, not two
        return join_records("group_norm", x, None, weight, bias, eps)[0]
    out, *_ = join_records("group_norm", x, num_groups, None, None, eps)
    return out if weight is None and bias is None else scale_channels(out, weight, bias)


def instance_norm(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each channel of each record by itself (Ulyanov et al. 2016).

    Other than torch's function it keeps no running averages: the layer does.

    Args:
        x: ``(n, c, l)`` or ``(n, c, h, w)``.
        weight: ``(c,)``, factor of each channel; default 1.
        bias: ``(c,)``, summand of each channel; default 0.
        eps: Number added to the variance.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: A channel of a record has only one value.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0], [5.0, 9.0]]])
        >>> instance_norm(x).numpy().round(2).tolist()
        [[[-1.0, 1.0], [-1.0, 1.0]]]
    """
    _require_floats("instance_norm", x, weight, bias)
    return join_records("instance_norm", x, None, weight, bias, eps)[0]


def scale_channels(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, mask: object = None
) -> Tensor:
    """Multiplies each channel by a number and adds another; 0 at masked positions."""
    flat, kept = _flatten_positions(x, mask)
    weight, bias = _fill(x, weight, 1.0), _fill(x, bias, 0.0)
    return _restore(apply("scale_shift", flat, weight, bias, kept), x)


def join_records(
    name: str,
    x: Tensor,
    groups: int | None,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalises groups of channels of each record; each channel alone for None."""
    # A batch norm of one record, whose channels are the groups of all records. It returns
    # the output, and the means and biased variances of all groups.
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
        _fill(rows, None if part is None else apply("tile", part, (records,)), default)
        for part, default in ((weight, 1.0), (bias, 0.0))
    )
    out, *statistics = apply("batch_norm", rows, weight, bias, None, eps=eps)
    # Also where the shape is the same: an exported graph is one for any number of records.
    return apply("reshape", out, x.shape), *statistics


def _flatten_positions(x: Tensor, mask: object) -> tuple[Tensor, Tensor | None]:
    """Reshapes ``(n, c, ...)`` and its mask ``(n, ...)`` to one axis of positions."""
    count = math.prod(x.shape[2:])
    kept = None if mask is None else as_operand(x, mask, x.dtype)
    if x.ndim == 3:  # noqa: PLR2004  # (n, c, l)
        return x, kept
    kept = None if kept is None else apply("reshape", kept, (x.shape[0], count))
    return apply("reshape", x, (*x.shape[:2], count)), kept


def _restore(out: Tensor, x: Tensor) -> Tensor:
    """Reshapes a result to the shape of the input."""
    return out if out.shape == x.shape else apply("reshape", out, x.shape)


def _fill(x: Tensor, values: Tensor | None, default: float) -> Tensor:
    """Returns one number for each channel: those given, or the default."""
    if values is not None:
        return values
    return Tensor(x.backend.full((x.shape[1],), default, dtype=x.dtype), x.backend)


def _require_several(x: Tensor) -> None:
    """Refuses a batch with one value for each channel: the result would always be 0."""
    shape = x.shape
    if len(shape) > 1 and shape[0] * math.prod(shape[2:]) == 1:
        raise ShapeError(
            "batch_norm: expected more than 1 value for each channel in training, got "
            f"shape {shape}; use larger batches (drop_last=True, --drop-last, leaves "
            "a smaller last batch out), or call model.eval() to use the running averages"
        )


def layer_norm(
    x: Tensor,
    normalized_shape: Sequence[int] | int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises over the last axes (Ba et al. 2016).

    Args:
        x: ``(..., *normalized_shape)``.
        normalized_shape: Lengths of the last axes, or of the last one.
        weight: Standard deviation of the result, of shape `normalized_shape`.
        bias: Mean of the result, of shape `normalized_shape`.
        eps: Number added to the variance.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: The last axes of `x` have other lengths.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 3.0]])
        >>> layer_norm(x, (2,)).numpy().round(2).tolist()
        [[-1.0, 1.0]]
    """
    _require_floats("layer_norm", x, weight, bias)
    rows, (weight, bias) = _join_axes(x, normalized_shape, weight, bias)
    out = apply("layer_norm", rows, weight, bias, eps=eps)[0]
    return out if out.shape == x.shape else apply("reshape", out, x.shape)


def rms_norm(
    x: Tensor,
    normalized_shape: Sequence[int] | int,
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divides by the root mean square over the last axes (Zhang and Sennrich 2019).

    Args:
        x: ``(..., *normalized_shape)``.
        normalized_shape: Lengths of the last axes, or of the last one.
        weight: Factor of the result, of shape `normalized_shape`.
        eps: Number added to the mean square; default: the machine epsilon of the dtype.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: The last axes of `x` have other lengths.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[3.0, 3.0]])
        >>> rms_norm(x, (2,)).numpy().round(4).tolist()
        [[1.0, 1.0]]
    """
    _require_floats("rms_norm", x, weight)
    rows, (weight,) = _join_axes(x, normalized_shape, weight)
    step = float(x.backend.finfo(x.dtype).eps) if eps is None else eps
    out = apply("rms_norm", rows, weight, eps=step)[0]
    return out if out.shape == x.shape else apply("reshape", out, x.shape)


def _require_floats(
    name: str, x: Tensor, weight: Tensor | None, bias: Tensor | None = None
) -> None:
    """Refuses arrays of different float types; the type of the weight is expected."""
    if weight is not None:
        require_same_dtype(name, LAYER, weight, x, bias)
    else:
        require_same_dtype(name, ("x", "bias"), x, bias)


def axes_of(shape: Any) -> tuple[int, ...]:
    """Returns the lengths of the normalised axes; one number is that of the last."""
    kind: Any = type(shape)  # pyright: ignore[reportUnknownVariableType]
    lengths: Any = shape if issubclass(kind, (list, tuple)) else (shape,)
    return tuple(as_integer("normalized_shape", length) for length in lengths)


def _join_axes(
    x: Tensor, sizes: Sequence[int] | int, *further: Tensor | None
) -> tuple[Tensor, Any]:
    """Reshapes the normalised axes of all arguments to one."""
    sizes = axes_of(sizes)
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


def normalize(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divides vectors by their norm along an axis.

    Args:
        x: A tensor.
        p: Order of the norm; infinity for the maximum, 0 for the number of non-zeros.
        dim: Axis of the vectors.
        eps: Lower limit of the divisor.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[0.0, 4.0]])
        >>> normalize(x).numpy().tolist()
        [[0.0, 1.0]]
    """
    require_floats("normalize", x)
    return x / apply("maximum", _norm(x, p, dim), eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Computes the cosine of the angle between vectors along an axis.

    Args:
        x1: A tensor.
        x2: A tensor, array or list that broadcasts with it.
        dim: Axis of the vectors.
        eps: Lower limit of each norm.

    Returns:
        A tensor without that axis.

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
    unit1 = x1 / apply("maximum", _norm(x1, 2.0, dim), eps)
    unit2 = x2 / apply("maximum", _norm(x2, 2.0, dim), eps)
    return (unit1 * unit2).sum(axis=dim)


def _norm(x: Tensor, p: float, dim: int) -> Tensor:
    """Computes the norm with keepdims; where it is 0, its gradient is 0 too."""
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
