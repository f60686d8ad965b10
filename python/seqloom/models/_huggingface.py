"""What lets a Hugging Face ESM network run packed: our attention, and its embeddings."""

from __future__ import annotations

import sys
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, ShapeError
from seqloom.tensor import backend as find_backend

if TYPE_CHECKING:
    from seqloom.nn._lengths import Packing
    from seqloom.tensor import Tensor

_NAME = "seqloom_packed"  # of our attention, among those of transformers
_KEPT = 1 - 0.15 * 0.8  # share of embeddings that were no mask in ESM-2's training
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
    """Refuses what is no encoder of ESM that takes another attention."""
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
    """Makes a twin in evaluation mode with our attention and the same weights."""
    _register()
    tensors = *model.parameters(), *model.buffers()
    # What is in the memo is not copied: the weights are shared.
    twin = deepcopy(model, {id(tensor): tensor for tensor in tensors}).eval()
    twin.set_attn_implementation(_NAME)
    return twin


def list_settings(model: Any) -> dict[str, Any]:
    """Lists the settings that results depend on, beside the weights."""
    return {name: getattr(model.config, name, None) for name in _SETTINGS}


def embed_tokens(parts: Any, tokens: Tensor, packing: Packing) -> Any:
    """Computes ``(1, total, width)``, each sequence scaled by its own masks."""
    x = parts.word_embeddings(tokens.raw[None])
    if parts.token_dropout:
        x = _scale(x, tokens.raw == parts.mask_token_id, packing=packing)
    # Learned positions begin behind that of padding.
    places = packing.position.raw[None] + parts.padding_idx + 1
    if hasattr(parts, "position_embeddings"):
        _require_places(parts, packing.longest)
    return parts(inputs_embeds=x, position_ids=places)


def _scale(x: Any, hidden: Any, *, packing: Packing) -> Any:
    """Scales embeddings as the network does, in its order, with zeros for masks."""
    starts, owner = packing.offsets.raw.long(), packing.owner.raw.long()
    sums = hidden.new_zeros(hidden.shape[0] + 1, dtype=starts.dtype)
    sums[1:] = hidden.cumsum(0)
    share = sums[starts].diff().float() / starts.diff()
    x = x.masked_fill(hidden[None, :, None], 0.0)
    return (x * _KEPT / (1 - share)[owner][None, :, None]).to(x.dtype)


def _require_places(parts: Any, longest: int) -> None:
    """Refuses a sequence with more tokens than positions were learned."""
    most = parts.position_embeddings.num_embeddings - parts.padding_idx - 1
    if longest > most:
        raise ShapeError(
            f"the network has learned {most} positions, got a sequence of {longest} "
            "tokens; cut it in windows (max_length= of sl.infer.embed)"
        )


@cache
def _register() -> None:
    """Makes our attention known to transformers."""
    transformers: Any = sys.modules["transformers"]  # whoever has a network has loaded it
    transformers.AttentionInterface.register(_NAME, _attend)
    transformers.AttentionMaskInterface.register(_NAME, _mask_nothing)


def _mask_nothing(*_args: Any, **_options: Any) -> None:
    """Returns the mask of packed sequences, which need none."""


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
    """Computes attention of heads ``(1, h, total, d)``, each sequence by itself."""
    b: Any = find_backend(f"torch:{query.device}")
    q, k, v = (x[0].transpose(0, 1) for x in (query, key, value))
    rule = {"max_seqlen": max_length_q, "scale": scaling}
    return b.attention_varlen(q, k, v, cu_seq_lens_q, **rule)[0][None], None
