"""Results as one JSON object, for another program to read."""

import json
import sys
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqloom.train import Run


def print_json(facts: Mapping[str, Any]) -> None:
    """Prints one object; a number that JSON lacks (NaN) is null."""
    sys.stdout.write(json.dumps(_plain(facts), indent=2, allow_nan=False) + "\n")


def facts_of(run: "Run") -> dict[str, Any]:
    """Gives what a run printed."""
    parts = {"validation": run.valid, "test": run.test}
    return {
        "folder": None if run.folder is None else str(run.folder),
        "network": type(run.model).__name__,
        "parameters": run.model.number_of_parameters,
        "task": run.trained.task.name,
        "classes": list(run.trained.classes),
        "epochs": len(run.history),
        "best_epoch": run.best_epoch,
        **{name: part.metrics for name, part in parts.items() if part is not None},
    }


def _plain(value: Any) -> Any:
    """Makes what JSON knows of nested values."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return None if isinstance(value, float) and not isfinite(value) else value
