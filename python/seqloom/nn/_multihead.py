"""MultiHeadAttention, with optional rotary positions and packed sequences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, DTypeError, ShapeError
from seqloom.nn._attention import (
    attention_varlen,
    rotary_embedding,
    scaled_dot_product_attention,
)
from seqloom.nn._initialisers import FanIn, Fill
from seqloom.nn._linear import Linear, dropout, linear
from seqloom.nn._module import Module
from seqloom.nn._operands import as_operand, find_packing
from seqloom.nn._parameters import Param, get_value
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from seqloom._key import Key
    from seqloom.tensor import Tensor


_PACKED_AXES, _BATCHED_AXES = 2, 3  # axes of (total, embed_dim) and (n, l, embed_dim)


class MultiHeadAttention(Module):
    """Multi-head attention (Vaswani et al. 2017), like ``torch.nn.MultiheadAttention``.

    Sequences are batch first, ``(n, l, embed_dim)``. Parameters have the names and shapes
    of PyTorch, so a PyTorch state dict can be loaded. As in PyTorch, masks are true
    where a key is ignored; `SelfAttention` and
    `functional.scaled_dot_product_attention` use the opposite convention.

    Args:
        embed_dim: Number of features of a query and of the output.
        num_heads: Number of heads; must divide `embed_dim`.
        dropout: Probability of dropping an attention weight in training.
        bias: If True, add biases.
        kdim: Number of features of a key; default: `embed_dim`.
        vdim: Number of features of a value; default: `embed_dim`.
        rotary: Base of the rotary position embedding of queries and keys, such as
            10000.0; None to disable the embedding.

    Raises:
        ArgumentError: `embed_dim` is not a multiple of `num_heads`, or `dropout` is not in
            [0, 1).

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.MultiHeadAttention(8, 2).bind("numpy", sl.Key(0))
        >>> x = layer.backend.tensor([[[0.0] * 8] * 5])
        >>> out, weights = layer(x, x, x)
        >>> out.shape, weights.shape
        ((1, 5, 8), (1, 5, 5))
    """

    in_proj_weight: Param | None
    q_proj_weight: Param | None
    k_proj_weight: Param | None
    v_proj_weight: Param | None
    in_proj_bias: Param | None
    out_proj: Linear
    num_heads: int
    dropout: float
    rotary: float | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
        *,
        rotary: float | None = None,
    ) -> None:
        width = as_integer("embed_dim", embed_dim, least=1)
        heads = as_integer("num_heads", num_heads, least=1)
        if width % heads:
            raise ArgumentError(
                f"embed_dim must be a multiple of num_heads={heads}, got {width}"
            )
        if not 0 <= dropout < 1:
            raise ArgumentError(f"dropout must be in [0, 1), got {dropout}")
        keys = width if kdim is None else kdim
        values = width if vdim is None else vdim
        # One joint weight for queries, keys and values, or three weights if their
        # widths differ.
        self.in_proj_weight = self.q_proj_weight = None
        self.k_proj_weight = self.v_proj_weight = None
        if keys == values == width:
            self.in_proj_weight = _make_xavier_weight(3 * width, width)
        else:
            self.q_proj_weight = _make_xavier_weight(width, width)
            self.k_proj_weight = _make_xavier_weight(width, keys)
            self.v_proj_weight = _make_xavier_weight(width, values)
        self.in_proj_bias = Param((3 * width,), Fill(0.0)) if bias else None
        self.out_proj = Linear(width, width, bias=bias)
        if bias:
            self.out_proj.bias = Param((width,), Fill(0.0))
        self.num_heads, self.dropout, self.rotary = heads, dropout, rotary

    def __call__(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        key_padding_mask: Tensor | ArrayLike | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | ArrayLike | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
        *,
        cu_seqlens: Tensor | Sequence[int] | None = None,
        max_seqlen: int | None = None,
        rng: Key | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Average values by the similarity of queries and keys, separately for each head.

        Args:
            query: Queries ``(n, l, embed_dim)``; ``(l, embed_dim)`` for one sequence;
                ``(total, embed_dim)`` with `cu_seqlens`.
            key: Keys ``(n, s, kdim)``; default: `query`, which is self-attention.
            value: Values ``(n, s, vdim)``; default: `key`.
            key_padding_mask: Mask ``(n, s)``, boolean, true where a key is padding.
            need_weights: If True, return the attention weights. If False, attention is
                faster, because the weights are not stored.
            attn_mask: Mask ``(l, s)``, ``(n * num_heads, l, s)`` or
                ``(n, num_heads, l, s)``: booleans, true where a query ignores a key, or
                numbers to add to the scores.
            average_attn_weights: If True, average the returned weights over the heads.
            is_causal: If True, query i ignores the keys after i; `attn_mask` is not needed.
            cu_seqlens: Offsets of concatenated sequences ``(n + 1,)``: the start of each
                sequence, and the total length. Offsets are only accepted for
                self-attention without masks, dropout and returned weights.
            max_seqlen: Length of the longest concatenated sequence; required in a
                compiled step.
            rng: Random key for dropout in training.

        Returns:
            The output, with the axes of `query`, and the attention weights: ``(n, l,
            s)``, or ``(n,
                num_heads, l, s)`` for each head. The weights are None without
                `need_weights` or with `cu_seqlens`, and 0 for a query that ignores all
                keys.

        Raises:
            ArgumentError: `rng` is missing for dropout in training, or `cu_seqlens` is
                combined with masks, dropout or cross-attention.
            DTypeError: `key_padding_mask` is not boolean.
            ShapeError: The shapes of the arguments do not match.
        """
        key = query if key is None else key
        value = key if value is None else value
        rate = self.dropout if self.training else 0.0
        if rate and rng is None:
            raise ArgumentError(
                "attention with dropout needs a key in training: pass "
                "rng=sl.Key(seed, epoch, batch), or call model.eval() first"
            )
        if cu_seqlens is not None:
            plain = key is query is value and key_padding_mask is None and attn_mask is None
            _check_packed_arguments(plain=plain, rate=rate)
            return self._attend_packed(query, cu_seqlens, max_seqlen, is_causal), None
        options = (is_causal, need_weights, average_attn_weights)
        if query.ndim != _PACKED_AXES:
            masks = key_padding_mask, attn_mask
            return self._attend((query, key, value), masks, options, rate, rng)
        one = [apply("expand_dims", x, axis=0) for x in (query, key, value)]
        one = [one[0]] * 3 if key is query is value else one
        if key_padding_mask is not None:
            key_padding_mask = as_operand(query, key_padding_mask)[None]
        masks = key_padding_mask, attn_mask
        out, weights = self._attend((one[0], one[1], one[2]), masks, options, rate, rng)
        return out[0], None if weights is None else weights[0]

    def _attend(
        self,
        inputs: tuple[Tensor, Tensor, Tensor],
        masks: tuple[Any, Any],
        options: tuple[bool, bool, bool],
        rate: float,
        rng: Key | None,
    ) -> tuple[Tensor, Tensor | None]:
        """Compute attention within each padded sequence."""
        is_causal, need_weights, average = options
        rows, length = inputs[0].shape[:2]
        q, k, v = self._project_heads(*inputs)
        mask = join_masks(q, k, *masks)
        if need_weights:
            out, weights = attend_with_weights(q, k, v, mask, is_causal, rate, rng)
            weights = weights.mean(axis=1) if average else weights
        else:
            weights = None
            out = scaled_dot_product_attention(q, k, v, mask, rate, is_causal, rng=rng)
        out = apply("permute_dims", out, (0, 2, 1, 3))
        return self.out_proj(
            out.reshape(rows, length, out.shape[-2] * out.shape[-1])
        ), weights

    def _attend_packed(
        self,
        x: Tensor,
        cu_seqlens: Tensor | Sequence[int],
        max_seqlen: int | None,
        is_causal: bool,
    ) -> Tensor:
        """Compute attention within each of the concatenated sequences."""
        if x.ndim != _PACKED_AXES:
            raise ShapeError(
                "MultiHeadAttention: with cu_seqlens expected query (total, embed_dim), "
                f"got shape {x.shape}"
            )
        packing = find_packing(x, cu_seqlens, max_seqlen)
        q, k, v = self._map_inputs(x, x, x)
        if (base := self.rotary) is not None:
            positions = apply("expand_dims", packing.position, axis=1)
            q, k = (rotary_embedding(part, positions, base) for part in (q, k))
        out = attention_varlen(q, k, v, packing.offsets, packing.longest, is_causal)
        return self.out_proj(out.reshape(x.shape[0], out.shape[-2] * out.shape[-1]))

    def _project_heads(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """Return queries, keys and values for each head, ``(n, h, l, d)``."""
        if query.ndim != _BATCHED_AXES or key.shape[:2] != value.shape[:2]:
            raise ShapeError(
                "MultiHeadAttention: expected query (n, l, embed_dim), key (n, s, kdim) "
                f"and value (n, s, vdim), got {query.shape}, {key.shape} and {value.shape}"
            )
        inputs = self._map_inputs(query, key, value)
        parts = [apply("permute_dims", x, (0, 2, 1, 3)) for x in inputs]
        if self.rotary is None:
            return parts
        base = self.rotary
        return [rotary_embedding(x, base=base) for x in parts[:2]] + parts[2:]

    def _map_inputs(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """Project queries, keys and values, and split the last axis into heads."""
        bias, joined = get_value(self.in_proj_bias), get_value(self.in_proj_weight)
        width = self.out_proj.weight.shape[0]
        thirds = [slice(i * width, (i + 1) * width) for i in range(3)]
        if joined is not None and query is key is value:  # one matrix product
            out = linear(query, joined, bias)
            parts = [out[..., third] for third in thirds]
        else:
            separate = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
            weights = (
                [weight.value for weight in separate if weight is not None]
                if joined is None
                else [joined[third] for third in thirds]
            )
            biases = [None if bias is None else bias[third] for third in thirds]
            inputs = (query, key, value)
            parts = list(map(linear, inputs, weights, biases))
        heads = self.num_heads
        return [x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads) for x in parts]


def _make_xavier_weight(rows: int, columns: int) -> Param:
    """Create a weight with Xavier uniform initialisation (Glorot and Bengio 2010)."""
    return Param((rows, columns), FanIn((rows + columns) / 6))


def _check_packed_arguments(*, plain: bool, rate: float) -> None:
    """Raise if packed sequences are combined with masks, dropout or cross-attention."""
    if not plain:
        raise ArgumentError(
            "with cu_seqlens pass query alone, without key, value and masks: packed "
            "sequences support self-attention only, and have no padding"
        )
    if rate:
        raise ArgumentError(
            f"packed attention supports no dropout, got dropout={rate} in training; "
            "create the layer with dropout=0.0, or pad the sequences"
        )


def join_masks(
    q: Tensor,
    k: Tensor,
    padding: Tensor | ArrayLike | None,
    pairs: Tensor | ArrayLike | None,
) -> Tensor | None:
    """Combine both masks to a boolean mask, or to numbers to add to the scores."""
    # The arguments are PyTorch's masks, which are true where a key is ignored.
    allowed = None if padding is None else _convert_padding_mask(k, padding)
    if pairs is None:
        return allowed
    both = _convert_pair_mask(q, k, pairs)
    if both.dtype.kind == "b":
        both = apply("logical_not", both)
        return both if allowed is None else apply("logical_and", both, allowed)
    return both if allowed is None else apply("where", allowed, both, -math.inf)


def _convert_padding_mask(k: Tensor, padding: Tensor | ArrayLike | None) -> Tensor:
    """Return a mask of the keys ``(n, 1, 1, s)``, true where a key is not padding."""
    padding = as_operand(k, padding)
    if padding.dtype.kind != "b":
        raise DTypeError(
            f"key_padding_mask must be boolean, true at padding, got {padding.dtype}; "
            "for a mask that is 1 at real positions pass mask == 0"
        )
    if padding.shape != (k.shape[0], k.shape[2]):
        raise ShapeError(
            f"key_padding_mask must have shape {(k.shape[0], k.shape[2])}, one value for "
            f"each key, got {padding.shape}"
        )
    return apply("logical_not", padding)[:, None, None, :]


def _convert_pair_mask(q: Tensor, k: Tensor, pairs: Tensor | ArrayLike | None) -> Tensor:
    """Return a mask of query-key pairs, with axes for batch and heads."""
    pairs = as_operand(q, pairs)
    rows, heads, length = q.shape[:3]
    sizes = (length, k.shape[2])
    if pairs.shape == (rows * heads, *sizes):
        pairs = pairs.reshape(rows, heads, *sizes)
    if pairs.shape not in {sizes, (rows, heads, *sizes), (rows, 1, *sizes)}:
        raise ShapeError(
            f"attn_mask must have shape {sizes}, {(rows * heads, *sizes)} or "
            f"{(rows, heads, *sizes)}, got {pairs.shape}"
        )
    return pairs if pairs.dtype.kind == "b" else pairs.astype(q.dtype)


def attend_with_weights(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    rate: float,
    rng: Key | None,
) -> tuple[Tensor, Tensor]:
    """Return output and attention weights, both 0 for a query that attends to no key."""
    scores = apply("matmul", q * q.shape[-1] ** -0.5, apply("matrix_transpose", k))
    allowed = apply("ones_like", scores, dtype="bool")
    if is_causal:
        allowed = apply("tril", allowed)
    if mask is not None and mask.dtype.kind == "b":
        allowed = apply("logical_and", allowed, mask)
    elif mask is not None:
        scores = scores + mask
        allowed = apply("logical_and", allowed, scores > -math.inf)
    scores = apply("where", allowed, scores, -math.inf)
    # The softmax of a row of -inf is NaN, and so is its gradient. Set the scores of a
    # fully masked row to 0, and its weights to 0 after the softmax.
    some = apply("any", allowed, axis=-1, keepdims=True)
    weights = apply("softmax", apply("where", some, scores, 0.0))
    weights = apply("where", apply("logical_and", allowed, some), weights, 0.0)
    if rate:
        weights = dropout(weights, rate, rng)
    return apply("matmul", weights, v), weights
