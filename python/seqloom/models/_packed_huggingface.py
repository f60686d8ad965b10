"""A Hugging Face ESM network over packed sequences, by our attention."""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from seqloom.errors import ArgumentError, ShapeError
from seqloom.models._esm2_layers import UNMASKED_SHARE, number_layers
from seqloom.nn._operands import Packing, as_operand, find_packing, require_below
from seqloom.tensor import Tensor, backend as find_backend

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def packed_huggingface(hf_model: Any) -> PackedHuggingFace:
    """Make a Hugging Face ESM network one that takes packed sequences, without padding.

    Attention sees one sequence at a time, positions begin anew with each, and the scale of
    token dropout is that of each sequence, so that hidden states are those of the network
    for each sequence alone, within rounding. It goes where an `ESM2` goes:
    ``sl.infer.embed(sl.models.packed_huggingface(hf_model), files, out=...)``.

    Args:
        hf_model: ``EsmModel``, ``EsmForMaskedLM`` or another network with an ESM encoder,
            of transformers 5 or newer. It stays as it is; its weights are shared, not
            copied.

    Returns:
        A network in evaluation mode, without gradients, on the device of `hf_model`.

    Raises:
        ArgumentError: `hf_model` is no encoder of ESM, or of an older transformers.

    Examples:
        >>> import numpy as np, seqloom as sl, transformers
        >>> shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
        >>> rules = {"position_embedding_type": "rotary", "token_dropout": True}
        >>> tokens = {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32}
        >>> config = transformers.EsmConfig(**shape, **rules, **tokens)
        >>> model = sl.models.packed_huggingface(transformers.EsmForMaskedLM(config))
        >>> ids = np.array([0, 20, 15, 2, 0, 4, 2])  # <cls> M K <eos>, <cls> L <eos>
        >>> model(ids, cu_seqlens=[0, 4, 7]).shape
        (7, 16)
    """
    return PackedHuggingFace(hf_model)


class PackedHuggingFace:
    """The network that `packed_huggingface` makes.

    Args:
        hf_model: The network of transformers.

    Raises:
        ArgumentError: `hf_model` is no encoder of ESM, or of an older transformers.

    Examples:
        >>> import seqloom as sl, transformers
        >>> shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
        >>> config = transformers.EsmConfig(vocab_size=33, pad_token_id=1, **shape)
        >>> model = sl.models.PackedHuggingFace(transformers.EsmModel(config))
        >>> batch = {"input_ids": [0, 20, 15, 2, 0, 4, 2], "cu_seqlens": [0, 4, 7]}
        >>> model.embed(batch)[-1].shape
        (7, 16)
    """

    def __init__(self, hf_model: Any) -> None:
        require_encoder(hf_model)
        self._network: Any = share(hf_model)
        self._encoder: Any = self._network.base_model

    def __call__(
        self,
        input_ids: Any,
        cu_seqlens: Any = None,
        max_seqlen: int | None = None,
        *,
        layers: Sequence[int] | None = None,
    ) -> Any:
        """Compute the hidden states of each position.

        Args:
            input_ids: Token ids ``(total,)`` of sequences that lie end to end.
            cu_seqlens: Start of each sequence, and the total, ``(n + 1,)``; default: one
                sequence.
            max_seqlen: Length of the longest; needed where `cu_seqlens` is on a device.
            layers: Numbers of the hidden states to return: 0 for the embeddings, i after
                layer i, and the last one, -1, after the last layer norm too.

        Returns:
            The last hidden states ``(total, width)``; with `layers` a list of these.

        Raises:
            ArgumentError: `layers` or `cu_seqlens` do not fit.
            OutOfRangeError: A token is not in the vocabulary.
            ShapeError: `input_ids` has other axes than one, or a sequence is longer than
                the positions that the network has learned.
        """
        last = int(self._encoder.config.num_hidden_layers)
        numbers = number_layers((-1,) if layers is None else layers, last)
        tokens = self._read(input_ids)
        bounds = [0, tokens.shape[0]] if cu_seqlens is None else cu_seqlens
        states = self._run(tokens, find_packing(tokens, bounds, max_seqlen), numbers)
        found = [Tensor(states[number][0], tokens.backend) for number in numbers]
        return found[0] if layers is None else found

    def logits(self, hidden: Tensor) -> Tensor:
        """Score each token of the vocabulary at each position.

        Args:
            hidden: The last hidden states ``(..., width)``.

        Returns:
            Numbers before the softmax, ``(..., vocabulary)``.

        Raises:
            ArgumentError: The network has no head that predicts tokens.
        """
        head = getattr(self._network, "lm_head", None)
        if head is None:
            raise ArgumentError(
                f"{type(self._network).__name__} has no head that predicts tokens; pass an "
                "EsmForMaskedLM"
            )
        import torch

        with torch.no_grad():
            return Tensor(head(hidden.raw), hidden.backend)

    def embed(
        self, batch: Mapping[str, Any], layers: Sequence[int] = (-1,)
    ) -> dict[int, Tensor]:
        """Compute hidden states of a packed batch.

        Args:
            batch: Batch of `sl.data.PackedStream`: ``input_ids``, ``cu_seqlens`` and
                ``max_seqlen``.
            layers: Numbers of the hidden states, as in a call of the network.

        Returns:
            Hidden states ``(total, width)`` by the number of their layer.

        Raises:
            ArgumentError: A layer does not exist, or the batch is padded.
        """
        if "mask" in batch:
            raise ArgumentError(
                "PackedHuggingFace takes packed batches, got a padded one; leave out "
                "packing=False, or pass the network of transformers itself"
            )
        packed = batch["input_ids"], batch.get("cu_seqlens"), batch.get("max_seqlen")
        return dict(zip(layers, self(*packed, layers=layers), strict=True))

    def eval(self) -> Self:
        """Return this network, which is always in evaluation mode."""
        return self

    def parameters(self) -> Iterator[Any]:
        """Yield the parameters, which are those of the network of transformers."""
        return self._network.parameters()

    def state_dict(self) -> dict[str, Any]:
        """Return what results depend on, as torch's tensors.

        Returns:
            The weights by their names in transformers, and as ``settings`` the bytes of
            those settings that change results, such as the number of heads: by their hash
            `sl.infer.embed` knows the network again.
        """
        import torch

        settings = json.dumps(list_settings(self._network)).encode()
        found = torch.frombuffer(bytearray(settings), dtype=torch.uint8)
        return {**self._network.state_dict(), "settings": found}

    @property
    def width(self) -> int:
        """How many numbers a hidden state has."""
        return int(self._encoder.config.hidden_size)

    def __repr__(self) -> str:
        return f"packed_huggingface({type(self._network).__name__})"

    def _read(self, input_ids: Any) -> Tensor:
        """Return token ids on the device of the network."""
        device = str(next(self.parameters()).device)
        tokens = as_operand(_find_anchor(device), input_ids)
        if tokens.ndim != 1:
            raise ShapeError(
                "input_ids must be (total,): packed sequences end to end, got shape "
                f"{tokens.shape}; padded ones are for the network of transformers"
            )
        require_below("input_ids", tokens, self._encoder.config.vocab_size)
        return tokens

    def _run(self, tokens: Tensor, packing: Packing, numbers: Sequence[int]) -> Any:
        """Return hidden states ``(1, total, width)`` by number, the last always."""
        import torch

        last = int(self._encoder.config.num_hidden_layers)
        others = sorted({number for number in numbers if number != last})
        with torch.no_grad():
            found = self._encoder(
                inputs_embeds=embed_tokens(self._encoder.embeddings, tokens, packing),
                position_ids=packing.position.raw[None],
                cu_seq_lens_q=packing.offsets.raw,
                max_length_q=packing.longest,
                output_hidden_states=others or False,
                output_attentions=False,
                return_dict=True,
            )
        states = {number: found.hidden_states[number] for number in others}
        return {**states, last: found.last_hidden_state}


@cache
def _find_anchor(device: str) -> Tensor:
    """Return a tensor on a device of torch, beside which others are put."""
    return find_backend(f"torch:{device}").tensor([0])


_NAME = "seqloom_packed"  # of our attention, among those of transformers
# What results depend on beside the weights.
_SETTINGS = (
    "num_attention_heads",
    "layer_norm_eps",
    "position_embedding_type",
    "token_dropout",
    "mask_token_id",
    "pad_token_id",
)


def require_encoder(model: Any) -> None:
    """Refuse what is no encoder of ESM that takes another attention."""
    config: Any = getattr(model, "config", None)
    is_esm = getattr(config, "model_type", "") == "esm" and hasattr(model, "base_model")
    if not is_esm or config.is_decoder or config.is_folding_model:
        raise ArgumentError(
            "hf_model must be an ESM encoder of transformers, such as "
            "transformers.EsmModel.from_pretrained(folder), which needs pip install "
            f"torch transformers; got {type(model).__name__}"
        )
    if not getattr(model, "_supports_attention_backend", False):
        raise ArgumentError(
            f"{type(model).__name__} takes no attention but its own; install transformers "
            "5 or newer"
        )


def share(model: Any) -> Any:
    """Make a twin in evaluation mode with our attention and the same weights."""
    _register()
    tensors = *model.parameters(), *model.buffers()
    # What is in the memo is not copied: the weights are shared.
    twin = deepcopy(model, {id(tensor): tensor for tensor in tensors}).eval()
    twin.set_attn_implementation(_NAME)
    return twin


def list_settings(model: Any) -> dict[str, Any]:
    """List the settings that results depend on, beside the weights."""
    return {name: getattr(model.config, name, None) for name in _SETTINGS}


def embed_tokens(parts: Any, tokens: Tensor, packing: Packing) -> Any:
    """Compute ``(1, total, width)``, each sequence scaled by its own masks."""
    x = parts.word_embeddings(tokens.raw[None])
    if parts.token_dropout:
        x = _scale(x, tokens.raw == parts.mask_token_id, packing=packing)
    # Learned positions begin behind that of padding.
    places = packing.position.raw[None] + parts.padding_idx + 1
    if hasattr(parts, "position_embeddings"):
        _require_places(parts, packing.longest)
    return parts(inputs_embeds=x, position_ids=places)


def _scale(x: Any, hidden: Any, *, packing: Packing) -> Any:
    """Scale embeddings as the network does, in its order, with zeros for masks."""
    starts, owner = packing.offsets.raw.long(), packing.owner.raw.long()
    sums = hidden.new_zeros(hidden.shape[0] + 1, dtype=starts.dtype)
    sums[1:] = hidden.cumsum(0)
    share = sums[starts].diff().float() / starts.diff()
    x = x.masked_fill(hidden[None, :, None], 0.0)
    return (x * UNMASKED_SHARE / (1 - share)[owner][None, :, None]).to(x.dtype)


def _require_places(parts: Any, longest: int) -> None:
    """Refuse a sequence with more tokens than positions were learned."""
    most = parts.position_embeddings.num_embeddings - parts.padding_idx - 1
    if longest > most:
        raise ShapeError(
            f"the network has learned {most} positions, got a sequence of {longest} "
            "tokens; cut it in windows (max_length= of sl.infer.embed)"
        )


@cache
def _register() -> None:
    """Make our attention known to transformers."""
    transformers: Any = sys.modules["transformers"]  # whoever has a network has loaded it
    transformers.AttentionInterface.register(_NAME, _attend)
    transformers.AttentionMaskInterface.register(_NAME, _mask_nothing)


def _mask_nothing(*_args: Any, **_options: Any) -> None:
    """Return the mask of packed sequences, which need none."""


def _attend(
    _module: Any,
    query: Any,
    key: Any,
    value: Any,
    _mask: Any = None,
    *,
    cu_seq_lens_q: Any,
    max_length_q: int,
    scaling: float,
    **_options: Any,
) -> tuple[Any, None]:
    """Compute attention of heads ``(1, h, total, d)``, each sequence by itself."""
    b: Any = find_backend(f"torch:{query.device}")
    q, k, v = (x[0].transpose(0, 1) for x in (query, key, value))
    rule = {"max_seqlen": max_length_q, "scale": scaling}
    return b.attention_varlen(q, k, v, cu_seq_lens_q, **rule)[0][None], None
