"""The parts of ESM-2: rows of a batch, layers, heads, and contacts from their attention."""

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
    require_below,
)
from seqloom.nn._stored import get_value
from seqloom.tensor import Tensor, apply
from seqloom.tensor._autocast import autocast_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.models._esm2_config import ESM2Fields

# The share of embeddings that were no mask in ESM-2's training.
UNMASKED_SHARE = 1 - 0.15 * 0.8
_PADDED = 2  # axes of (n, l)


@dataclass(frozen=True, slots=True)
class RotaryRates:
    """Initialises the angle by which each pair of numbers turns from row to row."""

    base: float

    def __call__(self, backend: Any, key: Any, shape: tuple[int, ...]) -> Any:  # noqa: ARG002  # nothing is drawn
        rates = self.base ** (-np.arange(shape[0]) / shape[0])
        return backend.asarray(rates.astype(np.float32))


class ESM2Layer(Module):
    """A layer: attention, then a network of two layers, each after a layer norm.

    Its linear layers are operations of the backend that join what stands before and after
    them. Where one of them was replaced, by an adapter for example, and within `autocast`,
    each is called by itself.
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

    def __call__(self, x: Tensor, layout: Layout) -> Tensor:
        """Compute the next representation of each row, ``(rows, width)``."""
        return self.finish(x, layout.attend(*self.project(x, layout)))

    def project(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor, Tensor]:
        """Return turned queries and keys, and values, each ``(rows, heads, d)``."""
        # To scale queries before they turn, as ESM-2 does, or their scores, is the same.
        normal, angles = self.norm1(x), (layout.cosine, layout.sine)
        if joint := _find_joint(self.qkv):
            layer = _arrays(self.qkv)
            return apply(joint.rotary, normal, *layer, *angles, heads=self.heads)
        joined = self.qkv(normal).reshape(x.shape[0], 3, self.heads, -1)
        turned = _rotate(joined[:, :2], layout)
        return turned[:, 0], turned[:, 1], joined[:, 2]

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Add what was attended to, and what the network makes of the sum."""
        attended = attended.reshape(x.shape)
        joint = _find_joint(self.out, self.fc1, self.fc2)
        if joint is None:
            x = x + self.out(attended)
            return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))
        x = apply(joint.linear, attended, *_arrays(self.out), x)
        norm, layers = _arrays(self.norm2), (*_arrays(self.fc1), *_arrays(self.fc2))
        return apply(joint.feed_forward, x, *norm, *layers, eps=self.norm2.eps)


def number_layers(layers: Sequence[int], last: int) -> list[int]:
    """Return the numbers of layers from 0; refuses those that do not exist."""
    if not layers or not all(-last - 1 <= layer <= last for layer in layers):
        raise ArgumentError(
            f"layers must hold numbers from 0 (the embeddings) to {last} (the last "
            f"layer), or from -1 back to {-last - 1}, got {list(layers)}"
        )
    return [layer % (last + 1) for layer in layers]


class ESM2TokenHead(Module):
    """Prepares hidden states for the product with the embeddings, which gives logits."""

    dense: Linear
    norm: LayerNorm
    bias: Param

    def __init__(self, config: ESM2Fields) -> None:
        self.dense = Linear(config.width, config.width)
        self.norm = LayerNorm(config.width, config.eps)
        self.bias = Param((config.vocabulary,), Fill(0.0))

    def __call__(self, x: Tensor, embeddings: Tensor) -> Tensor:
        """Return a number for each token of the vocabulary, ``(..., vocabulary)``."""
        joint = _find_joint(self.dense)
        if joint is None:
            x = self.norm(F.gelu(self.dense(x)))
            return F.linear(x, embeddings, self.bias.value)
        x = self.norm(F.gelu(apply(joint.linear, x, *_arrays(self.dense))))
        return apply("linear_by_row", x, embeddings, self.bias.value)


class _Joint(NamedTuple):
    """The operations that join a kind of linear layers with what stands around them."""

    linear: str
    rotary: str
    feed_forward: str


_JOINT: dict[type[Module], _Joint] = {
    Linear: _Joint("linear_by_row", "rotary_linear", "feed_forward"),
    Int8Linear: _Joint("linear_int8", "rotary_linear_int8", "feed_forward_int8"),
}


def _find_joint(*layers: Module) -> _Joint | None:
    """Return the operations for layers of one kind; None where each is called itself."""
    kinds: set[type[Module]] = {type(layer) for layer in layers}
    if autocast_state.get() is not None or len(kinds) > 1:
        return None
    return _JOINT.get(kinds.pop())


def _arrays(layer: Linear | LayerNorm | Int8Linear) -> tuple[Tensor | None, ...]:
    """Return a layer's arrays in the order of the operations."""
    if isinstance(layer, Int8Linear):
        return layer.arrays()
    return get_value(layer.weight), get_value(layer.bias)


def _rotate(x: Tensor, layout: Layout) -> Tensor:
    """Turn pairs of numbers of ``(rows, 2, heads, d)``, in float32 at least."""
    dtype, half = x.dtype, x.shape[-1] // 2
    x = x.astype(layout.cosine.dtype)
    cosine, sine = layout.cosine[:, None, None], layout.sine[:, None, None]
    first, second = x[..., :half], x[..., half:]
    turned = [first * cosine - second * sine, second * cosine + first * sine]
    return apply("concat", turned, axis=-1).astype(dtype)


class Layout(NamedTuple):
    """The rows of a batch: those of all its sequences."""

    shape: tuple[int, ...]  # of the token ids as they were given
    tokens: Tensor  # (rows,)
    cosine: Tensor  # (rows, d / 2), of the angles of the rotary positions
    sine: Tensor
    factor: Tensor | None  # (rows, 1) of the embeddings; None: 1
    attend: Callable[[Tensor, Tensor, Tensor], Tensor]  # each (rows, heads, d)
    find_bounds: Callable[[], list[tuple[int, int]]]  # the rows of each sequence


class Given(NamedTuple):
    """Sequences as a caller gives them."""

    input_ids: Any
    cu_seqlens: Any = None
    max_seqlen: int | None = None
    mask: Any = None


def lay_out(config: ESM2Fields, rates: Tensor, given: Given) -> Layout:
    """Describe sequences end to end, or padded ones."""
    tokens = as_operand(rates, given.input_ids)
    require_below("input_ids", tokens, config.vocabulary)
    if tokens.ndim == _PADDED and given.cu_seqlens is None:
        return _lay_padded(config, rates, given._replace(input_ids=tokens))
    if tokens.ndim != 1:
        raise ShapeError(
            "input_ids must be (total,) with cu_seqlens, (l,) for one sequence, or (n, l) "
            f"with padding and without cu_seqlens, got shape {tokens.shape}"
        )
    if given.mask is not None:
        raise ArgumentError("mask is for padded input_ids (n, l); packed ones have none")
    if given.cu_seqlens is None:
        given = given._replace(cu_seqlens=np.array([0, tokens.shape[0]], "int32"))
    return _lay_packed(config, rates, given._replace(input_ids=tokens))


def _lay_packed(config: ESM2Fields, rates: Tensor, given: Given) -> Layout:
    """Describe sequences that lie end to end."""
    tokens = given.input_ids
    packing = find_packing(tokens, given.cu_seqlens, given.max_seqlen)
    factor = None
    if config.token_dropout:
        hidden = apply("equal", tokens, config.mask_token)
        factor = _factor_packed(rates, hidden, packing=packing)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.attention_varlen(q, k, v, packing.offsets, packing.longest)

    def find_bounds() -> list[tuple[int, int]]:
        return list(pairwise(packing.offsets.numpy().tolist()))

    angles = _turn(rates, packing.position)
    return Layout(tokens.shape, tokens, *angles, factor, attend, find_bounds)


def _factor_packed(rates: Tensor, hidden: Tensor, *, packing: Packing) -> Tensor:
    """Return the factor of each row's embedding, ``(rows, 1)``."""
    sums = apply("cumulative_sum", hidden.astype("int32"), axis=0, include_initial=True)
    sums = apply("take", sums, packing.offsets, axis=0)
    lengths = packing.offsets[1:] - packing.offsets[:-1]
    scales = _scale(rates, sums[1:] - sums[:-1], length=lengths)
    scales = apply("take", scales, packing.owner, axis=0)
    return _column(apply("where", hidden, 0.0, scales))


def _lay_padded(config: ESM2Fields, rates: Tensor, given: Given) -> Layout:
    """Describe padded sequences, whose padding nobody attends to."""
    tokens = given.input_ids
    rows, length = tokens.shape
    real = _find_real(config, tokens, given.mask)
    factor = real.astype(rates.dtype)
    if config.token_dropout:
        hidden = apply("logical_and", real, apply("equal", tokens, config.mask_token))
        factor = _factor_padded(rates, hidden, real=real)

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

    angles = _turn(rates, make_range(tokens, rows * length) % max(length, 1))
    flat = tokens.reshape(-1)
    return Layout(tokens.shape, flat, *angles, factor.reshape(-1, 1), attend, find_bounds)


def _factor_padded(rates: Tensor, hidden: Tensor, *, real: Tensor) -> Tensor:
    """Return the factor of each position's embedding, 0 at padding, ``(n, l)``."""
    count, length = (x.astype("int32").sum(axis=1) for x in (hidden, real))
    scales = real.astype(rates.dtype) * _column(_scale(rates, count, length=length))
    return apply("where", hidden, 0.0, scales)


def _find_real(config: ESM2Fields, tokens: Tensor, mask: Any) -> Tensor:
    """Return true where a position is no padding."""
    if mask is None:
        return apply("not_equal", tokens, config.pad_token)
    real = as_operand(tokens, mask)
    if real.shape != tokens.shape:
        raise ShapeError(
            f"mask must have the shape of input_ids, {tokens.shape}, got {real.shape}"
        )
    return real if real.dtype.kind == "b" else apply("not_equal", real, 0)


def _scale(rates: Tensor, hidden: Tensor, *, length: Tensor) -> Tensor:
    """Return the factor of the embeddings of each sequence that are no mask."""
    kept = apply("maximum", length - hidden, 1)
    return length.astype(rates.dtype) * UNMASKED_SHARE / kept.astype(rates.dtype)


def _turn(rates: Tensor, position: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosines and sines of the angles at each row's position."""
    angles = _column(position.astype(rates.dtype)) * rates
    return apply("cos", angles), apply("sin", angles)


def _column(x: Tensor) -> Tensor:
    """Add an axis at the end."""
    return apply("expand_dims", x, axis=-1)


def find_contacts(
    layers: list[ESM2Layer], head: Linear, x: Tensor, *, layout: Layout
) -> list[Tensor]:
    """Return the probability of contact of each pair of residues of each sequence.

    The head is a logistic regression over the maps of all heads of all layers. Its sum is
    taken layer by layer, so that the maps of one layer are in memory at once.
    """
    bounds = layout.find_bounds()
    sums: list[Tensor | None] = [None] * len(bounds)
    weights = head.weight.value.reshape(len(layers), -1)
    for number, layer in enumerate(layers):
        q, k, v = layer.project(x, layout)
        for at, (start, stop) in enumerate(bounds):
            part = _weigh(q[start:stop], k[start:stop], weights[number])
            known = sums[at]
            sums[at] = part if known is None else known + part
        x = layer.finish(x, layout.attend(q, k, v))
    bias = 0.0 if head.bias is None else head.bias.value
    return [F.sigmoid(total + bias) for total in sums if total is not None]


def _weigh(q: Tensor, k: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted sum of the corrected maps of one layer, ``(l - 2, l - 2)``."""
    # (h, l - 2, l - 2): attention without <cls> and <eos>, in float32 at least.
    dtype = q.dtype if q.dtype.itemsize > 2 else "float32"  # noqa: PLR2004 - half precision
    width = q.shape[-1]
    q, k = (apply("permute_dims", x.astype(dtype), (1, 0, 2)) for x in (q, k))
    scores = apply("matmul", q * width**-0.5, apply("matrix_transpose", k))
    maps = F.softmax(scores)[:, 1:-1, 1:-1]
    maps = maps + apply("matrix_transpose", maps)
    rows = maps.sum(axis=2)
    # Average product correction: minus what both rows explain.
    by_head, sums = weights.astype(maps.dtype), rows.sum(axis=1)
    sums = apply("where", sums > 0, sums, 1.0)  # of maps without residues
    total = apply("expand_dims", by_head / sums, axis=1)
    expected = apply("matmul", apply("matrix_transpose", rows), rows * total)
    return apply("tensordot", by_head, maps, axes=1) - expected
