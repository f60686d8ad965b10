"""The model card of a run: ``README.md``, in the Markdown that model hubs read."""

from __future__ import annotations

import json
from html import escape
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._files import write_atomic
from seqloom._text import printable
from seqloom.models import Classify
from seqloom.models._folder import CARD, is_own_card
from seqloom.nn._metrics import confusion_matrix
from seqloom.report import wilson_interval
from seqloom.train._evaluation import find_intervals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from seqloom.models import Task, Trained
    from seqloom.report import Report
    from seqloom.train._evaluation import Part

MARK = "<!-- Written by seqloom. Remove this line, and no run replaces your text. -->"
# The names of our metrics and tasks on model hubs.
_MEASURES = {
    "accuracy": "accuracy",
    "mcc": "matthews_correlation",
    "auroc": "roc_auc",
    "auprc": "average_precision",
    "r2": "r_squared",
    "pearson": "pearsonr",
    "spearman": "spearmanr",
    "rmse": "rmse",
}
_TASKS = {"classify": "sequence-classification", "regress": "sequence-regression"}
# The figures of a class with fewer records are little more than a guess.
_FEW = 50


def write_card(
    folder: Path, *, trained: Trained, report: Report, valid: Part | None, test: Part | None
) -> None:
    """Writes the card of a run, unless a person's own text stands there."""
    path, parts = folder / CARD, {"test": test, "validation": valid}
    judged = {title: part for title, part in parts.items() if part is not None}
    if not path.exists() or is_own_card(path):
        name = folder.absolute().name
        text = _make(name, trained, report=report, judged=judged)
        write_atomic(path, text.encode())


def write_card_of_unfinished(folder: Path) -> None:
    """Writes what the card says until the run has finished."""
    path = folder / CARD
    if not path.exists() or is_own_card(path):
        name = _text(folder.absolute().name)
        text = f"{MARK}\n\n# {name}\n\nTraining of this model has not finished.\n"
        write_atomic(path, text.encode())


def _make(
    name: str, trained: Trained, *, report: Report, judged: Mapping[str, Part]
) -> str:
    """Makes the card of a run that has this name."""
    facts = [(key, str(value)) for key, value in report.facts.items()]
    facts.append(("written by", f"seqloom {metadata.version('seqloom')}"))
    limits = [*report.notes, *limits_of(trained, judged)]
    sections = [
        _front(name, trained, judged),
        f"{MARK}\n\n# {_text(name)}\n\n{_text(report.lead)}",
        _usage(name),
        _results(trained, judged),
        f"## Data and training\n\n{_table(('what', 'value'), facts)}",
        "## Limits\n\n" + "\n".join(f"- {_text(sentence)}" for sentence in limits),
    ]
    return "\n\n".join(sections) + "\n"


def _front(name: str, trained: Trained, judged: Mapping[str, Part]) -> str:
    """Writes what hubs read: YAML, whose values are written as JSON."""
    task = trained.task.name
    results = [
        {
            "task": {"type": _TASKS.get(task, task), "name": task},
            "dataset": {"name": f"{name}, {part_name} part", "type": part_name},
            "metrics": [
                {"type": _MEASURES[key], "value": round(value, 6), "name": key}
                for key, value in part.metrics.items()
                if key in _MEASURES and np.isfinite(value)
            ],
        }
        for part_name, part in judged.items()
    ]
    facts: dict[str, Any] = {
        "library_name": "seqloom",
        "tags": ["biology", "seqloom"],
        "model-index": [{"name": name, "results": results}],
    }
    return "\n".join(
        ["---", *(f"{key}: {json.dumps(it)}" for key, it in facts.items()), "---"]
    )


def _usage(name: str) -> str:
    """Shows how the model is used."""
    return (
        "## Use\n\n```python\nimport seqloom as sl\n\n"
        f"model = sl.models.load({json.dumps(name)})  # this folder\n"
        'scores = sl.infer.predict(model, "sequences.fa")\n```\n\n'
        "`seqloom predict FOLDER sequences.fa --out scores.tsv` writes them as a table. "
        "The weights are no pickle: loading them runs no code."
    )


def _results(trained: Trained, judged: Mapping[str, Part]) -> str:
    """Shows the measures of each part, and of each class."""
    if not judged:
        return "## Results\n\nNo part of the data was kept to judge the model."
    tables = [
        f"The {name} part, {round(part.metrics['n']):,} records:\n\n"
        + _measures(trained.task, part)
        for name, part in judged.items()
    ]
    name, part = next(iter(judged.items()))
    if isinstance(trained.task, Classify) and len(part.scores):
        tables.append(f"Each class in the {name} part:\n\n{_classes(trained.task, part)}")
    return "\n\n".join(["## Results", *tables])


def _measures(task: Task, part: Part) -> str:
    """Lists the measures of a part, with the intervals of those that have one."""
    found = find_intervals(task, part.metrics, part.labels)
    rows = [
        (
            key.replace("_", " "),
            f"{value:.4f}",
            _spell(*found[key]) if key in found else "-",
        )
        for key, value in part.metrics.items()
        if key != "n"
    ]
    return _table(("measure", "value", "95 % interval"), rows)


def _spell(low: float, high: float) -> str:
    """Spells an interval as its measure is spelled: by four decimals."""
    return f"{low:.4f} to {high:.4f}"


def _classes(task: Classify, part: Part) -> str:
    """Lists recall and precision of each class, with their intervals."""
    guess = task.decide(part.scores.to_numpy())
    counts = confusion_matrix(part.labels, guess, size=len(task.columns))
    called, there = counts.sum(axis=0), counts.sum(axis=1)
    rows = [
        (
            name,
            f"{there[it]:,}",
            *_share(counts[it, it], there[it]),
            *_share(counts[it, it], called[it]),
        )
        for it, name in enumerate(task.columns)
    ]
    head = ("class", "records", "recall", "95 % interval", "precision", "95 % interval")
    return _table(head, rows)


def _share(hits: int, total: int) -> tuple[str, str]:
    """Spells a share and its interval; of nothing there is none."""
    if not total:
        return "-", "-"
    return f"{hits / total:.4f}", _spell(*wilson_interval(int(hits), int(total)))


def limits_of(trained: Trained, judged: Mapping[str, Part]) -> Iterator[str]:
    """Lists what the figures do not show, from how the model was judged."""
    if not judged:
        yield "No figure says how good the model is."
    elif "test" not in judged:
        yield (
            "The validation part chose the epoch, so its figures are a little too good; no "
            "test part was kept."
        )
    for name, part in list(judged.items())[:1]:
        yield from _few(trained, name, part)
    yield (
        "The figures hold for records like those it was judged on. Whether records of "
        "different parts are related, such as homologous, was not looked at."
    )


def _few(trained: Trained, name: str, part: Part) -> Iterator[str]:
    """Names classes that were hardly seen."""
    if not isinstance(trained.task, Classify) or not len(part.scores):
        return
    counts = np.bincount(np.asarray(part.labels, int), minlength=len(trained.task.columns))
    named = zip(trained.task.columns, counts.tolist(), strict=True)
    if few := [f"{count} of {title}" for title, count in named if count < _FEW]:
        yield (
            f"The {name} part holds few records of some classes: {', '.join(few)}. Below "
            f"{_FEW} a class can hardly be judged."
        )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Writes a Markdown table."""
    lines = [head, ["---"] * len(head), *([_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(text: str) -> str:
    """Writes a text so that Markdown shows it and obeys nothing in it."""
    shown = escape(printable(text), quote=False)
    return "".join(f"\\{it}" if it in "\\`*_[]|#" else it for it in shown)
