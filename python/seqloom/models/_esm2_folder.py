"""Folders of ESM-2 as Hugging Face's transformers write them: names of arrays."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._files import write_atomic
from seqloom.errors import FileError, RecordError
from seqloom.models._esm2_settings import write_settings
from seqloom.nn._stored import Stored
from seqloom.record import LazyArray, Record, Safetensors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from seqloom.models._esm2_fields import ESM2Fields
    from seqloom.nn import Module

# Our paths as patterns, and transformers' without the prefix "esm.". The first pattern
# that fits decides. Queries, keys and values are one matrix of ours.
_NAMES = {
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
_RATES = "encoder.layer.{}.attention.self.rotary_embeddings.inv_freq"
_JOINED = ("query", "key", "value")
# What transformers call the same otherwise: the first prefix, the names of norms in some
# versions, and the rates of rotary positions, which are those of each layer in some.
_SYNONYMS = {
    r"^esm\.": "",
    r"(LayerNorm|layer_norm|layer_norm_after)\.gamma$": r"\1.weight",
    r"(LayerNorm|layer_norm|layer_norm_after)\.beta$": r"\1.bias",
    r"^encoder\.layer\.[^.]+\.attention\.self\.(rotary_embeddings\.inv_freq)$": r"\1",
}
# So many numbers more than its weights a network may have before it is made: what is
# missing is named then.
_SPARE = 1 << 20
# Arrays that ESM2 does not use: positions that are not rotary, the decoder, which is the
# embedding, and heads that are not ours.
_UNUSED = re.compile(
    r"embeddings\.position_(ids|embeddings\.weight)|lm_head\.decoder\.(weight|bias)"
    r"|pooler\..*|classifier\..*"
)


def save_folder(network: Module, config: ESM2Fields, folder: Path) -> None:
    """Writes the settings and the weights of a network."""
    record = network.to_record()
    text = write_settings(config, str(record["embedding.weight"].dtype))
    arrays = _split(record, config)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: cannot be made: {error.strerror or error}") from None
    write_atomic(folder / "config.json", text.encode())
    Record(arrays).save(folder / "model.safetensors", Safetensors(plain=True))


def _split(record: Mapping[str, Any], config: ESM2Fields) -> dict[str, Any]:
    """Returns the arrays under names that every version of transformers loads."""
    prefix = "esm." if config.has_lm_head else ""
    arrays: dict[str, Any] = {}
    for path, array in record.items():
        names = list_theirs(path)
        parts = np.split(np.asarray(array), len(names))
        if path == "rates":  # in the older folder, which newer versions read too
            names = [_RATES.format(number) for number in range(config.layers)]
            parts = [np.asarray(array)] * len(names)
        arrays |= dict(zip(names, parts, strict=True))
    return {
        name if name.startswith("lm_head.") else prefix + name: array
        for name, array in arrays.items()
    }


def index(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arrays of a record under the plain names of transformers."""
    return {_plain(name): array for name, array in record.items()}


def _plain(name: str) -> str:
    """Returns a name without what differs between versions of transformers."""
    for pattern, new in _SYNONYMS.items():
        name = re.sub(pattern, new, name)
    return name


def find_heads(arrays: Mapping[str, Any]) -> dict[str, bool]:
    """Returns the fields of `ESM2Config` that say which heads there are."""
    used = [name for name in arrays if not _UNUSED.fullmatch(name)]
    return {
        f"has_{head}": any(name.startswith(f"{head}.") for name in used)
        for head in ("lm_head", "contact_head")
    }


def check_size(config: ESM2Fields, arrays: Mapping[str, Any], folder: str) -> None:
    """Refuses settings of a network that is far larger than its weights."""
    layer = config.width * (4 * config.width + 2 * config.inner_width)
    wanted = config.layers * layer + config.vocabulary * config.width
    found = sum(prod(array.shape) for array in arrays.values())
    if wanted > 2 * found + _SPARE:
        raise RecordError(
            f"{folder}: the weights do not fit: config.json describes at least {wanted:,} "
            f"numbers, and there are {found:,}"
        )


def collect(network: Module, arrays: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Returns the arrays by our paths; refuses those that do not fit."""
    parts = dict(network.named(Stored))
    if not arrays.keys() & list_theirs("rates"):
        del parts["rates"]  # the network computes them
    names = {path: list_theirs(path) for path in parts}
    shapes = {
        name: (part.shape[0] // len(names[path]), *part.shape[1:])
        for path, part in parts.items()
        for name in names[path]
    }
    if problems := _list_problems(arrays, shapes):
        raise RecordError(f"{folder}: the weights do not fit: " + "; ".join(problems))
    return {
        path: _join([arrays[name] for name in names[path]], part.shape)
        for path, part in parts.items()
    }


def list_theirs(path: str) -> list[str]:
    """Returns the plain names of the arrays that make the array of a path."""
    for pattern, new in _NAMES.items():
        name, count = re.subn(f"^{pattern}", new, path)
        if count:
            path = name
            break
    return [path.replace("@", part) for part in _JOINED] if "@" in path else [path]


def _list_problems(
    arrays: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> list[str]:
    """Returns a phrase for each array that keeps weights from fitting."""
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
            if name not in shapes and not _UNUSED.fullmatch(name)
        ),
    ]


def _join(parts: list[Any], shape: tuple[int, ...]) -> Any:
    """Returns one array of several, which are read when it is used."""
    first = parts[0]
    if len(parts) == 1:
        return first

    def read() -> NDArray[Any]:
        return np.concatenate([np.asarray(part) for part in parts])

    return LazyArray(getattr(first, "file", ""), first.path, shape, first.dtype, read)
