"""Hugging Face ESM networks with random weights, and proteins for them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import transformers

PAD, MASK = 1, 32
_WEIGHT_SCALES = {
    "embeddings": 5,
    "contact_head": 50,
}  # the scale of all other weights is 2
SIZES_OF_NETWORK = {"8M": (6, 320, 20), "35M": (12, 480, 20)}


def make_huggingface(
    size="8M", *, layers=None, kind="EsmForMaskedLM", seed=0, **settings
) -> Any:
    """Create a network with nonzero biases, scales other than 1, and large weights."""
    every, width, heads = SIZES_OF_NETWORK[size]
    config = transformers.EsmConfig(
        vocab_size=33,
        mask_token_id=MASK,
        pad_token_id=PAD,
        hidden_size=width,
        num_hidden_layers=layers or every,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        layer_norm_eps=1e-5,
        position_embedding_type="rotary",
        token_dropout=True,
        emb_layer_norm_before=False,
        **settings,
    )
    torch.manual_seed(seed)
    model = getattr(transformers, kind)(config).eval()
    model.set_attn_implementation("eager")  # contacts need attention weights
    with torch.no_grad():
        for name, values in model.named_parameters():
            if values.ndim == 1:
                values.add_(0.1 * torch.randn_like(values))
            else:
                values.mul_(_WEIGHT_SCALES.get(name.split(".")[-3], 2))
    return model


@dataclass
class Proteins:
    """Proteins in three forms: single sequences, packed, and padded."""

    each: list[np.ndarray]

    @property
    def lengths(self) -> list[int]:
        """Return the tokens of each protein."""
        return [len(ids) for ids in self.each]

    @property
    def packed(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Return packed tokens, the start of each protein, and the maximum length."""
        starts = np.cumsum([0, *self.lengths]).astype(np.int32)
        return np.concatenate(self.each), starts, max(self.lengths)

    @property
    def mask(self) -> np.ndarray:
        """Return a mask of real positions."""
        return np.arange(max(self.lengths)) < np.array(self.lengths)[:, None]

    def padded(self, pad=PAD) -> np.ndarray:
        """Return padded tokens."""
        out = np.full(self.mask.shape, pad, np.int64)
        out[self.mask] = np.concatenate(self.each)
        return out


def draw_proteins(lengths=(7, 60, 3, 33, 90), *, masked=0.12, seed=0) -> Proteins:
    """Generate proteins between <cls> and <eos>; all but the first contain masks."""
    draw = np.random.default_rng(seed)
    each = [np.r_[0, draw.integers(4, 31, length - 2), 2] for length in lengths]
    for ids in each[1:]:
        inside = ids[1:-1]
        inside[draw.random(len(inside)) < masked] = MASK
    return Proteins(each)


def run_huggingface(model: Any, proteins: Proteins) -> dict[str, Any]:
    """Return hidden states and logits, packed, and the contacts of each protein."""
    ids, mask = torch.tensor(proteins.padded()), torch.tensor(proteins.mask).long()
    with torch.no_grad():
        out = model(ids, attention_mask=mask, output_hidden_states=True)
        contacts = model.predict_contacts(ids, mask).numpy()
    real = proteins.mask
    logits = out.logits.numpy()[real] if hasattr(out, "logits") else None
    return {
        "hidden": [state.numpy()[real] for state in out.hidden_states],
        "logits": logits,
        "contacts": [
            found[: length - 2, : length - 2]
            for found, length in zip(contacts, proteins.lengths, strict=True)
        ],
    }
