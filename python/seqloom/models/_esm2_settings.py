"""The settings of ESM-2 in Hugging Face's ``config.json``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import ConfigError, FileError, MissingFileError

if TYPE_CHECKING:
    from pathlib import Path

    from seqloom.models._esm2_fields import ESM2Fields

# Fields of config.json that a folder must have, and those of ours.
_FIELDS = {
    "num_hidden_layers": "layers",
    "hidden_size": "width",
    "num_attention_heads": "heads",
    "intermediate_size": "hidden",
    "vocab_size": "vocabulary",
    "pad_token_id": "pad_token",
    "mask_token_id": "mask_token",
    "layer_norm_eps": "eps",
    "token_dropout": "token_dropout",
}
# Fields that make another network than ESM-2: what they mean where they are absent, and
# what they must be.
_FIXED: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "model_type": (None, ("esm",)),
    "position_embedding_type": ("absolute", ("rotary",)),
    "emb_layer_norm_before": (False, (False, None)),
    "is_folding_model": (False, (False, None)),
    "is_decoder": (False, (False, None)),
    "add_cross_attention": (False, (False, None)),
    "tie_word_embeddings": (True, (True,)),
    "hidden_act": ("gelu", ("gelu",)),
}
# What transformers writes for ESM-2 beside these.
_WRITTEN: dict[str, Any] = {
    "attention_probs_dropout_prob": 0.0,
    "emb_layer_norm_before": False,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.0,
    "initializer_range": 0.02,
    "is_folding_model": False,
    "max_position_embeddings": 1026,
    "model_type": "esm",
    "position_embedding_type": "rotary",
}


def read_settings(folder: Path) -> dict[str, Any]:
    """Reads fields of `ESM2Config` from a folder; refuses those of another network."""
    path = folder / "config.json"
    values = _read(path)
    for name, (absent, allowed) in _FIXED.items():
        if (given := values.get(name, absent)) not in allowed:
            raise ConfigError(
                f"{path}: {name} is {given!r}, but ESM2 needs {allowed[0]!r}; this is "
                "another network than ESM-2"
            )
    if missing := [name for name in _FIELDS if values.get(name) is None]:
        raise ConfigError(f"{path}: lacks {', '.join(missing)}")
    fields = {ours: values[theirs] for theirs, ours in _FIELDS.items()}
    return fields | {"base": values.get("rope_theta", 10000.0)}


def write_settings(config: ESM2Fields, dtype: str) -> str:
    """Returns the text of ``config.json``."""
    fields: dict[str, Any] = {
        theirs: getattr(config, ours) for theirs, ours in _FIELDS.items()
    }
    fields["intermediate_size"] = config.inner_width
    name = "EsmForMaskedLM" if config.has_lm_head else "EsmModel"
    facts = {"architectures": [name], "rope_theta": config.base, "torch_dtype": dtype}
    return json.dumps(_WRITTEN | fields | facts, indent=2, sort_keys=True) + "\n"


def _read(path: Path) -> dict[str, Any]:
    """Reads an object of JSON."""
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingFileError(
            f"{path}: no such file; expected a folder of Hugging Face's, with config.json "
            "and model.safetensors"
        ) from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: must hold an object of JSON")
    return cast("dict[str, Any]", values)
