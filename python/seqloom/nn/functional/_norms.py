"""Normalisation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer
from seqloom.errors import ShapeError
from seqloom.nn.functional._dtypes import LAYER, require_floats, require_same_dtype
from seqloom.nn.functional._operands import beside
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence


def batch_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    mask: Any = None,
    *,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalises each channel by the batch's own statistics (Ioffe and Szegedy 2015).

    Unlike torch's it takes a mask and gives the statistics back: tensors are never written
    into, so running averages are the layer's business.

    Args:
        x: ``(n, c, l)``.
        weight: ``(c,)``, the deviation after.
        bias: ``(c,)``, the mean after.
        mask: ``(n, l)``, 1 or true for real places and 0 or false for padding, which does
            not count.
        eps: Added to the variance.

    Returns:
        The output ``(n, c, l)``, 0 at padding; the means ``(c,)``; the biased variances.

    Raises:
        DTypeError: The arguments are not of one type of floats.
        ShapeError: `x` has one value for each channel, which is its own mean.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x = B.tensor([[[1.0, 3.0]]])
        >>> batch_norm(x, B.tensor([1.0]), B.tensor([0.0]))[1].item()
        2.0
    """
    require_same_dtype("batch_norm", LAYER, weight, x, bias)
    _require_several(x)
    mask = None if mask is None else beside(x, mask, x.dtype)
    return apply("batch_norm", x, weight, bias, mask, eps=eps)


def _require_several(x: Tensor) -> None:
    """Refuses a batch that has one value for each channel: it would always become 0."""
    shape = x.shape
    if len(shape) > 1 and shape[0] * math.prod(shape[2:]) == 1:
        raise ShapeError(
            "batch_norm: expected more than 1 value for each channel in training, got "
            f"shape {shape}; give larger batches (drop_last=True leaves a last batch of "
            "one out), or call model.eval() to use the running averages"
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
        normalized_shape: The lengths of the last axes, or of the last one.
        weight: The deviation after, of `normalized_shape`.
        bias: The mean after, of `normalized_shape`.
        eps: Added to the variance.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        DTypeError: The arguments are not of one type of floats.
        ShapeError: The last axes of `x` are others.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 3.0]])
        >>> layer_norm(x, (2,)).numpy().round(2).tolist()
        [[-1.0, 1.0]]
    """
    _require_floats("layer_norm", x, weight, bias)
    rows, (weight, bias) = _rows(x, normalized_shape, weight, bias)
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
        normalized_shape: The lengths of the last axes, or of the last one.
        weight: A factor, of `normalized_shape`.
        eps: Added to the mean square; default the element type's smallest step from 1.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        DTypeError: The arguments are not of one type of floats.
        ShapeError: The last axes of `x` are others.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[3.0, 3.0]])
        >>> rms_norm(x, (2,)).numpy().round(4).tolist()
        [[1.0, 1.0]]
    """
    _require_floats("rms_norm", x, weight)
    rows, (weight,) = _rows(x, normalized_shape, weight)
    step = float(x.backend.finfo(x.dtype).eps) if eps is None else eps
    out = apply("rms_norm", rows, weight, eps=step)[0]
    return out if out.shape == x.shape else apply("reshape", out, x.shape)


def _require_floats(
    name: str, x: Tensor, weight: Tensor | None, bias: Tensor | None = None
) -> None:
    """Refuses arrays that are not of one type of floats; that of the weight decides."""
    if weight is not None:
        require_same_dtype(name, LAYER, weight, x, bias)
    else:
        require_same_dtype(name, ("x", "bias"), x, bias)


def axes_of(shape: Any) -> tuple[int, ...]:
    """The lengths of the axes to normalise over: one number is that of the last."""
    kind: Any = type(shape)  # pyright: ignore[reportUnknownVariableType]
    given: Any = shape if issubclass(kind, (list, tuple)) else (shape,)
    return tuple(as_integer("normalized_shape", each) for each in given)


def _rows(
    x: Tensor, sizes: Sequence[int] | int, *further: Tensor | None
) -> tuple[Tensor, Any]:
    """The axes to normalise over as one axis, in all arguments."""
    sizes = axes_of(sizes)
    if not sizes or x.shape[-len(sizes) :] != sizes:
        raise ShapeError(f"a tensor of shape {x.shape} cannot be normalised over {sizes}")
    if len(sizes) == 1:
        return x, further
    size = math.prod(sizes)
    flat = [None if each is None else apply("reshape", each, (size,)) for each in further]
    return apply("reshape", x, (*x.shape[: -len(sizes)], size)), flat


def normalize(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divides by the norm along an axis.

    Args:
        x: A tensor.
        p: Which norm; infinity for the largest absolute value, 0 for how many are not 0.
        dim: The axis.
        eps: The least that is divided by.

    Returns:
        A tensor of that shape.

    Raises:
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[0.0, 4.0]])
        >>> normalize(x).numpy().tolist()
        [[0.0, 1.0]]
    """
    require_floats("normalize", x)
    return x / apply("maximum", _norm(x, p, dim), eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis.

    Args:
        x1: A tensor.
        x2: A tensor, array or list that broadcasts with it.
        dim: The axis.
        eps: The least that each norm counts as.

    Returns:
        A tensor without that axis.

    Raises:
        DTypeError: `x1` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[3.0, 0.0]])
        >>> cosine_similarity(x, [[2.0, 0.0]]).numpy().tolist()
        [1.0]
    """
    require_floats("cosine_similarity", x1, "x1")
    x2 = beside(x1, x2, x1.dtype)
    unit1 = x1 / apply("maximum", _norm(x1, 2.0, dim), eps)
    unit2 = x2 / apply("maximum", _norm(x2, 2.0, dim), eps)
    return (unit1 * unit2).sum(axis=dim)


def _norm(x: Tensor, p: float, dim: int) -> Tensor:
    """The norm along an axis, which stays; where it is 0, so is its gradient."""
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
