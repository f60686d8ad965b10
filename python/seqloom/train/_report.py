"""Creates the report of a run, and its model card for model hubs."""

from collections.abc import Iterator, Mapping
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data._describe import describe_residue_counts
from seqloom.infer._scores import compute_exact_scores, ranking_values
from seqloom.models import Classify, Multilabel, Profile, Regress, Task, Trained
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
from seqloom.train._baselines import Baseline, Ranking
from seqloom.train._checkpoints import RunState
from seqloom.train._evaluation import Part
from seqloom.train._job import FitJob
from seqloom.train._parts import Parts, count_samples
from seqloom.train._prepare import describe_conflicts
from seqloom.train._probabilities import probability_sections
from seqloom.train._residue_sections import class_logos, mistakes_section
from seqloom.train._selection import Candidate, name_model
from seqloom.train._track_results import make_track_section

# The report explains one wrong prediction per 20 training records, to limit computing
# time.
_RECORDS_PER_EXPLANATION = 20
_PERCENT_METRICS = {"accuracy", "balanced_accuracy"}
_METRIC_TITLES = {
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
    "jensen_shannon": "Jensen-Shannon distance",
}
_DATA_NOTES = {
    "dropped": "{count} intervals extend beyond their chromosome and were left out.",
    "unlabelled": "{count} {noun} have no label and were left out.",
    "missing_labels": "The label of {count} {noun} is missing; they were left out.",
    "missing_covariates": "{count} {noun} lack a covariate; its mean was used instead.",
    "flipped": "The alleles of {count} variants are swapped; their dosages were flipped.",
    "missing_alleles": "{count} variants lack an allele (0); they were matched by their id "
    "and the other allele.",
}
_CONSTANT_NOTE = "Variants that are constant in the training {noun} are not used: {count}."
# With fewer records than this, the metrics of a class are reported as unreliable.
_MIN_CLASS_SIZE = 50


def make_report(
    job: FitJob,
    state: RunState,
    evaluated: dict[str, Part],
    *,
    baselines: tuple[Baseline, ...],
    candidates: tuple[Candidate, ...],
    facts: dict[str, Fact],
    notes: list[str],
) -> Report:
    """Return the report of a run from its results on the validation and test sets."""
    task, parts, folder = job.trained.task, job.parts, job.settings.folder.path
    count, columns = count_samples(parts.train), ", ".join(task.columns)
    data = f"{count:,} {parts.noun}" if count else "batches of a loader"
    network = name_model(job.trained.model, candidates)
    aim = f" to predict {columns}" if columns else ""
    seen = len(state.history) * count
    # The report plots the test set, or without a test set the validation set.
    first = dict(list(evaluated.items())[:1])
    confusions: list[Confusion] = []
    if isinstance(task, Classify):
        for name, part in evaluated.items():
            counts = count_decisions(task, part)
            confusions.append(Confusion(name, task.columns, counts))
    return Report(
        title="Training run" if folder is None else folder.name,
        lead=f"{network[0].upper()}{network[1:]} trained on {data}{aim}.",
        tiles=tuple(_tiles(first)),
        notes=(
            *left_out(parts),
            *(f"{it}." for it in (describe_conflicts(parts.train), *notes) if it),
        ),
        curves=tuple(_learning_curves(state.history)),
        best_epoch=state.best_epoch if "validation" in evaluated else None,
        confusions=tuple(confusions),
        scatters=tuple(_scatters(task, first)),
        sections=(
            *_candidate_sections(candidates),
            *_baseline_sections(Ranking.of(network, baselines, evaluated)),
            *_result_sections(job, evaluated, first, seen=seen),
        ),
        tables=tuple(list_label_tables(task, first)),
        facts=facts,
    )


def count_decisions(task: Classify, part: Part) -> NDArray[np.int64]:
    """Count records in an array by true class (rows) and predicted class (columns)."""
    guess = task.decide(part.scores.to_numpy())
    return confusion_matrix(part.labels, guess, size=len(task.columns))


def left_out(parts: Parts) -> tuple[str, ...]:
    """Describe the records that datasets omitted or changed, with the reasons."""
    # Subsets share the counts of their dataset, so each dataset is counted once.
    reports: dict[int, dict[str, Any]] = {
        id(report): report
        for _, part in parts.list_named()
        if (report := getattr(part, "report", None)) is not None
    }
    found = {
        key: sum(int(report.get(key, 0)) for report in reports.values())
        for key in _DATA_NOTES
    }
    # The encoder counts the variants that are constant in the training set.
    found["constant"] = getattr(parts.train.encoder, "constant", 0)
    notes = _DATA_NOTES | {"constant": _CONSTANT_NOTE}
    letters = (describe_residue_counts(it.get("letters", {})) for it in reports.values())
    return (
        *(
            notes[key].format(count=f"{count:,}", noun=parts.noun)
            for key, count in found.items()
            if count
        ),
        *filter(None, letters),
    )


def _tiles(parts: dict[str, Part]) -> Iterator[Tile]:
    """Yield the metrics of a set, with the confidence interval of the accuracy."""
    for name, part in parts.items():
        count = len(part.labels) if len(part.scores) and part.labels.ndim == 1 else 0
        known = [it for it in part.metrics.items() if it[0] in _METRIC_TITLES]
        for metric, value in known:
            note = ""
            if metric == "accuracy" and count:
                low, high = wilson_interval(round(value * count), count)
                note = f"95 % interval {100 * low:.1f} to {percent(high)}"
            shown = percent(value) if metric in _PERCENT_METRICS else f"{value:.3f}"
            yield Tile(f"{name} {_METRIC_TITLES[metric]}", shown, note=note)


def _learning_curves(history: list[dict[str, Any]]) -> Iterator[Curve]:
    """Yield the learning curves: loss, and accuracy, r2 or the distance, by epoch."""
    for metric in ("loss", "accuracy", "r2", "jensen_shannon"):
        series: dict[str, list[float]] = {}
        for label, prefix in (("training", "train"), ("validation", "valid")):
            key = f"{prefix}_{metric}"
            if any(key in row for row in history):
                values = [row.get(key) for row in history]
                series[label] = [nan if it is None else it for it in values]
        if series:
            yield Curve(_METRIC_TITLES[metric], series)


def _scatters(task: Task, parts: dict[str, Part]) -> Iterator[Scatter]:
    """Yield the true and the predicted values of each output, or the log counts."""
    if isinstance(task, Profile):
        for part in parts.values():
            predicted = compute_exact_scores(task, part.scores)
            true, guess = task.count_logs(part.labels, predicted)
            for position, name in enumerate(task.columns):
                title = f"log(1 + count) of {name}"
                yield Scatter(title, true[:, position], guess[:, position])
    if not isinstance(task, Regress):
        return
    for part in parts.values():
        predicted = part.scores.to_numpy()
        true = np.asarray(part.labels).reshape(predicted.shape)
        for position, name in enumerate(task.columns):
            yield Scatter(name, true[:, position], predicted[:, position])


def _candidate_sections(candidates: tuple[Candidate, ...]) -> Iterator[Section]:
    """Yield the section with the models that were compared on the validation set."""
    if candidates:
        head = ("Candidate", "parameters", "best epoch", "validation loss", "selected")
        rows = [
            (
                it.name,
                it.parameters,
                "" if it.best_epoch is None else it.best_epoch,
                it.valid_loss,
                "yes" if it.is_selected else "",
            )
            for it in sorted(candidates, key=lambda it: it.valid_loss)
        ]
        is_ensemble = sum(it.is_selected for it in candidates) > 1
        selected = "the mean of the selected candidates"
        if not is_ensemble:
            selected = "the candidate with the lowest validation loss"
        yield Section(
            title="Candidates",
            note=f"The model is {selected}. The learning curves and the settings of "
            "training are those of the candidate networks.",
            table=Table("Candidates", head, rows),
        )


def _baseline_sections(ranking: Ranking | None) -> Iterator[Section]:
    """Yield the section that compares the network with the baselines."""
    if ranking is not None:
        head, rows = list_baselines(ranking)
        yield Section(
            title="Baselines", note=ranking.note, table=Table("Baselines", head, rows)
        )


def list_baselines(
    ranking: Ranking,
) -> tuple[tuple[str, ...], list[tuple[str | float, ...]]]:
    """Return the header and the rows of the network and of the baselines."""
    names = ranking.keep_measured(list(_METRIC_TITLES))
    head = (f"{ranking.set_name} set", *(_METRIC_TITLES[it] for it in names), "p-value")
    return head, ranking.list_rows(names)


def _result_sections(
    job: FitJob, evaluated: dict[str, Part], first: dict[str, Part], *, seen: int
) -> Iterator[Section]:
    """Yield the sections about probabilities, limitations, wrong predictions and logos."""
    trained, task = job.trained, job.trained.task
    for name, part in first.items():
        if isinstance(task, (Classify, Multilabel)):
            yield from probability_sections(task, name, part)
        if isinstance(task, Profile):
            yield make_track_section(task, name, part)
    yield Section(title="Limitations", note=" ".join(limits_of(trained, evaluated)))
    sources = {"test": job.parts.test, "validation": job.parts.valid}
    for name, part in first.items():
        data, most = sources[name], seen // _RECORDS_PER_EXPLANATION
        section = mistakes_section(trained, data, part, name=name, most=most)
        if section is not None:
            yield section
    if isinstance(task, Classify):
        logos = class_logos(job.parts.train, task.columns)
        if logos is not None:
            yield logos


def list_label_tables(task: Task, parts: dict[str, Part]) -> Iterator[Table]:
    """Yield a table with the AUROC and AUPRC of each label."""
    if not isinstance(task, Multilabel):
        return
    for name, part in parts.items():
        order = ranking_values(task, part.scores)
        columns = zip(part.scores.classes, part.labels.T, order.T, strict=True)
        rows = [
            (label, int(true.sum()), auroc(true, scores), auprc(true, scores))
            for label, true, scores in columns
        ]
        names = ("label", "records with it", "AUROC", "AUPRC")
        note = f"On the {len(part.scores):,} records of the {name} set."
        yield Table("Each label", names, rows, note=note)


def limits_of(trained: Trained, evaluated: Mapping[str, Part]) -> Iterator[str]:
    """Yield sentences about the limitations of the metrics."""
    if not evaluated:
        yield "The model was not evaluated, so its quality is unknown."
    elif "test" not in evaluated:
        yield (
            "The best epoch was chosen on the validation set, so validation metrics are "
            "slightly too good; there was no test set."
        )
    for name, part in list(evaluated.items())[:1]:
        if not isinstance(trained.task, Classify) or not len(part.scores):
            continue
        classes = trained.task.columns
        counts = np.bincount(np.asarray(part.labels, int), minlength=len(classes))
        named = zip(classes, counts.tolist(), strict=True)
        if few := [
            f"{count} of {title}" for title, count in named if count < _MIN_CLASS_SIZE
        ]:
            yield (
                f"The {name} set has few records of some classes: {', '.join(few)}. "
                f"Metrics of a class with fewer than {_MIN_CLASS_SIZE} are unreliable."
            )
    yield (
        "The metrics apply to records like those of the evaluation. Related records in "
        "several sets, such as distant homologues, make metrics too good."
    )
