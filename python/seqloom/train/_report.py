"""What is written about a run: its report, and its model card for model hubs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import metadata
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom._files import write_atomic
from seqloom._text import printable
from seqloom.data._describe import describe_letters
from seqloom.infer._scores import order_of
from seqloom.models import Classify, Multilabel, Regress, Task, Trained
from seqloom.models._folder import CARD, is_own_card
from seqloom.nn._metrics import auprc, auroc, confusion_matrix
from seqloom.report import (
    Confusion,
    Curve,
    Report,
    Scatter,
    Section,
    Table,
    Tile,
    percent,
    wilson_interval,
)
from seqloom.report._values import Fact
from seqloom.train._checkpoints import State
from seqloom.train._evaluation import Part, find_intervals
from seqloom.train._job import Job
from seqloom.train._letters import class_logos, mistakes_section
from seqloom.train._parts import Parts, count_samples
from seqloom.train._prepare import describe_conflicts
from seqloom.train._probabilities import probability_sections

# To colour letters, a run scores at most one record for each so many that it learned from.
_SHARE = 20
_SHARES = {"accuracy", "balanced_accuracy"}
_NAMES = {
    "loss": "loss",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "mcc": "MCC",
    "auroc": "AUROC",
    "auprc": "AUPRC",
    "r2": "r2",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "rmse": "RMSE",
}
_NOTES = {
    "dropped": "{count} intervals leave their chromosome and were left out.",
    "unlabelled": "{count} {noun} have no label and were left out.",
    "missing_labels": "The label of {count} {noun} is missing; they were left out.",
    "missing_covariates": "{count} {noun} lack a covariate; its mean stands for it.",
    "flipped": "{count} variants have exchanged alleles and were flipped.",
    "missing_alleles": "{count} variants lack an allele (0); their id and the other allele "
    "were compared.",
}
_CONSTANT = "Variants that do not vary among the training {noun} count nothing: {count}."
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


def make_report(
    job: Job,
    state: State,
    judged: dict[str, Part],
    *,
    facts: dict[str, Fact],
    notes: list[str],
) -> Report:
    """Make the report of a run from the parts on which it was evaluated."""
    task, parts, folder = job.trained.task, job.parts, job.settings.folder.path
    count, columns = count_samples(parts.train), ", ".join(task.columns)
    data = f"{count:,} {parts.noun}" if count else "the batches of a loader"
    network, learned = type(job.trained.model).__name__, f"learned {columns}".strip()
    seen = len(state.history) * count
    # The part that says most of the model.
    first = dict(list(judged.items())[:1])
    confusions: list[Confusion] = []
    if isinstance(task, Classify):
        for name, part in judged.items():
            counts = _count_decisions(task, part)
            confusions.append(Confusion(name, task.columns, counts))
    return Report(
        title="Training run" if folder is None else folder.name,
        lead=f"{network} {learned} from {data}.",
        tiles=tuple(_tiles(first)),
        notes=(
            *left_out(parts),
            *(f"{it}." for it in (describe_conflicts(parts.train), *notes) if it),
        ),
        curves=tuple(_curves(state.history)),
        best_epoch=state.best_epoch if "validation" in judged else None,
        confusions=tuple(confusions),
        scatters=tuple(_scatters(task, first)),
        sections=tuple(_sections(job, judged, first, seen=seen)),
        tables=tuple(tables_of_labels(task, first)),
        facts=facts,
    )


def _count_decisions(task: Classify, part: Part) -> NDArray[np.int64]:
    """Count the records of each class (rows) by the class that they were given."""
    guess = task.decide(part.scores.to_numpy())
    return confusion_matrix(part.labels, guess, size=len(task.columns))


def left_out(parts: Parts) -> tuple[str, ...]:
    """List what the datasets left out or changed, a sentence for each kind."""
    # Parts of one dataset share its report, which counts once.
    reports: dict[int, dict[str, Any]] = {
        id(report): report
        for _, part in parts.list_named()
        if (report := getattr(part, "report", None)) is not None
    }
    found = {
        key: sum(int(report.get(key, 0)) for report in reports.values()) for key in _NOTES
    }
    # What the training part does not vary in, its encoder has counted.
    found["constant"] = getattr(parts.train.encoder, "constant", 0)
    notes = _NOTES | {"constant": _CONSTANT}
    letters = (describe_letters(it.get("letters", {})) for it in reports.values())
    return (
        *(
            notes[key].format(count=f"{count:,}", noun=parts.noun)
            for key, count in found.items()
            if count
        ),
        *filter(None, letters),
    )


def _tiles(parts: dict[str, Part]) -> Iterator[Tile]:
    """List the metrics of a part; an accuracy of classes has an interval."""
    for name, part in parts.items():
        count = len(part.labels) if len(part.scores) and part.labels.ndim == 1 else 0
        known = [it for it in part.metrics.items() if it[0] in _NAMES]
        for metric, value in known:
            note = ""
            if metric == "accuracy" and count:
                low, high = wilson_interval(round(value * count), count)
                note = f"95 % interval {100 * low:.1f} to {percent(high)}"
            shown = percent(value) if metric in _SHARES else f"{value:.3f}"
            yield Tile(f"{name} {_NAMES[metric]}", shown, note=note)


def _curves(history: list[dict[str, Any]]) -> Iterator[Curve]:
    """Return the loss, and the metric of classes or values, by epoch."""
    for metric in ("loss", "accuracy", "r2"):
        series: dict[str, list[float]] = {}
        for label, prefix in (("training", "train"), ("validation", "valid")):
            key = f"{prefix}_{metric}"
            if any(key in row for row in history):
                values = [row.get(key) for row in history]
                series[label] = [nan if it is None else it for it in values]
        if series:
            yield Curve(_NAMES[metric], series)


def _scatters(task: Task, parts: dict[str, Part]) -> Iterator[Scatter]:
    """Pair the true and the predicted values of a part."""
    if not isinstance(task, Regress):
        return
    for part in parts.values():
        predicted = part.scores.to_numpy()
        true = np.asarray(part.labels).reshape(predicted.shape)
        for position, name in enumerate(task.columns):
            yield Scatter(name, true[:, position], predicted[:, position])


def _sections(
    job: Job, judged: dict[str, Part], first: dict[str, Part], *, seen: int
) -> Iterator[Section]:
    """Make the sections about probabilities, limits, the worst mistakes and logos."""
    trained, task = job.trained, job.trained.task
    for name, part in first.items():
        if isinstance(task, (Classify, Multilabel)):
            yield from probability_sections(task, name, part)
    yield Section(title="Limits", note=" ".join(limits_of(trained, judged)))
    sources = {"test": job.parts.test, "validation": job.parts.valid}
    for name, part in first.items():
        data, most = sources[name], seen // _SHARE
        section = mistakes_section(trained, data, part, name=name, most=most)
        if section is not None:
            yield section
    if isinstance(task, Classify):
        logos = class_logos(job.parts.train, task.columns)
        if logos is not None:
            yield logos


def tables_of_labels(task: Task, parts: dict[str, Part]) -> Iterator[Table]:
    """List how well each label of a part is found."""
    if not isinstance(task, Multilabel):
        return
    for name, part in parts.items():
        order = order_of(task, part.scores)
        columns = zip(part.scores.classes, part.labels.T, order.T, strict=True)
        rows = [
            (label, int(true.sum()), auroc(true, scores), auprc(true, scores))
            for label, true, scores in columns
        ]
        names = ("label", "records with it", "AUROC", "AUPRC")
        note = f"On the {len(part.scores):,} records of the {name} part."
        yield Table("Each label", names, rows, note=note)


def write_card(
    folder: Path, *, trained: Trained, report: Report, judged: Mapping[str, Part]
) -> None:
    """Write the card of a run, unless it is a text of the user's own."""
    facts = [(key, str(value)) for key, value in report.facts.items()]
    facts.append(("written by", f"seqloom {metadata.version('seqloom')}"))
    limits = [*report.notes, *limits_of(trained, judged)]
    name = folder.absolute().name
    use = (
        "## Use\n\n```python\nimport seqloom as sl\n\n"
        f"model = sl.models.load({json.dumps(name)})  # this folder\n"
        'scores = sl.infer.predict(model, "sequences.fa")\n```\n\n'
        "`seqloom predict FOLDER sequences.fa --out scores.tsv` writes them as a table. "
        "The weights are no pickle: loading them runs no code."
    )
    sections = [
        _front(name, trained, judged),
        f"{MARK}\n\n# {_text(name)}\n\n{_text(report.lead)}",
        use,
        _results(trained.task, judged),
        f"## Data and training\n\n{_table(('what', 'value'), facts)}",
        "## Limits\n\n" + "\n".join(f"- {_text(sentence)}" for sentence in limits),
    ]
    _write_own(folder, sections)


def write_card_of_unfinished(folder: Path) -> None:
    """Write what the card says until the run has finished."""
    name, text = folder.absolute().name, "Training of this model has not finished."
    _write_own(folder, [f"{MARK}\n\n# {_text(name)}", text])


def _write_own(folder: Path, sections: list[str]) -> None:
    """Write a card, unless it is a text of the user's own."""
    path = folder / CARD
    if not path.exists() or is_own_card(path):
        write_atomic(path, ("\n\n".join(sections) + "\n").encode())


def _front(name: str, trained: Trained, judged: Mapping[str, Part]) -> str:
    """Write what hubs read: YAML, whose values are written as JSON."""
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


def _results(task: Task, judged: Mapping[str, Part]) -> str:
    """Show the measures of each part, and of each class of the first part."""
    if not judged:
        return "## Results\n\nNo part of the data was kept to judge the model."
    tables = ["## Results"]
    for name, part in judged.items():
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
        table = _table(("measure", "value", "95 % interval"), rows)
        count = round(part.metrics["n"])
        tables.append(f"The {name} part, {count:,} records:\n\n{table}")
    name, part = next(iter(judged.items()))
    if isinstance(task, Classify) and len(part.scores):
        counts = _count_decisions(task, part)
        sizes, called = counts.sum(axis=1), counts.sum(axis=0)
        rows = [
            (
                title,
                f"{sizes[it]:,}",
                *_share(counts[it, it], sizes[it]),
                *_share(counts[it, it], called[it]),
            )
            for it, title in enumerate(task.columns)
        ]
        head = ("class", "records", "recall", "95 % interval", "precision", "95 % interval")
        tables.append(f"Each class in the {name} part:\n\n{_table(head, rows)}")
    return "\n\n".join(tables)


def _spell(low: float, high: float) -> str:
    """Spell an interval as its measure is spelled: by four decimals."""
    return f"{low:.4f} to {high:.4f}"


def _share(hits: int, total: int) -> tuple[str, str]:
    """Spell a share and its interval; of nothing there is none."""
    if not total:
        return "-", "-"
    return f"{hits / total:.4f}", _spell(*wilson_interval(int(hits), int(total)))


def limits_of(trained: Trained, judged: Mapping[str, Part]) -> Iterator[str]:
    """List what the figures do not show, from how the model was judged."""
    if not judged:
        yield "No figure says how good the model is."
    elif "test" not in judged:
        yield (
            "The validation part chose the epoch, so its figures are a little too good; no "
            "test part was kept."
        )
    for name, part in list(judged.items())[:1]:
        if not isinstance(trained.task, Classify) or not len(part.scores):
            continue
        classes = trained.task.columns
        counts = np.bincount(np.asarray(part.labels, int), minlength=len(classes))
        named = zip(classes, counts.tolist(), strict=True)
        if few := [f"{count} of {title}" for title, count in named if count < _FEW]:
            yield (
                f"The {name} part holds few records of some classes: {', '.join(few)}. "
                f"Below {_FEW} a class can hardly be judged."
            )
    yield (
        "The figures hold for records like those it was judged on. Whether records of "
        "different parts are related, such as homologous, was not looked at."
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [head, ["---"] * len(head), *([_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(text: str) -> str:
    """Write a text so that Markdown shows it and obeys nothing in it."""
    shown = escape(printable(text), quote=False)
    return "".join(f"\\{it}" if it in "\\`*_[]|#" else it for it in shown)
