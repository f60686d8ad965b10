"""Write the model card of a run, for people and for model hubs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from seqloom._files import write_atomic
from seqloom._text import printable
from seqloom.models import Classify, Task, Trained
from seqloom.models._folder import CARD, is_own_card
from seqloom.report import Report, wilson_interval
from seqloom.train._baselines import Baseline, Ranking, format_cells
from seqloom.train._evaluation import Part, find_intervals
from seqloom.train._report import count_decisions, limits_of, list_baselines

CARD_MARK = "<!-- Written by seqloom. Remove this line to keep your text in later runs. -->"
# Names of metrics and tasks in the metadata of model hubs.
_HUB_METRICS = {
    "accuracy": "accuracy",
    "mcc": "matthews_correlation",
    "auroc": "roc_auc",
    "auprc": "average_precision",
    "r2": "r_squared",
    "pearson": "pearsonr",
    "spearman": "spearmanr",
    "rmse": "rmse",
    "jensen_shannon": "jensen_shannon_distance",
}
_HUB_TASKS = {"classify": "sequence-classification", "regress": "sequence-regression"}


def write_card(
    folder: Path,
    *,
    trained: Trained,
    report: Report,
    evaluated: dict[str, Part],
    baselines: tuple[Baseline, ...] = (),
    network: str = "",
) -> None:
    """Write the model card of a run, unless the user has written one."""
    facts = [(key, str(value)) for key, value in report.facts.items()]
    facts.append(("written by", f"seqloom {metadata.version('seqloom')}"))
    limits = [*report.notes, *limits_of(trained, evaluated)]
    name = folder.absolute().name
    use = (
        "## Use\n\n```python\nimport seqloom as sl\n\n"
        f"model = sl.models.load({json.dumps(name)})  # this folder\n"
        'scores = sl.infer.predict(model, "sequences.fa")\n```\n\n'
        "`seqloom predict FOLDER sequences.fa --out scores.tsv` writes them as a table. "
        "Loading the weights runs no code, because they are not pickled."
    )
    sections = [
        _metadata(name, trained, evaluated),
        f"{CARD_MARK}\n\n# {_escape(name)}\n\n{_escape(report.lead)}",
        use,
        _results(trained.task, evaluated),
        *_baselines_of_card(Ranking.of(network, baselines, evaluated)),
        f"## Data and training\n\n{_markdown_table(('what', 'value'), facts)}",
        "## Limitations\n\n" + "\n".join(f"- {_escape(sentence)}" for sentence in limits),
    ]
    _write_card(folder, sections)


def write_card_of_unfinished(folder: Path) -> None:
    """Write the model card of a run that has not finished."""
    name, text = folder.absolute().name, "Training of this model has not finished."
    _write_card(folder, [f"{CARD_MARK}\n\n# {_escape(name)}", text])


def _write_card(folder: Path, sections: list[str]) -> None:
    """Write a model card, unless the user has written one."""
    path = folder / CARD
    if not path.exists() or is_own_card(path):
        write_atomic(path, ("\n\n".join(sections) + "\n").encode())


def _metadata(name: str, trained: Trained, evaluated: Mapping[str, Part]) -> str:
    """Return the metadata for model hubs, as YAML whose values are written in JSON."""
    task = trained.task.name
    results = [
        {
            "task": {"type": _HUB_TASKS.get(task, task), "name": task},
            "dataset": {"name": f"{name}, {part_name} set", "type": part_name},
            "metrics": [
                {"type": _HUB_METRICS[key], "value": round(value, 6), "name": key}
                for key, value in part.metrics.items()
                if key in _HUB_METRICS and np.isfinite(value)
            ],
        }
        for part_name, part in evaluated.items()
    ]
    facts: dict[str, Any] = {
        "library_name": "seqloom",
        "tags": ["biology", "seqloom"],
        "model-index": [{"name": name, "results": results}],
    }
    return "\n".join(
        ["---", *(f"{key}: {json.dumps(it)}" for key, it in facts.items()), "---"]
    )


def _results(task: Task, evaluated: Mapping[str, Part]) -> str:
    """Return tables of metrics for each set, and for each class in the first set."""
    if not evaluated:
        return "## Results\n\nThere was no validation or test set."
    tables = ["## Results"]
    for name, part in evaluated.items():
        found = find_intervals(task, part.metrics, part.labels, scores=part.scores)
        rows = [
            (
                key.replace("_", " "),
                f"{value:.4f}",
                _format_interval(*found[key]) if key in found else "-",
            )
            for key, value in part.metrics.items()
            if key != "n"
        ]
        table = _markdown_table(("metric", "value", "95 % interval"), rows)
        count = round(part.metrics["n"])
        tables.append(f"The {name} set, {count:,} records:\n\n{table}")
    name, part = next(iter(evaluated.items()))
    if isinstance(task, Classify) and len(part.scores):
        counts = count_decisions(task, part)
        sizes, called = counts.sum(axis=1), counts.sum(axis=0)
        rows = [
            (
                title,
                f"{sizes[it]:,}",
                *_format_share(counts[it, it], sizes[it]),
                *_format_share(counts[it, it], called[it]),
            )
            for it, title in enumerate(task.columns)
        ]
        head = ("class", "records", "recall", "95 % interval", "precision", "95 % interval")
        tables.append(f"Each class in the {name} set:\n\n{_markdown_table(head, rows)}")
    return "\n\n".join(tables)


def _baselines_of_card(ranking: Ranking | None) -> Iterator[str]:
    """Yield the comparison with the baselines."""
    if ranking is not None:
        note = _escape(ranking.note)
        head, rows = list_baselines(ranking)
        table = _markdown_table(head, [format_cells(row) for row in rows])
        yield f"## Baselines\n\n{note}\n\n{table}"


def _format_interval(low: float, high: float) -> str:
    """Format a confidence interval with four decimals, like its metric."""
    return f"{low:.4f} to {high:.4f}"


def _format_share(hits: int, total: int) -> tuple[str, str]:
    """Format a proportion and its confidence interval; dashes if the total is 0."""
    if not total:
        return "-", "-"
    return f"{hits / total:.4f}", _format_interval(*wilson_interval(int(hits), int(total)))


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *([_escape(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape(text: str) -> str:
    """Escape the special characters of Markdown in a text."""
    shown = escape(printable(text), quote=False)
    return "".join(f"\\{it}" if it in "\\`*_[]|#" else it for it in shown)
