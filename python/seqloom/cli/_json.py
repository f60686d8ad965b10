"""Results as one JSON object, for another program to read."""

import json
import sys
from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import fmean, stdev
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


def facts_of_folds(runs: Sequence["Run"]) -> dict[str, Any]:
    """Gives what each fold printed, and each metric's mean and deviation over them."""
    parts = [run.valid.metrics for run in runs if run.valid is not None]
    columns = {name: [part[name] for part in parts] for name in parts[0] if name != "n"}
    return {
        "folds": [facts_of(run) for run in runs],
        "mean": {name: fmean(values) for name, values in columns.items()},
        "deviation": {
            name: stdev(values) if all(map(isfinite, values)) else None
            for name, values in columns.items()
        },
    }


def _plain(value: Any) -> Any:
    """Makes what JSON knows of nested values."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return None if isinstance(value, float) and not isfinite(value) else value
