"""``results.json``: what a run found and by which settings, for programs to read."""

import hashlib
import json
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from seqloom._files import write_atomic
from seqloom.models import Task
from seqloom.models._folder import RESULTS
from seqloom.report._values import Fact
from seqloom.train._judged import Part, find_intervals

_VERSION = 2


# `Run` writes itself by this module, which therefore does not know its type.
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
        "settings": {it: _plain(value) for it, value in run.report.facts.items()},
        "parts": {
            name: _describe(task, part) for name, part in parts.items() if part is not None
        },
    }


def _describe(task: Task, part: Part) -> dict[str, Any]:
    """Gives the metrics of a part, their intervals, and a name of its records."""
    return {
        "records": _name_records(task, part),
        "metrics": {it: _number(value) for it, value in part.metrics.items()},
        "intervals": {
            it: list(ends)
            for it, ends in find_intervals(task, part.metrics, part.labels).items()
        },
    }


def _name_records(task: Task, part: Part) -> str:
    """Names the records of a part, by their ids, labels and classes."""
    words = [*part.scores.ids, *task.columns, *map(str, np.ravel(part.labels).tolist())]
    text = "\0".join(words).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _plain(value: Fact) -> Fact:
    """Gives a setting that JSON knows: an infinite number as text."""
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _number(value: float) -> float | None:
    """Gives a number that JSON knows."""
    return value if isfinite(value) else None
