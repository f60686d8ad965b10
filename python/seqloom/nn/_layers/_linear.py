"""Linear, Embedding and Dropout: layers that treat each vector or element alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError
from seqloom.nn import functional
from seqloom.nn._initialisers import FanIn, Normal
from seqloom.nn._module import Module
from seqloom.nn._parts import require_axis
from seqloom.nn._stored import Param, get_value

if TYPE_CHECKING:
    from seqloom._key import Key
    from seqloom.tensor import Tensor


class Linear(Module):
    """Linear layer: ``x @ weight.T + bias``.

    Args:
        in_features: Length of the last axis of the input.
        out_features: Length of the last axis of the output.
        bias: Whether to add a bias.

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
        """Maps ``(..., in)`` to ``(..., out)``."""
        width = self.weight.shape[1]
        require_axis(self, x, -1, width, form=f"(..., {width})")
        return functional.linear(x, self.weight.value, get_value(self.bias))


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


class Dropout(Module):
    """Sets random elements to zero in training (Srivastava et al. 2014).

    Args:
        p: Probability of zero, in [0, 1).

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
        """Drops elements of a tensor of any shape."""
        if not self.training or self.p == 0:
            return x
        if key is None:
            raise ArgumentError(
                "dropout in training needs a key: pass key=sl.Key(seed, epoch, batch) to "
                "the model, or call model.eval() first"
            )
        return functional.dropout(x, self.p, key)
