"""TransformerEncoder: layers of self-attention and a network of two layers."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError
from seqloom.nn._linear import Dropout, Linear
from seqloom.nn._module import Module
from seqloom.nn._multihead import MultiHeadAttention
from seqloom.nn._norms import LayerNorm
from seqloom.nn._rectifiers import gelu, relu

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom._key import Key
    from seqloom.tensor import Tensor

_ACTIVATIONS = {"relu": relu, "gelu": gelu}


class TransformerEncoderLayer(Module):
    """One layer of a transformer encoder, as ``torch.nn.TransformerEncoderLayer``.

    Sequences are batch first, ``(n, l, d_model)``. Parameters have torch's names and
    shapes.

    Args:
        d_model: Number of features of a position.
        nhead: Number of heads; it divides `d_model`.
        dim_feedforward: Width of the network after the attention.
        dropout: Probability of dropping an element in training, also an attention weight.
        activation: ``"relu"``, ``"gelu"``, or a function of a tensor.
        layer_norm_eps: Number added to the variance in both norms.
        norm_first: Whether a norm stands before attention and network, not after the sums.
        bias: Whether linear maps and norms have biases.
        rotary: Base of the rotary position embedding, such as 10000.0; None for none.

    Raises:
        ArgumentError: `d_model` is not a multiple of `nhead`, or `activation` is unknown.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.TransformerEncoderLayer(8, 2, 16).bind("numpy", sl.Key(0)).eval()
        >>> layer(layer.backend.tensor([[[0.0] * 8] * 5])).shape
        (1, 5, 8)
    """

    self_attn: MultiHeadAttention
    linear1: Linear
    linear2: Linear
    norm1: LayerNorm
    norm2: LayerNorm
    dropout: Dropout
    activation: Callable[[Tensor], Tensor]
    norm_first: bool

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        *,
        norm_first: bool = False,
        bias: bool = True,
        rotary: float | None = None,
    ) -> None:
        self.self_attn = MultiHeadAttention(d_model, nhead, dropout, bias, rotary=rotary)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.dropout = Dropout(dropout)
        self.activation = _find_activation(activation)
        self.norm_first = norm_first

    def __call__(
        self,
        src: Tensor,
        src_mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool = False,
        *,
        cu_seqlens: Any = None,
        max_seqlen: int | None = None,
        key: Key | None = None,
    ) -> Tensor:
        """Compute the next representation of each position.

        Args:
            src: ``(n, l, d_model)``; with `cu_seqlens` ``(total, d_model)``.
            src_mask: As `attn_mask` of `MultiHeadAttention`: true where a position ignores
                another.
            src_key_padding_mask: ``(n, l)`` booleans, true at padding. What comes out at
                padding means nothing.
            is_causal: Whether a position ignores those after it.
            cu_seqlens: Start of each of several sequences that lie end to end, and the
                total, ``(n + 1,)``.
            max_seqlen: Length of the longest of these; needed in a compiled step.
            key: Random key for dropout in training.

        Returns:
            A tensor of the shape of `src`.

        Raises:
            ArgumentError: `key` is missing for dropout in training.
            ShapeError: The shapes do not fit.
        """
        masks = (src_key_padding_mask, False, src_mask, True, is_causal)
        packed: dict[str, Any] = {"cu_seqlens": cu_seqlens, "max_seqlen": max_seqlen}

        def attend(x: Tensor) -> Tensor:
            rng = key and key.fold("attention")
            out, _ = self.self_attn(x, None, None, *masks, **packed, rng=rng)
            return self._drop(out, key, "dropout1")

        if self.norm_first:
            src = src + attend(self.norm1(src))
            return src + self._feed_forward(self.norm2(src), key)
        src = self.norm1(src + attend(src))
        return self.norm2(src + self._feed_forward(src, key))

    def _feed_forward(self, x: Tensor, key: Key | None) -> Tensor:
        """Run the network of two layers."""
        hidden = self._drop(self.activation(self.linear1(x)), key, "dropout")
        return self._drop(self.linear2(hidden), key, "dropout2")

    def _drop(self, x: Tensor, key: Key | None, name: str) -> Tensor:
        """Drop elements in training, with a key of that name."""
        return self.dropout(x, key=key and key.fold(name))


def _find_activation(
    activation: str | Callable[[Tensor], Tensor],
) -> Callable[[Tensor], Tensor]:
    """Return the function of a name, or the function itself."""
    if not isinstance(activation, str):
        return activation
    if activation not in _ACTIVATIONS:
        raise ArgumentError(
            'activation must be "relu", "gelu" or a function of a tensor, got '
            f"{activation!r}"
        )
    return _ACTIVATIONS[activation]


class TransformerEncoder(Module):
    """A stack of encoder layers, as ``torch.nn.TransformerEncoder``.

    Args:
        encoder_layer: A layer that is copied for each of the stack. Unlike in torch the
            copies are initialised apart, each by its path.
        num_layers: Number of layers.
        norm: Module that is applied to the last output, such as `LayerNorm`.

    Raises:
        ArgumentError: `num_layers` is not a positive integer.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, rotary=10000.0)
        >>> model = sl.nn.TransformerEncoder(layer, 3).bind("numpy", sl.Key(0))
        >>> x = model.backend.tensor([[[0.0] * 8] * 5])
        >>> model(x, src_key_padding_mask=[[False, False, False, True, True]]).shape
        (1, 5, 8)
    """

    layers: list[TransformerEncoderLayer]
    norm: Module | None

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
    ) -> None:
        count = as_integer("num_layers", num_layers, least=1)
        self.layers = [deepcopy(encoder_layer) for _ in range(count)]
        self.norm = norm

    def __call__(
        self,
        src: Tensor,
        mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool = False,
        *,
        cu_seqlens: Any = None,
        max_seqlen: int | None = None,
        key: Key | None = None,
    ) -> Tensor:
        """Run all layers.

        Args:
            src: ``(n, l, d_model)``; with `cu_seqlens` ``(total, d_model)``.
            mask: As `attn_mask` of `MultiHeadAttention`: true where a position ignores
                another. The mask of a batch, which is 1 at real positions, is passed as
                ``src_key_padding_mask=mask == 0``.
            src_key_padding_mask: ``(n, l)`` booleans, true at padding. What comes out at
                padding means nothing.
            is_causal: Whether a position ignores those after it.
            cu_seqlens: Start of each of several sequences that lie end to end, and the
                total, ``(n + 1,)``.
            max_seqlen: Length of the longest of these; needed in a compiled step.
            key: Random key for dropout in training.

        Returns:
            A tensor of the shape of `src`.

        Raises:
            ArgumentError: `key` is missing for dropout in training.
            ShapeError: The shapes do not fit.
        """
        for number, layer in enumerate(self.layers):
            src = layer(
                src,
                mask,
                src_key_padding_mask,
                is_causal,
                cu_seqlens=cu_seqlens,
                max_seqlen=max_seqlen,
                key=key and key.fold(number),
            )
        return src if self.norm is None else self.norm(src)
