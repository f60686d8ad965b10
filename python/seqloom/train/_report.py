"""From a run to the plain numbers and names of its report."""

from collections.abc import Iterator
from math import nan
from typing import Any

import numpy as np

from seqloom.data._describe import describe_letters
from seqloom.infer._scores import order_of
from seqloom.models import Classify, Multilabel, Task
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
from seqloom.train._card import limits_of
from seqloom.train._checkpoints import State
from seqloom.train._evaluation import Part
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


def make_report(
    job: Job,
    state: State,
    judged: dict[str, Part],
    *,
    facts: dict[str, Fact],
    notes: list[str],
) -> Report:
    """Makes the report of a run from the parts on which it was evaluated."""
    task, parts, history = job.trained.task, job.parts, state.history
    columns, folder = ", ".join(job.trained.classes), job.settings.folder.path
    count = count_samples(parts.train)
    data = f"{count:,} {parts.noun}" if count else "the batches of a loader"
    network, learned = type(job.trained.model).__name__, f"learned {columns}".strip()
    conflicts = describe_conflicts(parts.train)
    limits = " ".join(limits_of(job.trained, judged))
    return Report(
        title="Training run" if folder is None else folder.name,
        lead=f"{network} {learned} from {data}.",
        tiles=tuple(_tiles(judged)),
        notes=(
            *left_out(parts),
            *(f"{note}." for note in (conflicts, *notes) if note),
        ),
        curves=tuple(_curves(history)),
        best_epoch=state.best_epoch if "validation" in judged else None,
        confusions=tuple(_confusions(task, judged)),
        scatters=tuple(_scatters(task, judged)),
        sections=(
            *_probability_sections(task, judged),
            Section(title="Limits", note=limits),
            *_letter_sections(job, judged, seen=len(history) * (count or 0)),
        ),
        tables=tuple(tables_of_labels(task, judged)),
        facts=facts,
    )


def left_out(parts: Parts) -> tuple[str, ...]:
    """Lists what the datasets left out or changed, a sentence for each kind."""
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
    """Lists the metrics of the first part; an accuracy of classes has an interval."""
    for name, part in list(parts.items())[:1]:
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
    """Gives the loss, and the metric of classes or values, by epoch."""
    for metric in ("loss", "accuracy", "r2"):
        series: dict[str, list[float]] = {}
        for label, prefix in (("training", "train"), ("validation", "valid")):
            key = f"{prefix}_{metric}"
            if any(key in row for row in history):
                values = [row.get(key) for row in history]
                series[label] = [nan if it is None else it for it in values]
        if series:
            yield Curve(_NAMES[metric], series)


def _confusions(task: Task, parts: dict[str, Part]) -> Iterator[Confusion]:
    """Counts the classes of each part."""
    if not isinstance(task, Classify):
        return
    for name, part in parts.items():
        guess = task.decide(part.scores.to_numpy())
        counts = confusion_matrix(part.labels, guess, size=len(task.columns))
        yield Confusion(name, task.columns, counts)


def _scatters(task: Task, parts: dict[str, Part]) -> Iterator[Scatter]:
    """Pairs the true and the predicted values of the first part."""
    if task.name != "regress":
        return
    for part in list(parts.values())[:1]:
        predicted = part.scores.to_numpy()
        true = np.asarray(part.labels).reshape(predicted.shape)
        for position, name in enumerate(task.columns):
            yield Scatter(name, true[:, position], predicted[:, position])


def _probability_sections(task: Task, parts: dict[str, Part]) -> Iterator[Section]:
    """Makes the sections about the probabilities of the first part."""
    for name, part in list(parts.items())[:1]:
        if isinstance(task, (Classify, Multilabel)):
            yield from probability_sections(task, name, part)


def _letter_sections(job: Job, judged: dict[str, Part], *, seen: int) -> Iterator[Section]:
    """Makes the sections with letters: the worst mistakes, and logos of classes."""
    trained, parts = job.trained, job.parts
    sources = {"test": parts.test, "validation": parts.valid}
    for name, part in list(judged.items())[:1]:
        most = seen // _SHARE
        section = mistakes_section(trained, sources[name], part, name=name, most=most)
        if section is not None:
            yield section
    if isinstance(trained.task, Classify):
        logos = class_logos(parts.train, trained.classes)
        if logos is not None:
            yield logos


def tables_of_labels(task: Task, parts: dict[str, Part]) -> Iterator[Table]:
    """Lists how well each label of the first part is found."""
    if not isinstance(task, Multilabel):
        return
    for name, part in list(parts.items())[:1]:
        order = order_of(task, part.scores)
        columns = zip(part.scores.classes, part.labels.T, order.T, strict=True)
        rows = [
            (label, int(true.sum()), auroc(true, scores), auprc(true, scores))
            for label, true, scores in columns
        ]
        names = ("label", "records with it", "AUROC", "AUPRC")
        note = f"On the {len(part.scores):,} records of the {name} part."
        yield Table("Each label", names, rows, note=note)
