"""Self-attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError
from seqloom.nn import functional
from seqloom.nn._layers._linear import Linear
from seqloom.nn._module import Module
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom._key import Key
    from seqloom.tensor import Tensor


class SelfAttention(Module):
    """Multi-head self-attention (Vaswani et al. 2017).

    Args:
        width: Number of features of each position.
        heads: Number of heads; it divides `width`.
        dropout: Probability of dropping an attention weight in training.
        causal: Whether a position attends only to itself and those before.

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
        width, heads = (
            as_integer("width", width, least=1),
            as_integer("heads", heads, least=1),
        )
        if width % heads:
            raise ArgumentError(f"width must be a multiple of heads={heads}, got {width}")
        self.inputs, self.output = Linear(width, 3 * width), Linear(width, width)
        self.heads, self.dropout, self.causal = heads, dropout, causal

    def __call__(self, x: Tensor, mask: Any = None, *, key: Key | None = None) -> Tensor:
        """Computes self-attention over the positions of each record.

        Args:
            x: ``(n, l, width)``.
            mask: Array that broadcasts to ``(n, heads, l, l)``, true where a position
                attends to another. A mask of positions ``(n, l)`` is passed as
                ``mask[:, None, None, :]``.
            key: Random key for dropout in training.

        Returns:
            ``(n, l, width)``.

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
        attended = functional.scaled_dot_product_attention(
            q, k, v, mask, rate, is_causal=self.causal, rng=key
        )
        joined = apply("permute_dims", attended, (0, 2, 1, 3)).reshape(rows, length, width)
        return self.output(joined)
