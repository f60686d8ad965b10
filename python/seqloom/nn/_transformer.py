"""TransformerEncoder: layers of self-attention and a feed-forward network."""

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

_FEED_FORWARD_ACTIVATIONS = {"relu": relu, "gelu": gelu}


class TransformerEncoderLayer(Module):
    """Layer of a transformer encoder, like ``torch.nn.TransformerEncoderLayer``.

    Sequences are batch first, ``(n, l, d_model)``. Parameters have the names and shapes
    of PyTorch.

    Args:
        d_model: Number of features of a position.
        nhead: Number of heads; must divide `d_model`.
        dim_feedforward: Width of the feed-forward network.
        dropout: Probability of dropping an element or an attention weight in training.
        activation: Name of the function, ``"relu"`` or ``"gelu"``; or a function of a
            tensor.
        layer_norm_eps: Number added to the variance in both norms.
        norm_first: If True, normalise the inputs of attention and feed-forward network
            (pre-norm), not the sums after them (post-norm).
        bias: If True, linear layers and norms have biases.
        rotary: Base of the rotary position embedding, such as 10000.0; None to disable
            the embedding.

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
        """Apply self-attention and the feed-forward network.

        Args:
            src: Input ``(n, l, d_model)``; with `cu_seqlens` ``(total, d_model)``.
            src_mask: Mask for `MultiHeadAttention`, true where a position ignores
                another position.
            src_key_padding_mask: Mask ``(n, l)``, boolean, true at padding. The output
                at padding is undefined.
            is_causal: If True, a position ignores later positions.
            cu_seqlens: Offsets of concatenated sequences ``(n + 1,)``: the start of each
                sequence, and the total length.
            max_seqlen: Length of the longest concatenated sequence; required in a
                compiled step.
            key: Random key for dropout in training.

        Returns:
            A tensor of the shape of `src`.

        Raises:
            ArgumentError: `key` is missing for dropout in training.
            ShapeError: The shapes of the arguments do not match.
        """
        masks = (src_key_padding_mask, False, src_mask, True, is_causal)
        packed: dict[str, Any] = {"cu_seqlens": cu_seqlens, "max_seqlen": max_seqlen}

        def apply_attention(x: Tensor) -> Tensor:
            rng = key and key.fold("attention")
            out, _ = self.self_attn(x, None, None, *masks, **packed, rng=rng)
            return self._apply_dropout(out, key, "dropout1")

        if self.norm_first:
            src = src + apply_attention(self.norm1(src))
            return src + self._feed_forward(self.norm2(src), key)
        src = self.norm1(src + apply_attention(src))
        return self.norm2(src + self._feed_forward(src, key))

    def _feed_forward(self, x: Tensor, key: Key | None) -> Tensor:
        """Apply the feed-forward network: two linear layers."""
        hidden = self._apply_dropout(self.activation(self.linear1(x)), key, "dropout")
        return self._apply_dropout(self.linear2(hidden), key, "dropout2")

    def _apply_dropout(self, x: Tensor, key: Key | None, name: str) -> Tensor:
        """Apply dropout in training, with a key that is derived from `name`."""
        return self.dropout(x, key=key and key.fold(name))


def _find_activation(
    activation: str | Callable[[Tensor], Tensor],
) -> Callable[[Tensor], Tensor]:
    """Return the activation function with this name, or the function itself."""
    if not isinstance(activation, str):
        return activation
    if activation not in _FEED_FORWARD_ACTIVATIONS:
        raise ArgumentError(
            'activation must be "relu", "gelu" or a function of a tensor, got '
            f"{activation!r}"
        )
    return _FEED_FORWARD_ACTIVATIONS[activation]


class TransformerEncoder(Module):
    """Stack of encoder layers, like ``torch.nn.TransformerEncoder``.

    Args:
        encoder_layer: Layer that is copied `num_layers` times. Unlike in PyTorch, the
            copies have different initial values.
        num_layers: Number of layers.
        norm: Module that is applied to the output of the last layer, such as `LayerNorm`.

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
        """Apply all layers, one after the other.

        Args:
            src: Input ``(n, l, d_model)``; with `cu_seqlens` ``(total, d_model)``.
            mask: Mask for `MultiHeadAttention`, true where a position ignores another
                position. Pass the mask of a batch, which is 1 at real positions, as
                ``src_key_padding_mask=mask == 0``.
            src_key_padding_mask: Mask ``(n, l)``, boolean, true at padding. The output
                at padding is undefined.
            is_causal: If True, a position ignores later positions.
            cu_seqlens: Offsets of concatenated sequences ``(n + 1,)``: the start of each
                sequence, and the total length.
            max_seqlen: Length of the longest concatenated sequence; required in a
                compiled step.
            key: Random key for dropout in training.

        Returns:
            A tensor of the shape of `src`.

        Raises:
            ArgumentError: `key` is missing for dropout in training.
            ShapeError: The shapes of the arguments do not match.
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
