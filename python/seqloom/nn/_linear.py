"""Linear layers, embedding and dropout."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from seqloom.nn._initialisers import FanIn, Normal
from seqloom.nn._module import Module
from seqloom.nn._operands import LINEAR_ARGS, as_operand, require_floats, require_same_dtype
from seqloom.nn._parameters import Param, get_value
from seqloom.nn._submodules import require_axis
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom._key import Key


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Apply a linear map: ``x @ weight.T + bias``.

    Args:
        x: Input ``(..., in)``.
        weight: Weight ``(out, in)``; or ``(in,)`` for an output without the last axis,
            with a bias of shape ``()``.
        bias: Bias ``(out,)``.

    Returns:
        Output ``(..., out)``, in the dtype of the arguments.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: The lengths do not match, or `weight` does not have one or two axes.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> linear(B.tensor([[1.0, 2.0]]), B.tensor([[3.0, 4.0]])).item()
        11.0
    """
    require_same_dtype("linear", LINEAR_ARGS, weight, x, bias)
    if weight.ndim != 2:  # noqa: PLR2004  # (out, in)
        return _apply_to_one_output(x, weight, bias)
    return apply("linear", x, weight, bias)


def _apply_to_one_output(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Apply a weight ``(in,)``: compute one scalar product for each row."""
    if weight.ndim != 1 or (bias is not None and bias.ndim):
        given = "no bias" if bias is None else f"a bias of shape {bias.shape}"
        raise ShapeError(
            "linear: expected a weight of shape (out, in) and a bias (out,), or a weight "
            f"(in,) and a bias (). Got a weight of shape {weight.shape} and {given}"
        )
    out = apply("matmul", x, weight)
    return out if bias is None else out + bias


class Linear(Module):
    """Linear layer: ``x @ weight.T + bias``.

    Args:
        in_features: Length of the last axis of the input.
        out_features: Length of the last axis of the output.
        bias: If True, add a bias.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(4, 2).bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[0.0] * 4])).shape
        (1, 2)
    """

    weight: Param
    bias: Param | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        inside = as_integer("in_features", in_features)
        outside = as_integer("out_features", out_features)
        self.weight = Param((outside, inside), FanIn(inside))
        self.bias = Param((outside,), FanIn(inside)) if bias else None

    def __call__(self, x: Tensor) -> Tensor:
        """Map ``(..., in)`` to ``(..., out)``."""
        width = self.weight.shape[1]
        require_axis(self, x, -1, width, form=f"(..., {width})")
        return linear(x, self.weight.value, get_value(self.bias))


def find_linear_layers(module: Module, targets: Sequence[str]) -> list[tuple[str, Linear]]:
    """Return the linear layers that match; raise if a pattern matches no layer."""
    patterns = [targets] if isinstance(targets, str) else list(targets)
    layers = [(path, it) for path, it in module.named(Linear) if path]
    for pattern in patterns:
        if not any(fnmatchcase(path, pattern) for path, _ in layers):
            known = ", ".join(path for path, _ in layers[:4]) or "none"
            raise ArgumentError(
                f"no linear layer of {type(module).__name__} matches targets={pattern!r}; "
                f"its linear layers are {known}{', ...' if len(layers) > 4 else ''}"  # noqa: PLR2004 - shown
            )
    return [
        (path, layer)
        for path, layer in layers
        if any(fnmatchcase(path, pattern) for pattern in patterns)
    ]


def replace_layer(module: Module, path: str, layer: Any) -> None:
    """Replace a layer in a module, a list or a dict."""
    *steps, last = path.split(".")
    owner: Any = module
    for step in steps:
        is_module = isinstance(owner, Module)
        owner = getattr(owner, step) if is_module else owner[_to_item_key(owner, step)]
    if isinstance(owner, Module):
        setattr(owner, last, layer)
    elif isinstance(owner, tuple):
        raise ArgumentError(
            f"the linear layer {path} is in a tuple, which cannot be changed; use a list, "
            "or exclude the layer from targets"
        )
    else:
        owner[_to_item_key(owner, last)] = layer


def _to_item_key(owner: Any, step: str) -> Any:
    """Convert one part of a path to the key or index of an item in a container."""
    if isinstance(owner, dict):
        return next(key for key in owner if str(key) == step)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return int(step)


_INT32_BYTES = np.dtype("int32").itemsize


def embedding(x: object, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Return the row of a table for each integer.

    Args:
        x: Integers from 0 up, of any shape ``(...)``; a tensor, array or list.
        weight: Table ``(rows, d)``.
        padding_idx: Index of a row that receives no gradient; default: none.

    Returns:
        Output ``(..., d)``.

    Raises:
        DTypeError: `x` does not have an integer type.
        OutOfRangeError: `x` or `padding_idx` is not the index of a row.

    Examples:
        >>> import seqloom as sl
        >>> table = sl.tensor.backend("numpy").tensor([[1.0], [2.0], [3.0]])
        >>> embedding([2, 0], table).numpy().tolist()
        [[3.0], [1.0]]
    """
    ids = _to_index_dtype(as_operand(weight, x))
    rows = apply("embedding", weight, ids)
    if padding_idx is None:
        return rows
    count = weight.shape[0]
    if not -count <= padding_idx < count:
        raise OutOfRangeError(
            f"padding_idx must be from {-count} to {count - 1}, the rows of the table, got "
            f"{padding_idx}"
        )
    padding = apply("expand_dims", ids == padding_idx % count, axis=-1)
    return apply("where", padding, apply("stop_gradient", rows), rows)


def _to_index_dtype(ids: Tensor) -> Tensor:
    """Convert integers to at least int32, which every backend accepts as indices."""
    if ids.dtype.kind not in "iu":
        raise DTypeError(
            f'embedding: x holds {ids.dtype}, expected integers; pass x.astype("int32")'
        )
    return ids.astype("int32") if ids.dtype.itemsize < _INT32_BYTES else ids


class Embedding(Module):
    """Table of learned vectors, looked up by integer.

    Args:
        num_embeddings: Number of vectors.
        embedding_dim: Length of a vector.
        padding_idx: Integer whose vector is not trained; default: none.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Embedding(33, 8).bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[3, 4, 5]])).shape
        (1, 3, 8)
    """

    weight: Param
    padding_idx: int | None

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None
    ) -> None:
        self.weight = Param((num_embeddings, embedding_dim), Normal(1.0))
        self.padding_idx = padding_idx

    def __call__(self, x: Any) -> Tensor:
        """Look up integers ``(...)``; return vectors ``(..., embedding_dim)``."""
        return embedding(x, self.weight.value, self.padding_idx)


def dropout(x: Tensor, p: float = 0.5, key: Any = None, training: bool = True) -> Tensor:
    """Zero random elements; divide the others by ``1 - p`` (Srivastava et al. 2014).

    Args:
        x: A tensor of any shape.
        p: Probability that an element is set to zero, in [0, 1).
        key: Random key; the same key gives the same mask on every machine.
        training: If False, return `x` unchanged.

    Returns:
        A tensor with the shape of `x`.

    Raises:
        ArgumentError: `key` is missing, or `p` is not in [0, 1).
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0] * 1000)
        >>> 400 < int((dropout(x, 0.5, sl.Key(0)).numpy() == 2).sum()) < 600
        True
    """
    if not training or p == 0:
        return x
    if not 0 < p < 1:
        raise ArgumentError(f"p must be in [0, 1), got {p}")
    if key is None:
        raise ArgumentError("dropout needs a key: pass key=sl.Key(seed, epoch, batch)")
    require_floats("dropout", x)
    return apply("dropout", x, key, p)


class Dropout(Module):
    """Dropout: sets random elements to zero in training (Srivastava et al. 2014).

    Args:
        p: Probability that an element is set to zero, in [0, 1).

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
            raise ArgumentError(f"p must be in [0, 1), got {p}")
        self.p = p

    def __call__(self, x: Tensor, *, key: Key | None = None) -> Tensor:
        """Apply dropout to a tensor of any shape."""
        if not self.training or self.p == 0:
            return x
        if key is None:
            raise ArgumentError(
                "dropout in training needs a key: pass key=sl.Key(seed, epoch, batch) to "
                "the model, or call model.eval() first"
            )
        return dropout(x, self.p, key)
