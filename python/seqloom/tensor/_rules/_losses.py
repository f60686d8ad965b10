"""Losses, and what depends on a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._rules import _keep as keep
from seqloom.tensor._rules._rule import Parts, Rule

if TYPE_CHECKING:
    from seqloom.tensor._defaults import Array, ArrayFunctions


def _keep_loss(args: keep.Args, out: Any, _needs: Any, _options: Any) -> Any:
    """The inputs, and the derivative that a fused kernel has written already."""
    logits, labels, *weights = args
    return logits, labels, weights[0] if weights else None, out[1]


def _cross_entropy(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    return (b.cross_entropy_grad(grad, *saved),)


def _dropout(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    """The same mask, made again from the key."""
    return (b.dropout(grad, *saved),)


RULES: dict[str, Rule] = {
    "cross_entropy": Rule(_keep_loss, _cross_entropy),
    "dropout": Rule(keep.further, _dropout),
}
