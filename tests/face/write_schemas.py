"""Write the JSON schema of config.json from the classes of its settings.

    python -m tests.face.write_schemas

A new field of a class changes its schema: `test_schemas.py` compares the schema with the
file in docs/reference/schemas. All other schemas in docs/reference/schemas are written
by hand.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

from seqloom._config import JsonConfig, _list_init_fields
from seqloom.data._embedding_dataset import EmbeddingEncoder
from seqloom.data.genotype._encoder import GenotypeEncoder
from seqloom.encode import Integer, Kmer, OneHot, Quality, Tokens
from seqloom.models import (
    Classify,
    Custom,
    ESM2Config,
    GenotypeMLPConfig,
    Multilabel,
    Regress,
    SequenceCNNConfig,
    SequenceLinearConfig,
)
from seqloom.models._esm2_lora import ESM2LoRAConfig
from seqloom.models._head import HeadConfig
from seqloom.models._training_facts import TrainedOn

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA_FOLDER = Path(__file__).parents[2] / "docs/reference/schemas"
SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
MODEL_SETTINGS = [
    SequenceCNNConfig,
    SequenceLinearConfig,
    GenotypeMLPConfig,
    HeadConfig,
    ESM2Config,
    ESM2LoRAConfig,
]
ENCODER_CLASSES = [
    OneHot,
    Integer,
    Kmer,
    Tokens,
    Quality,
    GenotypeEncoder,
    EmbeddingEncoder,
]
TASK_CLASSES = [Classify, Multilabel, Regress, Custom]
POSITIVE_INTEGER = {"type": "integer", "minimum": 1}


def config_schema() -> dict[str, Any]:
    """Return the schema of a run's config.json."""
    entries = {
        "version": {**POSITIVE_INTEGER, "description": "The version of this format."},
        "model": _one_of(
            "The network; null for a custom network without settings.",
            MODEL_SETTINGS,
            or_null=True,
        ),
        "encoder": _one_of(
            "The encoder, which converts records to numbers.",
            ENCODER_CLASSES,
            or_null=True,
        ),
        "task": _one_of("The task, with the names of its classes or labels.", TASK_CLASSES),
        "batch_size": {
            **POSITIVE_INTEGER,
            "description": "The number of records in a batch of `predict`.",
        },
    }
    origin = {"$ref": f"#/$defs/{TrainedOn.__name__}"}
    settings = [*MODEL_SETTINGS, *ENCODER_CLASSES, *TASK_CLASSES, TrainedOn]
    return {
        "$schema": SCHEMA_DIALECT,
        "title": "config.json in a run folder",
        "type": "object",
        "required": list(entries),
        "properties": entries | {"trained_on": origin, "finished": {"type": "boolean"}},
        "$defs": {it.__name__: _settings(it) for it in settings},
    }


def _one_of(
    description: str, classes: Iterable[type[JsonConfig]], *, or_null: bool = False
) -> dict[str, Any]:
    """Allow settings of these classes, and of classes outside seqloom."""
    names = [it.__name__ for it in classes]
    others = {
        "type": "object",
        "required": ["class", "version"],
        "properties": {
            "class": {"type": "string", "not": {"enum": names}},
            "version": POSITIVE_INTEGER,
        },
    }
    found = [{"$ref": f"#/$defs/{name}"} for name in names]
    nothing = [{"type": "null"}] if or_null else []
    return {"description": description, "oneOf": [*found, others, *nothing]}


def _settings(kind: type[JsonConfig]) -> dict[str, Any]:
    """Return the schema of one class: its fields, name and version."""
    hints = get_type_hints(kind)
    saved = _list_init_fields(kind)
    entries = {
        "class": {"const": kind.__name__},
        "version": {**POSITIVE_INTEGER, "maximum": kind.version},
        **{field.name: msgspec.json.schema(hints[field.name]) for field in saved},
    }
    return {
        "description": inspect.getdoc(kind).partition("\n\n")[0].replace("\n", " "),
        "type": "object",
        "required": list(entries),
        "properties": entries,
        "additionalProperties": False,
    }


if __name__ == "__main__":
    text = json.dumps(config_schema(), indent=2) + "\n"
    (SCHEMA_FOLDER / "config.schema.json").write_text(text, "utf-8")
