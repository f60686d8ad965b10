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
    """Each place looks at all places, by several heads (Vaswani et al. 2017).

    Args:
        width: Numbers a place.
        heads: How many ways of looking; they share the width.
        dropout: The share of weights that is left out in training.
        causal: Whether a place sees only itself and those before.

    Raises:
        ArgumentError: The heads do not divide the width.

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
            raise ArgumentError(f"{heads} heads cannot share a width of {width}")
        self.inputs, self.output = Linear(width, 3 * width), Linear(width, width)
        self.heads, self.dropout, self.causal = heads, dropout, causal

    def __call__(self, x: Tensor, mask: Any = None, *, key: Key | None = None) -> Tensor:
        """``(n, l, width)`` to the same; `mask` is true where a place may be looked at.

        Args:
            x: ``(n, l, width)``.
            mask: What broadcasts to ``(n, heads, l, l)``; one of keys, ``(n, l)``, is
                ``mask[:, None, None, :]``.
            key: What dropout draws from, in training.

        Returns:
            ``(n, l, width)``.

        Raises:
            ArgumentError: Dropout has no key.
        """
        rows, places, width = x.shape
        rate = self.dropout if self.training else 0.0
        if rate and key is None:
            raise ArgumentError("attention with dropout needs a key in training")
        parts = self.inputs(x).reshape(rows, places, 3, self.heads, width // self.heads)
        q, k, v = apply("unstack", apply("permute_dims", parts, (2, 0, 3, 1, 4)))
        seen = functional.scaled_dot_product_attention(
            q, k, v, mask, rate, is_causal=self.causal, rng=key
        )
        joined = apply("permute_dims", seen, (0, 2, 1, 3)).reshape(rows, places, width)
        return self.output(joined)
