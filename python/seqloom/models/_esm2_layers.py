"""Components of ESM-2: packed and padded batches, layers, heads, and contacts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn import Fill, Int8Linear, LayerNorm, Linear, Module, Param, functional as F
from seqloom.nn._operands import (
    Packing,
    as_operand,
    find_packing,
    make_range,
    require_index,
)
from seqloom.nn._parameters import get_value
from seqloom.tensor import Tensor, apply
from seqloom.tensor._autocast import autocast_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.models._esm2_config import ESM2Fields

# Fraction of embeddings that were not masked in ESM-2's training.
UNMASKED_FRACTION = 1 - 0.15 * 0.8
_PADDED_AXES = 2  # number of axes of (n, l)


@dataclass(frozen=True, slots=True)
class RotaryRates:
    """Initialiser of the angle by which each feature pair rotates per position."""

    base: float

    def __call__(self, backend: Any, key: Any, shape: tuple[int, ...]) -> Any:  # noqa: ARG002  # no random numbers
        rates = self.base ** (-np.arange(shape[0]) / shape[0])
        return backend.asarray(rates.astype(np.float32))


class ESM2Layer(Module):
    """One transformer layer: self-attention and a feed-forward network, both pre-norm.

    The backend fuses each linear layer with the neighbouring steps. If a linear layer
    was replaced, for example by an adapter, or within `autocast`, the layers are called
    separately instead.
    """

    norm1: LayerNorm
    qkv: Linear
    out: Linear
    norm2: LayerNorm
    fc1: Linear
    fc2: Linear
    heads: int

    def __init__(self, config: ESM2Fields) -> None:
        width, inner = config.width, config.inner_width
        self.norm1, self.norm2 = LayerNorm(width, config.eps), LayerNorm(width, config.eps)
        self.qkv, self.out = Linear(width, 3 * width), Linear(width, width)
        self.fc1, self.fc2 = Linear(width, inner), Linear(inner, width)
        self.heads = config.heads

    def __call__(self, x: Tensor, layout: ESM2Layout) -> Tensor:
        """Compute the output of the layer for each row, ``(rows, width)``."""
        return self.finish(x, layout.attend(*self.project(x, layout)))

    def project(self, x: Tensor, layout: ESM2Layout) -> tuple[Tensor, Tensor, Tensor]:
        """Return rotated queries and keys, and values, each ``(rows, heads, d)``."""
        # Scaling the scores is equivalent to scaling queries before rotation, as in
        # ESM-2.
        normal, angles = self.norm1(x), (layout.cosine, layout.sine)
        if fused := _find_fused(self.qkv):
            layer = _list_layer_arrays(self.qkv)
            return apply(fused.rotary, normal, *layer, *angles, heads=self.heads)
        joined = self.qkv(normal).reshape(x.shape[0], 3, self.heads, -1)
        turned = _rotate_features(joined[:, :2], layout)
        return turned[:, 0], turned[:, 1], joined[:, 2]

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Add the attention output and the output of the feed-forward network."""
        attended = attended.reshape(x.shape)
        fused = _find_fused(self.out, self.fc1, self.fc2)
        if fused is None:
            x = x + self.out(attended)
            return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))
        x = apply(fused.linear, attended, *_list_layer_arrays(self.out), x)
        norm = _list_layer_arrays(self.norm2)
        layers = *_list_layer_arrays(self.fc1), *_list_layer_arrays(self.fc2)
        return apply(fused.feed_forward, x, *norm, *layers, eps=self.norm2.eps)


def layer_indices(layers: Sequence[int], last: int) -> list[int]:
    """Return non-negative layer indices; raise if a layer does not exist."""
    if not layers or not all(-last - 1 <= layer <= last for layer in layers):
        raise ArgumentError(
            f"layers must contain indices from 0 (the embeddings) to {last} (the last "
            f"layer), or from -1 back to {-last - 1}, got {list(layers)}"
        )
    return [layer % (last + 1) for layer in layers]


class ESM2TokenHead(Module):
    """Head that computes token logits, with the token embeddings as output weights."""

    dense: Linear
    norm: LayerNorm
    bias: Param

    def __init__(self, config: ESM2Fields) -> None:
        self.dense = Linear(config.width, config.width)
        self.norm = LayerNorm(config.width, config.eps)
        self.bias = Param((config.vocabulary,), Fill(0.0))

    def __call__(self, x: Tensor, embeddings: Tensor) -> Tensor:
        """Return the logits ``(..., vocabulary)``."""
        fused = _find_fused(self.dense)
        if fused is None:
            x = self.norm(F.gelu(self.dense(x)))
            return F.linear(x, embeddings, self.bias.value)
        x = self.norm(F.gelu(apply(fused.linear, x, *_list_layer_arrays(self.dense))))
        return apply("linear_by_row", x, embeddings, self.bias.value)


class _FusedOperations(NamedTuple):
    """Names of the fused operations for a class of linear layers."""

    linear: str
    rotary: str
    feed_forward: str


_FUSED_OPERATIONS: dict[type[Module], _FusedOperations] = {
    Linear: _FusedOperations("linear_by_row", "rotary_linear", "feed_forward"),
    Int8Linear: _FusedOperations("linear_int8", "rotary_linear_int8", "feed_forward_int8"),
}


def _find_fused(*layers: Module) -> _FusedOperations | None:
    """Return the fused operations for linear layers of one class, or None."""
    kinds: set[type[Module]] = {type(layer) for layer in layers}
    if autocast_state.get() is not None or len(kinds) > 1:
        return None
    return _FUSED_OPERATIONS.get(kinds.pop())


def _list_layer_arrays(layer: Linear | LayerNorm | Int8Linear) -> tuple[Tensor | None, ...]:
    """Return the arrays of a layer in the order of the operation's arguments."""
    if isinstance(layer, Int8Linear):
        return layer.arrays()
    return get_value(layer.weight), get_value(layer.bias)


def _rotate_features(x: Tensor, layout: ESM2Layout) -> Tensor:
    """Rotate feature pairs of ``(rows, 2, heads, d)``, in float32 or wider."""
    dtype, half = x.dtype, x.shape[-1] // 2
    x = x.astype(layout.cosine.dtype)
    cosine, sine = layout.cosine[:, None, None], layout.sine[:, None, None]
    first, second = x[..., :half], x[..., half:]
    turned = [first * cosine - second * sine, second * cosine + first * sine]
    return apply("concat", turned, axis=-1).astype(dtype)


class ESM2Layout(NamedTuple):
    """Positions of all sequences of a batch, one row for each position."""

    shape: tuple[int, ...]  # shape of the original token ids
    tokens: Tensor  # shape (rows,)
    cosine: Tensor  # shape (rows, d / 2), cosine and sine of the rotation angles
    sine: Tensor
    factor: Tensor | None  # (rows, 1), factor of the embeddings; None if 1
    attend: Callable[[Tensor, Tensor, Tensor], Tensor]  # called with (rows, heads, d)
    find_bounds: Callable[[], list[tuple[int, int]]]  # row range of each sequence


class ESM2Inputs(NamedTuple):
    """Arguments of a call of the network."""

    input_ids: Any
    cu_seqlens: Any = None
    max_seqlen: int | None = None
    mask: Any = None


def make_layout(config: ESM2Fields, rates: Tensor, given: ESM2Inputs) -> ESM2Layout:
    """Arrange packed or padded sequences as rows, one row for each position."""
    tokens = as_operand(rates, given.input_ids)
    require_index("input_ids", tokens, config.vocabulary)
    if tokens.ndim == _PADDED_AXES and given.cu_seqlens is None:
        return _make_padded_layout(config, rates, given._replace(input_ids=tokens))
    if tokens.ndim != 1:
        raise ShapeError(
            "input_ids must be (total,) with cu_seqlens, (l,) for one sequence, or (n, l) "
            f"with padding and without cu_seqlens, got shape {tokens.shape}"
        )
    if given.mask is not None:
        raise ArgumentError("mask is for padded input_ids (n, l); omit it otherwise")
    if given.cu_seqlens is None:
        given = given._replace(cu_seqlens=np.array([0, tokens.shape[0]], "int32"))
    return _make_packed_layout(config, rates, given._replace(input_ids=tokens))


def _make_packed_layout(config: ESM2Fields, rates: Tensor, given: ESM2Inputs) -> ESM2Layout:
    """Arrange concatenated sequences as rows, one row for each position."""
    tokens = given.input_ids
    packing = find_packing(tokens, given.cu_seqlens, given.max_seqlen)
    factor = None
    if config.token_dropout:
        hidden = apply("equal", tokens, config.mask_token)
        factor = _find_packed_factors(rates, hidden, packing=packing)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.attention_varlen(q, k, v, packing.offsets, packing.longest)

    def find_bounds() -> list[tuple[int, int]]:
        return list(pairwise(packing.offsets.numpy().tolist()))

    angles = _compute_angles(rates, packing.position)
    return ESM2Layout(tokens.shape, tokens, *angles, factor, attend, find_bounds)


def _find_packed_factors(rates: Tensor, hidden: Tensor, *, packing: Packing) -> Tensor:
    """Return the factor of each row's embedding, ``(rows, 1)``."""
    sums = apply("cumulative_sum", hidden.astype("int32"), axis=0, include_initial=True)
    sums = apply("take", sums, packing.offsets, axis=0)
    lengths = packing.offsets[1:] - packing.offsets[:-1]
    scales = _scale(rates, sums[1:] - sums[:-1], length=lengths)
    scales = apply("take", scales, packing.seq_id, axis=0)
    return _add_last_axis(apply("where", hidden, 0.0, scales))


def _make_padded_layout(config: ESM2Fields, rates: Tensor, given: ESM2Inputs) -> ESM2Layout:
    """Arrange padded sequences as rows; padding is masked in the attention."""
    tokens = given.input_ids
    rows, length = tokens.shape
    real = _find_real_positions(config, tokens, given.mask)
    factor = real.astype(rates.dtype)
    if config.token_dropout:
        hidden = apply("logical_and", real, apply("equal", tokens, config.mask_token))
        factor = _find_padded_factors(rates, hidden, real=real)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        # (n * l, h, d) -> (n, h, l, d)
        padded = (x.reshape(rows, length, *x.shape[1:]) for x in (q, k, v))
        q, k, v = (apply("permute_dims", x, (0, 2, 1, 3)) for x in padded)
        out = F.scaled_dot_product_attention(q, k, v, real[:, None, None, :])
        return apply("permute_dims", out, (0, 2, 1, 3))

    def find_bounds() -> list[tuple[int, int]]:
        starts = range(0, rows * length, max(length, 1))
        counts = real.numpy().sum(axis=1).tolist()
        return [(at, at + count) for at, count in zip(starts, counts, strict=True)]

    angles = _compute_angles(rates, make_range(tokens, rows * length) % max(length, 1))
    flat = tokens.reshape(-1)
    return ESM2Layout(
        tokens.shape, flat, *angles, factor.reshape(-1, 1), attend, find_bounds
    )


def _find_padded_factors(rates: Tensor, hidden: Tensor, *, real: Tensor) -> Tensor:
    """Return the factor of each position's embedding, 0 at padding, ``(n, l)``."""
    count, length = (x.astype("int32").sum(axis=1) for x in (hidden, real))
    scales = real.astype(rates.dtype) * _add_last_axis(_scale(rates, count, length=length))
    return apply("where", hidden, 0.0, scales)


def _find_real_positions(config: ESM2Fields, tokens: Tensor, mask: Any) -> Tensor:
    """Return a mask that is true where a position is not padding."""
    if mask is None:
        return apply("not_equal", tokens, config.pad_token)
    real = as_operand(tokens, mask)
    if real.shape != tokens.shape:
        raise ShapeError(
            f"mask must have the shape of input_ids, {tokens.shape}, got {real.shape}"
        )
    return real if real.dtype.kind == "b" else apply("not_equal", real, 0)


def _scale(rates: Tensor, hidden: Tensor, *, length: Tensor) -> Tensor:
    """Return the factor of the unmasked embeddings of each sequence."""
    kept = apply("maximum", length - hidden, 1)
    return length.astype(rates.dtype) * UNMASKED_FRACTION / kept.astype(rates.dtype)


def _compute_angles(rates: Tensor, position: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosine and sine of the rotation angles at each row's position."""
    angles = _add_last_axis(position.astype(rates.dtype)) * rates
    return apply("cos", angles), apply("sin", angles)


def _add_last_axis(x: Tensor) -> Tensor:
    """Add an axis at the end."""
    return apply("expand_dims", x, axis=-1)


def find_contacts(
    layers: list[ESM2Layer], head: Linear, x: Tensor, *, layout: ESM2Layout
) -> list[Tensor]:
    """Return the contact probability of each pair of residues of each sequence.

    The head is a logistic regression over the attention maps of all heads and layers.
    The maps are summed layer by layer, so memory contains the maps of one layer only.
    """
    bounds = layout.find_bounds()
    sums: list[Tensor | None] = [None] * len(bounds)
    weights = head.weight.value.reshape(len(layers), -1)
    for number, layer in enumerate(layers):
        q, k, v = layer.project(x, layout)
        for at, (start, stop) in enumerate(bounds):
            part = _sum_attention_maps(q[start:stop], k[start:stop], weights[number])
            known = sums[at]
            sums[at] = part if known is None else known + part
        x = layer.finish(x, layout.attend(q, k, v))
    bias = 0.0 if head.bias is None else head.bias.value
    return [F.sigmoid(total + bias) for total in sums if total is not None]


def _sum_attention_maps(q: Tensor, k: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted sum of corrected maps of a layer, ``(l - 2, l - 2)``."""
    # Attention maps without <cls> and <eos>, ``(h, l - 2, l - 2)``, in float32 or
    # wider.
    dtype = q.dtype if q.dtype.itemsize > 2 else "float32"  # noqa: PLR2004 - half precision
    width = q.shape[-1]
    q, k = (apply("permute_dims", x.astype(dtype), (1, 0, 2)) for x in (q, k))
    scores = apply("matmul", q * width**-0.5, apply("matrix_transpose", k))
    maps = F.softmax(scores)[:, 1:-1, 1:-1]
    maps = maps + apply("matrix_transpose", maps)
    rows = maps.sum(axis=2)
    # Average product correction: subtract the product of the row sums.
    by_head, sums = weights.astype(maps.dtype), rows.sum(axis=1)
    sums = apply("where", sums > 0, sums, 1.0)  # avoids 0 / 0 without residues
    total = apply("expand_dims", by_head / sums, axis=1)
    expected = apply("matmul", apply("matrix_transpose", rows), rows * total)
    return apply("tensordot", by_head, maps, axes=1) - expected
