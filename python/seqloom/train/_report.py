"""From a run to the plain numbers and names of its report."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from seqloom.data._describe import describe_letters
from seqloom.infer._scores import order_of
from seqloom.models import Classify, Multilabel, Task
from seqloom.models._examples import noun_of
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
from seqloom.train._judged import Part
from seqloom.train._parts import Parts
from seqloom.train._probabilities import probability_sections

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
    *,
    title: str,
    lead: str,
    task: Task,
    parts: dict[str, Part],
    history: list[dict[str, Any]],
    best_epoch: int | None,
    facts: dict[str, Fact],
    notes: tuple[str, ...],
    sections: tuple[Section, ...] = (),
) -> Report:
    """Makes the report of a run."""
    return Report(
        title=title,
        lead=lead,
        tiles=tuple(_tiles(parts)),
        notes=notes,
        curves=tuple(_curves(history)),
        best_epoch=best_epoch,
        confusions=tuple(_confusions(task, parts)),
        scatters=tuple(_scatters(task, parts)),
        sections=(*_sections(task, parts), *sections),
        tables=tuple(tables_of_labels(task, parts)),
        facts=facts,
    )


def left_out(parts: Parts) -> tuple[str, ...]:
    """Says in one line each what the datasets did not use, or not as it stands."""
    # Parts of one dataset share its report, which counts once.
    reports: dict[int, dict[str, Any]] = {
        id(report): report
        for _, part in parts.list_named()
        if (report := getattr(part, "report", None)) is not None
    }
    noun = noun_of(parts.train)
    found = {
        key: sum(int(report.get(key, 0)) for report in reports.values()) for key in _NOTES
    }
    # What the training part does not vary in, its encoder has counted.
    found["constant"] = getattr(parts.train.encoder, "constant", 0)
    notes = _NOTES | {"constant": _CONSTANT}
    letters = (describe_letters(it.get("letters", {})) for it in reports.values())
    return (
        *(
            notes[key].format(count=f"{count:,}", noun=noun)
            for key, count in found.items()
            if count
        ),
        *filter(None, letters),
    )


def _tiles(parts: dict[str, Part]) -> Iterator[Tile]:
    """Gives the key figures of the most telling part."""
    for name, part in list(parts.items())[:1]:
        for metric, value in part.metrics.items():
            if metric in _NAMES:
                yield _tile(f"{name} {_NAMES[metric]}", metric, value, part=part)


def _tile(name: str, metric: str, value: float, *, part: Part) -> Tile:
    """Gives one key figure; an accuracy of classes has an interval."""
    if metric not in _SHARES:
        return Tile(name, f"{value:.3f}")
    if metric != "accuracy" or not len(part.scores) or part.labels.ndim > 1:
        return Tile(name, percent(value))
    low, high = wilson_interval(round(value * len(part.labels)), len(part.labels))
    return Tile(
        name, percent(value), note=f"95 % interval {100 * low:.1f} to {percent(high)}"
    )


def _curves(history: list[dict[str, Any]]) -> Iterator[Curve]:
    """Gives the loss, and what else a person follows."""
    for metric in ("loss", "accuracy", "r2"):
        series = {
            label: [_value(row.get(f"{key}_{metric}")) for row in history]
            for label, key in (("training", "train"), ("validation", "valid"))
            if any(f"{key}_{metric}" in row for row in history)
        }
        if series:
            yield Curve(_NAMES[metric], series)


def _value(number: float | None) -> float:
    """Gives NaN for a number that is not there."""
    return float("nan") if number is None else number


def _confusions(task: Task, parts: dict[str, Part]) -> Iterator[Confusion]:
    """Counts the classes of each part."""
    if not isinstance(task, Classify):
        return
    for name, part in parts.items():
        guess = task.decide(part.scores.to_numpy())
        counts = confusion_matrix(part.labels, guess, size=len(task.columns))
        yield Confusion(name, task.columns, counts)


def _scatters(task: Task, parts: dict[str, Part]) -> Iterator[Scatter]:
    """Sets the values of the most telling part side by side."""
    if task.name != "regress":
        return
    for part in list(parts.values())[:1]:
        predicted = part.scores.to_numpy()
        true = np.asarray(part.labels).reshape(predicted.shape)
        for position, name in enumerate(task.columns):
            yield Scatter(name, true[:, position], predicted[:, position])


def _sections(task: Task, parts: dict[str, Part]) -> Iterator[Section]:
    """Draws what the metrics of the most telling part hide."""
    for name, part in list(parts.items())[:1]:
        if isinstance(task, (Classify, Multilabel)):
            yield from probability_sections(task, name, part)


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
