"""ESM-2 folders in the Hugging Face transformers layout: settings and array names."""

from __future__ import annotations

import json
import re
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import is_dict
from seqloom._files import write_atomic
from seqloom.encode import Tokens
from seqloom.errors import ConfigError, FileError, MissingFileError, RecordError
from seqloom.nn import quantize_int8
from seqloom.nn._parameters import ModuleArray
from seqloom.record import LazyArray, Record, Safetensors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from seqloom.models._esm2_config import ESM2Fields
    from seqloom.nn import Module


# seqloom paths as patterns -> names in transformers without the prefix "esm.". The
# first matching pattern applies. Query, key and value are a single matrix in seqloom.
_PARAMETER_NAMES = {
    r"embedding\.": "embeddings.word_embeddings.",
    r"norm\.": "encoder.emb_layer_norm_after.",
    r"lm_head\.norm\.": "lm_head.layer_norm.",
    r"contact_head\.": "contact_head.regression.",
    r"rates": "rotary_embeddings.inv_freq",
    r"layers\.(\d+)\.norm1\.": r"encoder.layer.\1.attention.LayerNorm.",
    r"layers\.(\d+)\.qkv\.": r"encoder.layer.\1.attention.self.@.",
    r"layers\.(\d+)\.out\.": r"encoder.layer.\1.attention.output.dense.",
    r"layers\.(\d+)\.norm2\.": r"encoder.layer.\1.LayerNorm.",
    r"layers\.(\d+)\.fc1\.": r"encoder.layer.\1.intermediate.dense.",
    r"layers\.(\d+)\.fc2\.": r"encoder.layer.\1.output.dense.",
}
_ROTARY_RATES_NAME = "encoder.layer.{}.attention.self.rotary_embeddings.inv_freq"
_QKV_NAMES = ("query", "key", "value")
# Names that differ between versions of transformers: the prefix, and the names of
# norms. Some versions of transformers store the rotary rates in each layer.
_NAME_VARIANTS = {
    r"^esm\.": "",
    r"(LayerNorm|layer_norm|layer_norm_after)\.gamma$": r"\1.weight",
    r"(LayerNorm|layer_norm|layer_norm_after)\.beta$": r"\1.bias",
    r"^encoder\.layer\.[^.]+\.attention\.self\.(rotary_embeddings\.inv_freq)$": r"\1",
}
# Number of weights by which the network in config.json may exceed the weights in files.
# If the excess is smaller, the error lists the mismatched arrays.
_MAX_EXCESS_WEIGHTS = 1 << 20
# Arrays of transformers that ESM2 does not use: learned positions, the decoder (which
# equals the embedding), and the heads of other tasks.
_UNUSED_ARRAYS = re.compile(
    r"embeddings\.position_(ids|embeddings\.weight)|lm_head\.decoder\.(weight|bias)"
    r"|pooler\..*|classifier\..*"
)


def save_folder(network: Module, config: ESM2Fields, folder: Path) -> None:
    """Write the settings and weights of a network."""
    record = network.to_record()
    text = write_settings(config, str(record["embedding.weight"].dtype))
    arrays = _split_arrays(record, config)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: cannot be created: {error.strerror or error}") from None
    write_atomic(folder / "config.json", text.encode())
    Record(arrays).save(folder / "model.safetensors", Safetensors(plain=True))


def _split_arrays(record: Mapping[str, Any], config: ESM2Fields) -> dict[str, Any]:
    """Return the arrays with names that all versions of transformers load."""
    prefix = "esm." if config.has_lm_head else ""
    arrays: dict[str, Any] = {}
    for path, array in record.items():
        names = list_transformers_names(path)
        parts = np.split(np.asarray(array), len(names))
        if path == "rates":
            names = [_ROTARY_RATES_NAME.format(number) for number in range(config.layers)]
            parts = [np.asarray(array)] * len(names)
        arrays |= dict(zip(names, parts, strict=True))
    return {
        name if name.startswith("lm_head.") else prefix + name: array
        for name, array in arrays.items()
    }


def normalise_names(record: Mapping[str, Any]) -> dict[str, Any]:
    """Replace array names that differ between transformers versions by one spelling."""
    arrays = dict(record)
    for pattern, new in _NAME_VARIANTS.items():
        arrays = {re.sub(pattern, new, name): array for name, array in arrays.items()}
    return arrays


def find_heads(arrays: Mapping[str, Any]) -> dict[str, bool]:
    """Return the fields of `ESM2Config` for the heads that exist in the arrays."""
    used = [name for name in arrays if not _UNUSED_ARRAYS.fullmatch(name)]
    return {
        f"has_{head}": any(name.startswith(f"{head}.") for name in used)
        for head in ("lm_head", "contact_head")
    }


def check_weight_count(config: ESM2Fields, arrays: Mapping[str, Any], folder: str) -> None:
    """Raise if the settings describe a network that is far larger than the weights."""
    layer = config.width * (4 * config.width + 2 * config.inner_width)
    wanted = config.layers * layer + config.vocabulary * config.width
    found = sum(prod(array.shape) for array in arrays.values())
    if wanted > 2 * found + _MAX_EXCESS_WEIGHTS:
        raise RecordError(
            f"{folder}: the weights do not fit: config.json describes at least "
            f"{wanted:,} weights, but the files contain {found:,}"
        )


def map_arrays(network: Module, arrays: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the arrays by seqloom path; raise if they do not fit the network."""
    parts = dict(network.named(ModuleArray))
    if not arrays.keys() & list_transformers_names("rates"):
        del parts["rates"]  # if absent, the network computes the rotary rates
    names = {path: list_transformers_names(path) for path in parts}
    shapes = {
        name: (part.shape[0] // len(names[path]), *part.shape[1:])
        for path, part in parts.items()
        for name in names[path]
    }
    if problems := _list_problems(arrays, shapes):
        raise RecordError(f"{folder}: the weights do not fit: " + "; ".join(problems))
    return {
        path: _concat_lazily([arrays[name] for name in names[path]], part.shape)
        for path, part in parts.items()
    }


def list_transformers_names(path: str) -> list[str]:
    """Return the transformers names of the arrays that form the array of a path."""
    for pattern, new in _PARAMETER_NAMES.items():
        name, count = re.subn(f"^{pattern}", new, path)
        if count:
            path = name
            break
    return [path.replace("@", part) for part in _QKV_NAMES] if "@" in path else [path]


def _list_problems(
    arrays: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> list[str]:
    """Return a message for each mismatch between the arrays and the network."""
    return [
        *(f"{name} is missing" for name in shapes if name not in arrays),
        *(
            f"{name} has shape {arrays[name].shape}, expected {shape}"
            for name, shape in shapes.items()
            if name in arrays and arrays[name].shape != shape
        ),
        *(
            f"{name} is not an array of ESM-2"
            for name in arrays
            if name not in shapes and not _UNUSED_ARRAYS.fullmatch(name)
        ),
    ]


def _concat_lazily(parts: list[Any], shape: tuple[int, ...]) -> Any:
    """Concatenate several arrays lazily."""
    first = parts[0]
    if len(parts) == 1:
        return first

    def read() -> NDArray[Any]:
        return np.concatenate([np.asarray(part) for part in parts])

    return LazyArray(getattr(first, "file", ""), first.path, shape, first.dtype, read)


# Proteins for the calibration of 8-bit layers: ubiquitin, the alpha chain of
# haemoglobin, lysozyme and green fluorescent protein.
_CALIBRATION_PROTEINS = """
MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG

MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKKVADALTNAVAHVDDMPNALSAL
SDLHAHKLRVDPVNFKLLSHCLLVTLAAHLPAEFTPAVHASLDKFLASVSTVLTSKYR

KVFGRCELAAAMKRHGLDNYRGYSLGNWVCAAKFESNFNTQATNRNTDGSTDYGILQINSRWWCNDGRTPGSRNLCNIPCSALL
SSDITASVNCAKKIVSDGNGMNAWVAWRNRCKGTDVQAWIRGCRL

MSKGEELFTGVVPILVELDGDVNGHKFSVSGEGEGDATYGKLTLKFICTTGKLPVPWPTLVTTFSYGVQCFSRYPDHMKQHDFF
KSAMPEGYVQERTIFFKDDGNYKTRAEVKFEGDTLVNRIELKGIDFKEDGNILGHKLEYNYNSHNVYIMADKQKNGIKVNFKIR
HNIEDGSVQLADHYQQNTPIGDGPVLLPDNHYLSTQSALSKDPNEKRDHMVLLEFVTAAGITHGMDELYK
"""


def quantise_layers(network: Module, vocabulary: int) -> None:
    """Quantise the linear layers of a network, except those of its heads."""
    proteins = ["".join(lines.split()) for lines in _CALIBRATION_PROTEINS.split("\n\n")]
    tokens, starts = Tokens("esm2").flat(proteins)
    # A custom network may have a smaller vocabulary.
    sample = tokens % vocabulary, starts, int(np.diff(starts).max())
    quantize_int8(network, sample, targets=["layers.*"])


# Required fields of config.json -> fields of ESM2Config.
_CONFIG_FIELDS = {
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
# Fields of config.json that distinguish ESM-2 from other networks: default and allowed
# values.
_REQUIRED_VALUES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "model_type": (None, ("esm",)),
    "position_embedding_type": ("absolute", ("rotary",)),
    "emb_layer_norm_before": (False, (False, None)),
    "is_folding_model": (False, (False, None)),
    "is_decoder": (False, (False, None)),
    "add_cross_attention": (False, (False, None)),
    "tie_word_embeddings": (True, (True,)),
    "hidden_act": ("gelu", ("gelu",)),
}
# Other fields that transformers writes to config.json for ESM-2.
_EXTRA_FIELDS: dict[str, Any] = {
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
    """Read the fields of `ESM2Config` from a folder; raise for another network."""
    path = folder / "config.json"
    values = _read_json(path)
    for name, (absent, allowed) in _REQUIRED_VALUES.items():
        if (given := values.get(name, absent)) not in allowed:
            raise ConfigError(
                f"{path}: {name} is {given!r}, but ESM2 needs {allowed[0]!r}; this is not "
                "an ESM-2 network"
            )
    if missing := [name for name in _CONFIG_FIELDS if values.get(name) is None]:
        raise ConfigError(f"{path}: lacks {', '.join(missing)}")
    fields = {ours: values[theirs] for theirs, ours in _CONFIG_FIELDS.items()}
    return fields | {"base": values.get("rope_theta", 10000.0)}


def write_settings(config: ESM2Fields, dtype: str) -> str:
    """Return the text of ``config.json``."""
    fields: dict[str, Any] = {
        theirs: getattr(config, ours) for theirs, ours in _CONFIG_FIELDS.items()
    }
    fields["intermediate_size"] = config.inner_width
    name = "EsmForMaskedLM" if config.has_lm_head else "EsmModel"
    facts = {"architectures": [name], "rope_theta": config.base, "torch_dtype": dtype}
    return json.dumps(_EXTRA_FIELDS | fields | facts, indent=2, sort_keys=True) + "\n"


def _read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingFileError(
            f"{path}: no such file; expected a Hugging Face folder with config.json "
            "and model.safetensors"
        ) from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not JSON: {error}") from None
    if not is_dict(values):
        raise ConfigError(f"{path}: must contain a JSON object")
    return values
