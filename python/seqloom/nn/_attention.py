"""Attention, self-attention and rotary position embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._linear import Linear
from seqloom.nn._module import Module
from seqloom.nn._operands import (
    QKV_ARGUMENT_NAMES,
    as_operand,
    as_size,
    make_range,
    require_floats,
    require_same_dtype,
    require_valid_offsets,
)
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from seqloom._key import Key

_Q_NDIM = 4  # axes of queries: (n, h, l, d)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: object = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    rng: Any = None,
) -> Tensor:
    """Average values by the similarity of queries and keys (Vaswani et al. 2017).

    Computes ``softmax(scale * query @ key.T + mask) @ value``. A masked key has the
    weight 0, so finite values at masked positions do not affect the result. As in
    PyTorch, NaN or infinity at a masked position makes the result NaN. If padding may
    contain NaN or infinity, set padding to 0 with ``where(real, x, 0.0)``, or pack the
    sequences for `attention_varlen`.

    Args:
        query: Queries ``(..., l, d)``, with at most two leading axes.
        key: Keys ``(..., s, d)``.
        value: Values ``(..., s, d)``.
        attn_mask: Array that broadcasts to ``(..., l, s)``: booleans, true where a query
            attends to a key, or numbers to add to the scores.
        dropout_p: Probability of dropping an attention weight, in [0, 1).
        is_causal: If True, query i attends only to keys 0 to i.
        scale: Factor of the attention scores; default ``d ** -0.5``.
        enable_gqa: If True, consecutive heads of `query` share one head of `key` and
            `value` (grouped-query attention).
        rng: Random key (`sl.Key`) for dropout.

    Returns:
        Output ``(..., l, d)``; 0 for a query whose keys are all masked.

    Raises:
        ArgumentError: `dropout_p` is not in [0, 1), or dropout is used without `rng`.
        DTypeError: `query`, `key` and `value` do not have the same float type.
        ShapeError: The shapes of the arguments do not match, or an argument has more
            than four axes.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> scaled_dot_product_attention(x, x, x, is_causal=True).numpy()[0].tolist()
        [1.0, 0.0]
    """
    if not 0 <= dropout_p < 1:
        raise ArgumentError(f"dropout_p must be in [0, 1), got {dropout_p}")
    if dropout_p and rng is None:
        raise ArgumentError(
            "attention with dropout_p needs a key: pass rng=sl.Key(seed, epoch, batch)"
        )
    require_same_dtype("attention", QKV_ARGUMENT_NAMES, query, key, value)
    q, k, v = _add_missing_axes(query), _add_missing_axes(key), _add_missing_axes(value)
    if enable_gqa:
        k, v = _repeat_heads(q, k), _repeat_heads(q, v)
    _require_equal_shapes(q, k, v)
    mask = None if attn_mask is None else _convert_mask(q, k, attn_mask)
    out = apply(
        "attention",
        *(q, k, v, mask, rng if dropout_p else None),
        scale=scale,
        causal=is_causal,
        dropout=dropout_p,
    )[0]
    return out if query.ndim == _Q_NDIM else apply("reshape", out, out.shape[-query.ndim :])


def _repeat_heads(query: Tensor, x: Tensor) -> Tensor:
    """Repeat the heads of keys or values to match the number of query heads."""
    heads, key_heads = query.shape[1], x.shape[1]
    if not key_heads or heads % key_heads:
        raise ShapeError(
            f"attention: with enable_gqa the number of heads of query, {heads}, must be a "
            f"multiple of that of key and value, {key_heads}"
        )
    return x if heads == key_heads else apply("repeat", x, heads // key_heads, axis=1)


def _require_equal_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise if the shapes of queries, keys and values do not match."""
    rows, columns, values = q.shape, k.shape, v.shape
    if rows == columns == values:
        return
    if columns[:-1] != values[:-1] or rows[:-2] != columns[:-2] or rows[-1] != columns[-1]:
        raise ShapeError(
            "attention: expected query (n, h, l, d), keys (n, h, s, d) and value "
            f"(n, h, s, e), got {rows}, {columns} and {values}"
        )


def _convert_mask(query: Tensor, keys: Tensor, mask: object) -> Tensor:
    """Return a mask of booleans, or of numbers in the dtype of the query."""
    array = as_operand(query, mask)
    pairs = (*query.shape[:-1], keys.shape[-2])
    ends = zip(reversed(array.shape), reversed(pairs), strict=False)
    if array.ndim > _Q_NDIM or any(size not in (1, whole) for size, whole in ends):
        raise ShapeError(
            f"attention: attn_mask must broadcast to {pairs}, (n, h, l, s), got shape "
            f"{array.shape}; pass a mask of keys (n, s) as mask[:, None, None, :]"
        )
    return array if array.dtype.kind == "b" else as_operand(query, array, query.dtype)


def _add_missing_axes(x: Tensor) -> Tensor:
    """Add the axes of batch and heads if they are missing."""
    if x.ndim == _Q_NDIM:
        return x
    if not 1 < x.ndim < _Q_NDIM:
        raise ShapeError(f"attention: expected arrays of 2 to 4 axes, got shape {x.shape}")
    return apply("reshape", x, (*(1,) * (_Q_NDIM - x.ndim), *x.shape))


def attention_varlen(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seqlens: Sequence[int] | Tensor,
    max_seqlen: int,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Compute attention within each of several concatenated sequences.

    Sequences are independent. Values in one sequence, even NaN, never change the
    outputs or gradients of another sequence. Computing a sequence alone gives bitwise
        the same result on NumPy, and on other backends a result that agrees within 1e-6
        in float32. Half-precision inputs are computed in float32, and the result is
        rounded.
    Flash attention on a CUDA device also rounds the weights (relative errors of about
    0.005 in float16 and 0.04 in bfloat16).

    The function never synchronises a CUDA device. In half precision on Ampere or newer
    GPUs, PyTorch 2.12 and newer use ``torch.nn.attention.varlen``; in float32 and on
    older GPUs, PyTorch uses its memory-efficient kernel. With
    ``torch.use_deterministic_algorithms(True)`` the gradients are deterministic too.

    Args:
        query: Queries ``(total, h, d)``.
        key: Keys ``(total, h, d)``.
        value: Values ``(total, h, d)``.
        cu_seqlens: Offsets ``(n + 1,)``: the start of each sequence, and the total length.
        max_seqlen: Length of the longest sequence.
        is_causal: If True, a position attends only to itself and to earlier positions.
        scale: Factor of the attention scores; default ``d ** -0.5``.

    Returns:
        Output ``(total, h, d)``.

    Raises:
        ArgumentError: `cu_seqlens` are not increasing integers from 0 to the total, or a
            sequence is longer than `max_seqlen`.
        DTypeError: `query`, `key` and `value` do not have the same float type.
        ShapeError: The shapes of the arguments do not match.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0]], [[2.0]], [[5.0]]])
        >>> attention_varlen(x, x, x, [0, 2, 3], 2).numpy()[2].item()
        5.0
    """
    shape = query.shape
    if len(shape) != _Q_NDIM - 1 or key.shape != shape or value.shape[:-1] != shape[:-1]:
        raise ShapeError(
            "attention_varlen: expected query and keys (total, h, d) and value "
            f"(total, h, e), got {shape}, {key.shape} and {value.shape}"
        )
    require_same_dtype("attention_varlen", QKV_ARGUMENT_NAMES, query, key, value)
    longest = as_size("max_seqlen", max_seqlen, 0)
    require_valid_offsets(cu_seqlens, query.shape[0], longest)
    offsets = as_operand(query, cu_seqlens, "int32")
    options = {"max_seqlen": longest, "scale": scale, "causal": is_causal}
    return apply("attention_varlen", query, key, value, offsets, **options)[0]


class SelfAttention(Module):
    """Multi-head self-attention (Vaswani et al. 2017).

    Args:
        width: Number of features of each position.
        heads: Number of attention heads; must divide `width`.
        dropout: Probability of dropping an attention weight in training.
        causal: If True, a position attends only to itself and to earlier positions.

    Raises:
        ArgumentError: `width` is not a multiple of `heads`.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.SelfAttention(8, 2).bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[[0.0] * 8] * 5])).shape
        (1, 5, 8)
    """

    inputs: Linear
    output: Linear
    heads: int
    dropout: float
    causal: bool

    def __init__(
        self, width: int, heads: int, *, dropout: float = 0.0, causal: bool = False
    ) -> None:
        width = as_integer("width", width, least=1)
        heads = as_integer("heads", heads, least=1)
        if width % heads:
            raise ArgumentError(f"width must be a multiple of heads={heads}, got {width}")
        self.inputs, self.output = Linear(width, 3 * width), Linear(width, width)
        self.heads, self.dropout, self.causal = heads, dropout, causal

    def __call__(
        self, x: Tensor, mask: Tensor | ArrayLike | None = None, *, key: Key | None = None
    ) -> Tensor:
        """Compute self-attention over the positions of each record.

        Args:
            x: Input ``(n, l, width)``.
            mask: Array that broadcasts to ``(n, heads, l, l)``, true where a position
                attends to another position. Pass a mask of positions ``(n, l)`` as
                ``mask[:, None, None, :]``.
            key: Random key for dropout in training.

        Returns:
            Output ``(n, l, width)``.

        Raises:
            ArgumentError: `key` is missing for dropout in training.
        """
        rows, length, width = x.shape
        rate = self.dropout if self.training else 0.0
        if rate and key is None:
            raise ArgumentError(
                "attention with dropout needs a key in training: pass "
                "key=sl.Key(seed, epoch, batch), or call model.eval() first"
            )
        parts = self.inputs(x).reshape(rows, length, 3, self.heads, width // self.heads)
        q, k, v = apply("unstack", apply("permute_dims", parts, (2, 0, 3, 1, 4)))
        output = scaled_dot_product_attention(
            q, k, v, mask, rate, is_causal=self.causal, rng=key
        )
        joined = apply("permute_dims", output, (0, 2, 1, 3)).reshape(rows, length, width)
        return self.output(joined)


def rotary_embedding(x: Tensor, positions: object = None, base: float = 10000.0) -> Tensor:
    """Rotate pairs of features by angles that grow with the position (Su et al. 2021).

    As in the checkpoints of Llama and ESM-2, pair i consists of feature i of the first
    half and feature i of the second half. The angle is ``position * base ** (-2 i / d)``.

    Args:
        x: Queries or keys ``(..., l, d)`` with an even width d.
        positions: Position of each of the l rows: ``(l,)``, or an array that broadcasts
            to ``(..., l)``; default: 0 to l - 1.
        base: Base of the powers in the formula of the angle.

    Returns:
        A tensor with the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: The width of `x` is odd.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> turned = rotary_embedding(x).numpy().tolist()
        >>> [[round(number, 4) for number in row] for row in turned]
        [[1.0, 0.0], [0.5403, 0.8415]]
    """
    require_floats("rotary_embedding", x)
    width = x.shape[-1]
    if x.ndim < 2 or width % 2:  # noqa: PLR2004 - (l, d)
        raise ShapeError(
            f"rotary_embedding: expected x (..., l, d) with an even width d, got {x.shape}"
        )
    half = width // 2
    positions = make_range(x, x.shape[-2]) if positions is None else positions
    # Compute angles in at least float32, because half precision cannot represent large
    # position indices.
    kind = x.dtype if x.dtype.itemsize > 2 else "float32"  # noqa: PLR2004
    rates = as_operand(x, base ** (-np.arange(half) / half), kind)
    angles = apply("expand_dims", as_operand(x, positions, kind), axis=-1) * rates
    cos, sin = (apply(name, angles).astype(x.dtype) for name in ("cos", "sin"))
    one, other = x[..., :half], x[..., half:]
    return apply("concat", [one * cos - other * sin, other * cos + one * sin], axis=-1)
