"""export.json: what records are and become, and a hash of each file and of itself."""

from __future__ import annotations

import json
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from seqloom.models import Classify, Multilabel, Regress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqloom.models import Task, Trained

FORMAT, VERSION = "seqloom-export", 2
_PLACE = "0" * 64


def to_bytes(table: Mapping[str, Any]) -> bytes:
    """Writes JSON as text: a line an entry, and of a list a line an element."""
    entries = (f"{json.dumps(name)}: {_to_lines(it)}" for name, it in table.items())
    return ("{\n" + ",\n".join(entries) + "\n}\n").encode()


def _to_lines(value: Any) -> str:
    """Writes one entry."""
    elements = cast("list[Any]", value) if isinstance(value, list) else []
    lines = ",\n ".join(json.dumps(it, allow_nan=False) for it in elements)
    return f"[\n {lines}\n]" if lines else json.dumps(value, allow_nan=False)


def seal(facts: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """Writes export.json, with the hash of each other file and of itself."""
    table = {
        "checksum": _PLACE,
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"seqloom {version('seqloom')}",
        **facts,
        "files": {name: sha256(data).hexdigest() for name, data in files.items()},
    }
    text = to_bytes(table)
    return text.replace(_PLACE.encode(), sha256(text).hexdigest().encode(), 1)


def describe_task(task: Task) -> dict[str, Any]:
    """Says what becomes of the outputs, and what they are called."""
    known = {"name": task.name, "columns": list(task.columns)}
    if isinstance(task, Regress):
        return known | {"mean": list(task.mean), "deviation": list(task.deviation)}
    if isinstance(task, (Classify, Multilabel)):
        return known
    return {"name": "custom", "columns": list(task.columns)}


def describe_training(trained: Trained | None, encoder: Any) -> dict[str, Any]:
    """Says what the network was trained on, for the checks of what it is given."""
    known = None if trained is None else trained.trained_on
    lengths = None if known is None else known.lengths
    return {
        "alphabet": getattr(encoder, "alphabet", None),
        "lengths": None if lengths is None else list(lengths),
        "finished": trained is None or trained.is_finished,
    }
