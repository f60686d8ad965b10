"""Embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.nn import functional
from seqloom.nn._initialisers import Normal
from seqloom.nn._module import Module
from seqloom.nn._stored import Param

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


class Embedding(Module):
    """Looks up a learned vector for each integer.

    Args:
        num_embeddings: Number of vectors.
        embedding_dim: Length of a vector.
        padding_idx: Integer whose vector is not learned.

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
        """Converts integers ``(...)`` to vectors ``(..., embedding_dim)``."""
        return functional.embedding(x, self.weight.value, self.padding_idx)
