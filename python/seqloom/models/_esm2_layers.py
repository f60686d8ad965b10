"""The parts of ESM-2: a layer, the head that predicts tokens, and rotary rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom.nn import Fill, Int8Linear, LayerNorm, Linear, Module, Param, functional as F
from seqloom.nn._stored import get_value
from seqloom.tensor import Tensor, apply
from seqloom.tensor._autocast import casting

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
        """Computes the next representation of each row, ``(rows, width)``."""
        return self.finish(x, layout.attend(*self.project(x, layout)))

    def project(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor, Tensor]:
        """Returns turned queries and keys, and values, each ``(rows, heads, d)``."""
        # To scale queries before they turn, as ESM-2 does, or their scores, is the same.
        normal, angles = self.norm1(x), (layout.cosine, layout.sine)
        if joint := _find_joint(self.qkv):
            layer = _arrays(self.qkv)
            return apply(joint.rotary, normal, *layer, *angles, heads=self.heads)
        joined = self.qkv(normal).reshape(x.shape[0], 3, self.heads, -1)
        turned = _turn(joined[:, :2], layout)
        return turned[:, 0], turned[:, 1], joined[:, 2]

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Adds what was attended to, and what the network makes of the sum."""
        attended = attended.reshape(x.shape)
        joint = _find_joint(self.out, self.fc1, self.fc2)
        if joint is None:
            x = x + self.out(attended)
            return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))
        x = apply(joint.linear, attended, *_arrays(self.out), x)
        norm, layers = _arrays(self.norm2), (*_arrays(self.fc1), *_arrays(self.fc2))
        return apply(joint.feed_forward, x, *norm, *layers, eps=self.norm2.eps)


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
    """Returns the operations for layers of one kind; None where each is called itself."""
    kinds: set[type[Module]] = {type(layer) for layer in layers}
    if casting.get() is not None or len(kinds) > 1:
        return None
    return _JOINT.get(kinds.pop())


def _arrays(layer: Linear | LayerNorm | Int8Linear) -> tuple[Tensor | None, ...]:
    """Returns a layer's arrays in the order of the operations."""
    if isinstance(layer, Int8Linear):
        return layer.arrays()
    return get_value(layer.weight), get_value(layer.bias)


def _turn(x: Tensor, layout: Layout) -> Tensor:
    """Turns pairs of numbers of ``(rows, 2, heads, d)``, in float32 at least."""
    dtype, half = x.dtype, x.shape[-1] // 2
    x = x.astype(layout.cosine.dtype)
    cosine, sine = layout.cosine[:, None, None], layout.sine[:, None, None]
    first, second = x[..., :half], x[..., half:]
    turned = [first * cosine - second * sine, second * cosine + first * sine]
    return apply("concat", turned, axis=-1).astype(dtype)
