"""A Hugging Face ESM network over packed sequences, by our attention."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from seqloom.errors import ArgumentError, ShapeError
from seqloom.models._huggingface import embed_tokens, list_settings, require_encoder, share
from seqloom.nn._lengths import Packing, find_packing
from seqloom.nn._operands import as_operand, require_below
from seqloom.tensor import Tensor, backend as find_backend

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def packed_huggingface(hf_model: Any) -> PackedHuggingFace:
    """Makes a Hugging Face ESM network one that takes packed sequences, without padding.

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
        """Computes the hidden states of each position.

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
        numbers = self._number((-1,) if layers is None else layers)
        tokens = self._read(input_ids)
        bounds = [0, tokens.shape[0]] if cu_seqlens is None else cu_seqlens
        states = self._run(tokens, find_packing(tokens, bounds, max_seqlen), numbers)
        found = [Tensor(states[number][0], tokens.backend) for number in numbers]
        return found[0] if layers is None else found

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores each token of the vocabulary at each position.

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
        """Computes hidden states of a packed batch.

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
        """Returns this network, which is always in evaluation mode."""
        return self

    def parameters(self) -> Iterator[Any]:
        """Yields the parameters, which are those of the network of transformers."""
        return self._network.parameters()

    def state_dict(self) -> dict[str, Any]:
        """Returns what results depend on, as torch's tensors.

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

    def _number(self, layers: Sequence[int]) -> list[int]:
        """Returns the numbers of layers from 0; refuses those that do not exist."""
        last = int(self._encoder.config.num_hidden_layers)
        if not layers or not all(-last - 1 <= layer <= last for layer in layers):
            raise ArgumentError(
                f"layers must hold numbers from 0 (the embeddings) to {last} (the last "
                f"layer), or from -1 back to {-last - 1}, got {list(layers)}"
            )
        return [layer % (last + 1) for layer in layers]

    def _read(self, input_ids: Any) -> Tensor:
        """Returns token ids on the device of the network."""
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
        """Returns hidden states ``(1, total, width)`` by number, the last always."""
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
    """A tensor on a device of torch, beside which others are put."""
    return find_backend(f"torch:{device}").tensor([0])
