"""PackedHuggingFace: Hugging Face ESM networks on packed sequences."""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from seqloom.errors import ArgumentError, ShapeError
from seqloom.models._esm2_layers import UNMASKED_FRACTION, layer_indices
from seqloom.nn._operands import Packing, as_operand, find_packing, require_index
from seqloom.tensor import Tensor, backend as find_backend

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def packed_huggingface(hf_model: Any) -> PackedHuggingFace:
    """Convert a Hugging Face ESM network to packed sequences, without padding.

    Attention is limited to one sequence at a time, positions restart in each sequence,
    and token dropout is scaled for each sequence. Up to rounding, the hidden states
    equal those that `hf_model` computes for each sequence alone. The converted network
    can be used instead of an `ESM2`:
    ``sl.infer.embed(sl.models.packed_huggingface(hf_model), files, out=...)``.

    Args:
        hf_model: ``EsmModel``, ``EsmForMaskedLM`` or another network with an ESM encoder,
            from transformers 5 or newer. `hf_model` does not change; the converted
            network shares the weights of `hf_model`.

    Returns:
        A network in evaluation mode, without gradients, on the device of `hf_model`.

    Raises:
        ArgumentError: `hf_model` is not an ESM encoder, or comes from an older version
            of transformers.

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
    """Hugging Face ESM network on packed sequences, created by `packed_huggingface`.

    Args:
        hf_model: ESM network of the transformers package.

    Raises:
        ArgumentError: `hf_model` is not an ESM encoder, or comes from an older version
            of transformers.

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
        self._network: Any = copy_sharing_weights(hf_model)
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
            input_ids: Token ids ``(total,)`` of concatenated sequences.
            cu_seqlens: Offsets of the sequences ``(n + 1,)``: the start of each sequence,
                and the total length; default: one sequence.
            max_seqlen: Length of the longest sequence; required if `cu_seqlens` is on a
                device.
            layers: Indices of the hidden states to return: 0 for the embeddings, i for
                the output of layer i. The last index, -1, includes the final layer norm.

        Returns:
            The last hidden states ``(total, width)``; with `layers`, a list of hidden
            states.

        Raises:
            ArgumentError: `layers` or `cu_seqlens` are invalid.
            OutOfRangeError: A token is not in the vocabulary.
            ShapeError: `input_ids` does not have one axis, or a sequence is longer than
                the number of learned positions.
        """
        last = int(self._encoder.config.num_hidden_layers)
        numbers = layer_indices((-1,) if layers is None else layers, last)
        tokens = self._read(input_ids)
        bounds = [0, tokens.shape[0]] if cu_seqlens is None else cu_seqlens
        states = self._run(tokens, find_packing(tokens, bounds, max_seqlen), numbers)
        found = [Tensor(states[number][0], tokens.backend) for number in numbers]
        return found[0] if layers is None else found

    def logits(self, hidden: Tensor) -> Tensor:
        """Compute the logits of all tokens at each position.

        Args:
            hidden: Last hidden states ``(..., width)``.

        Returns:
            Logits ``(..., vocabulary)``.

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
            layers: Indices of the hidden states, as in a call of the network.

        Returns:
            Hidden states ``(total, width)`` by layer index.

        Raises:
            ArgumentError: A layer does not exist, or the batch is padded.
        """
        if "mask" in batch:
            raise ArgumentError(
                "PackedHuggingFace needs a packed batch, got a padded one; omit "
                "packing=False, or pass the transformers network itself"
            )
        packed = batch["input_ids"], batch.get("cu_seqlens"), batch.get("max_seqlen")
        return dict(zip(layers, self(*packed, layers=layers), strict=True))

    def eval(self) -> Self:
        """Return this network, which is always in evaluation mode."""
        return self

    def parameters(self) -> Iterator[Any]:
        """Yield the parameters of the transformers network."""
        return self._network.parameters()

    def state_dict(self) -> dict[str, Any]:
        """Return the weights, and the settings that affect results, as PyTorch tensors.

        Returns:
            A dict of the weights by their names in transformers. The tensor
            ``settings`` contains, as bytes, the settings that affect results, such as
            the number of heads. `sl.infer.embed` identifies the network by the hash of
            this dict.
        """
        import torch

        settings = json.dumps(list_settings(self._network)).encode()
        found = torch.frombuffer(bytearray(settings), dtype=torch.uint8)
        return {**self._network.state_dict(), "settings": found}

    @property
    def width(self) -> int:
        """Number of features of a hidden state."""
        return int(self._encoder.config.hidden_size)

    def __repr__(self) -> str:
        return f"packed_huggingface({type(self._network).__name__})"

    def _read(self, input_ids: Any) -> Tensor:
        """Return token ids on the device of the network."""
        device = str(next(self.parameters()).device)
        tokens = as_operand(_get_device_tensor(device), input_ids)
        if tokens.ndim != 1:
            raise ShapeError(
                "input_ids must be (total,), the concatenated sequences, got shape "
                f"{tokens.shape}; pass padded sequences to the transformers network"
            )
        require_index("input_ids", tokens, self._encoder.config.vocab_size)
        return tokens

    def _run(self, tokens: Tensor, packing: Packing, numbers: Sequence[int]) -> Any:
        """Return hidden states ``(1, total, width)`` by index, including the last state."""
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
def _get_device_tensor(device: str) -> Tensor:
    """Return a tensor on a PyTorch device; arrays of other libraries are moved to it."""
    return find_backend(f"torch:{device}").tensor([0])


_ATTENTION_NAME = "seqloom_packed"  # Name of seqloom's attention.
# Settings that affect the results, in addition to the weights.
_RESULT_SETTINGS = (
    "num_attention_heads",
    "layer_norm_eps",
    "position_embedding_type",
    "token_dropout",
    "mask_token_id",
    "pad_token_id",
)


def require_encoder(model: Any) -> None:
    """Raise if a model is not an ESM encoder with replaceable attention."""
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
            f"{type(model).__name__} does not support other attention functions; install "
            "transformers 5 or newer"
        )


def copy_sharing_weights(model: Any) -> Any:
    """Copy a model in evaluation mode with seqloom's attention, but share its weights."""
    _register_attention()
    tensors = *model.parameters(), *model.buffers()
    # `deepcopy` does not copy the tensors in its memo.
    twin = deepcopy(model, {id(tensor): tensor for tensor in tensors}).eval()
    twin.set_attn_implementation(_ATTENTION_NAME)
    return twin


def list_settings(model: Any) -> dict[str, Any]:
    """Return the settings that affect the results of the network."""
    return {name: getattr(model.config, name, None) for name in _RESULT_SETTINGS}


def embed_tokens(parts: Any, tokens: Tensor, packing: Packing) -> Any:
    """Compute embeddings ``(1, total, width)``, scaled by the masks of each sequence."""
    x = parts.word_embeddings(tokens.raw[None])
    if parts.token_dropout:
        x = _scale_embeddings(x, tokens.raw == parts.mask_token_id, packing=packing)
    # Indices of learned positions start after the padding index.
    places = packing.position.raw[None] + parts.padding_idx + 1
    if hasattr(parts, "position_embeddings"):
        _require_positions(parts, packing.longest)
    return parts(inputs_embeds=x, position_ids=places)


def _scale_embeddings(x: Any, hidden: Any, *, packing: Packing) -> Any:
    """Set embeddings of mask tokens to zero and scale the other embeddings."""
    starts, owner = packing.offsets.raw.long(), packing.seq_id.raw.long()
    sums = hidden.new_zeros(hidden.shape[0] + 1, dtype=starts.dtype)
    sums[1:] = hidden.cumsum(0)
    share = sums[starts].diff().float() / starts.diff()
    x = x.masked_fill(hidden[None, :, None], 0.0)
    return (x * UNMASKED_FRACTION / (1 - share)[owner][None, :, None]).to(x.dtype)


def _require_positions(parts: Any, longest: int) -> None:
    """Raise if a sequence is longer than the number of learned positions."""
    most = parts.position_embeddings.num_embeddings - parts.padding_idx - 1
    if longest > most:
        raise ShapeError(
            f"the network has learned {most} positions, got a sequence of {longest} "
            "tokens; split it into windows (max_length= of sl.infer.embed)"
        )


@cache
def _register_attention() -> None:
    """Register seqloom's attention in transformers."""
    transformers: Any = sys.modules["transformers"]  # the model has imported it
    transformers.AttentionInterface.register(_ATTENTION_NAME, _attend)
    transformers.AttentionMaskInterface.register(_ATTENTION_NAME, _make_no_mask)


def _make_no_mask(*_args: Any, **_options: Any) -> None:
    """Return None, because packed sequences need no mask."""


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
    """Compute attention of heads ``(1, h, total, d)`` within each sequence."""
    b: Any = find_backend(f"torch:{query.device}")
    q, k, v = (x[0].transpose(0, 1) for x in (query, key, value))
    rule = {"max_seqlen": max_length_q, "scale": scaling}
    return b.attention_varlen(q, k, v, cu_seq_lens_q, **rule)[0][None], None
