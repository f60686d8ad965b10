"""The parts of ESM-2: a layer, the head that predicts tokens, and rotary rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.nn import Fill, LayerNorm, Linear, Module, Param, functional as F
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from seqloom.models._esm2_fields import ESM2Fields
    from seqloom.models._esm2_layout import Layout


@dataclass(frozen=True, slots=True)
class RotaryRates:
    """Initialises the angle by which each pair of numbers turns from row to row."""

    base: float

    def __call__(self, backend: Any, key: Any, shape: tuple[int, ...]) -> Any:  # noqa: ARG002  # nothing is drawn
        rates = self.base ** (-np.arange(shape[0]) / shape[0])
        return backend.asarray(rates.astype(np.float32))


class ESM2Layer(Module):
    """A layer: attention, then a network of two layers, each after a layer norm."""

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
        """Computes the next representation of each row, ``(rows, width)``."""
        attended = layout.attend(*self.project(x, layout))
        x = x + self.out(attended.reshape(x.shape))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))

    def project(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor, Tensor]:
        """Returns turned queries and keys, and values, each ``(rows, heads, d)``."""
        joined = self.qkv(self.norm1(x)).reshape(x.shape[0], 3, self.heads, -1)
        # To scale queries before they turn, as ESM-2 does, or their scores, is the same.
        turned = _turn(joined[:, :2], layout)
        return turned[:, 0], turned[:, 1], joined[:, 2]


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
        """Returns a number for each token of the vocabulary, ``(..., vocabulary)``."""
        x = self.norm(F.gelu(self.dense(x)))
        return F.linear(x, embeddings, self.bias.value)


def _turn(x: Tensor, layout: Layout) -> Tensor:
    """Turns pairs of numbers of ``(rows, 2, heads, d)``, in float32 at least."""
    dtype, half = x.dtype, x.shape[-1] // 2
    x = x.astype(layout.cosine.dtype)
    cosine, sine = layout.cosine[:, None, None], layout.sine[:, None, None]
    first, second = x[..., :half], x[..., half:]
    turned = [first * cosine - second * sine, second * cosine + first * sine]
    return apply("concat", turned, axis=-1).astype(dtype)
