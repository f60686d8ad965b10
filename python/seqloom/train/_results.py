"""``results.json``: what a run found and by which settings, for programs to read."""

import hashlib
import json
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from seqloom._files import write_atomic
from seqloom.models import Classify, Regress, Task
from seqloom.report import (
    auprc_interval,
    auroc_interval,
    pearson_interval,
    wilson_interval,
)

# `Run` writes itself by this module, which therefore does not know its type.
RESULTS = "results.json"
_VERSION = 1
_TWO = 2


def write_results(folder: Path, run: Any) -> None:
    """Writes the results of a run, whole or not at all."""
    text = json.dumps(results_of(run), indent=2, allow_nan=False)
    write_atomic(folder / RESULTS, f"{text}\n".encode())


def results_of(run: Any) -> dict[str, Any]:
    """Gives plain values that JSON has; what is no number is None."""
    task, parts = run.trained.task, {"validation": run.valid, "test": run.test}
    return {
        "version": _VERSION,
        "network": type(run.model).__name__,
        "parameters": run.model.number_of_parameters,
        "task": task.name,
        "classes": list(task.columns),
        "epochs": len(run.history),
        "best_epoch": run.best_epoch,
        "seconds": round(sum(row["seconds"] for row in run.history), 3),
        "settings": dict(run.report.facts),
        "parts": {
            name: _describe(task, part) for name, part in parts.items() if part is not None
        },
    }


def _describe(task: Task, part: Any) -> dict[str, Any]:
    """Gives the metrics of a part, their intervals, and a name of its records."""
    names = "\0".join(part.scores.ids).encode("utf-8", "surrogatepass")
    return {
        "records": hashlib.blake2b(names, digest_size=8).hexdigest(),
        "metrics": {it: _number(value) for it, value in part.metrics.items()},
        "intervals": {it: list(ends) for it, ends in _intervals(task, part).items()},
    }


def _number(value: float) -> float | None:
    """Gives a number that JSON knows."""
    return value if isfinite(value) else None


def _intervals(task: Task, part: Any) -> dict[str, tuple[float, float]]:
    """Computes the 95 % intervals of the metrics that have one in closed form."""
    metrics, count = part.metrics, len(part.scores)
    if isinstance(task, Classify):
        found = {"accuracy": wilson_interval(round(metrics["accuracy"] * count), count)}
        has_areas = len(task.columns) == _TWO
        return found | (_areas(metrics, part.labels) if has_areas else {})
    if isinstance(task, Regress) and len(task.columns) == 1:
        return {"pearson": pearson_interval(metrics["pearson"], count)}
    return {}


def _areas(metrics: dict[str, float], labels: Any) -> dict[str, tuple[float, float]]:
    """Computes those of the areas, which of two classes are of the second one."""
    positives = int(np.sum(labels))
    negatives = len(labels) - positives
    if not (positives and negatives):
        return {}
    return {
        "auroc": auroc_interval(metrics["auroc"], positives, negatives),
        "auprc": auprc_interval(metrics["auprc"], positives),
    }
