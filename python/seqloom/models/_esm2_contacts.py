"""Contacts of residues, from the attention of all layers of ESM-2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.nn import functional as F
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from seqloom.models._esm2_layers import ESM2Layer
    from seqloom.models._esm2_layout import Layout
    from seqloom.nn import Linear


def find_contacts(
    layers: list[ESM2Layer], head: Linear, x: Tensor, *, layout: Layout
) -> list[Tensor]:
    """Returns the probability of contact of each pair of residues of each sequence.

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
    """Returns the weighted sum of the corrected maps of one layer, ``(l - 2, l - 2)``."""
    maps = _attend(q, k)[:, 1:-1, 1:-1]  # (h, l - 2, l - 2), without <cls> and <eos>
    maps = maps + apply("matrix_transpose", maps)
    rows = maps.sum(axis=2)
    # Average product correction: minus what both rows explain.
    by_head = weights.astype(maps.dtype)
    total = apply("expand_dims", by_head / _nonzero(rows.sum(axis=1)), axis=1)
    expected = apply("matmul", apply("matrix_transpose", rows), rows * total)
    return apply("tensordot", by_head, maps, axes=1) - expected


def _attend(q: Tensor, k: Tensor) -> Tensor:
    """Returns the weights of attention of each head, in float32 at least."""
    width = q.shape[-1]
    dtype = q.dtype if q.dtype.itemsize > 2 else "float32"  # noqa: PLR2004 - half precision
    q, k = (apply("permute_dims", x.astype(dtype), (1, 0, 2)) for x in (q, k))
    return F.softmax(apply("matmul", q * width**-0.5, apply("matrix_transpose", k)))


def _nonzero(x: Tensor) -> Tensor:
    """Replaces zeros, the sums of maps without residues."""
    return apply("where", x > 0, x, 1.0)
