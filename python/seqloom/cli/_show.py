"""Print the results of runs as tables or as one JSON object."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from seqloom.report import Confusion, Tile, percent, wilson_interval

if TYPE_CHECKING:
    from seqloom.train import Part, Run

Metrics = Mapping[str, float]
_MIN_VALUES = 2
_BASELINE_METRICS = ("accuracy", "mcc", "auroc", "r2", "spearman")
METRIC_TITLES = {"mcc": "MCC", "auroc": "AUROC", "auprc": "AUPRC", "rmse": "RMSE"}


def show_run(console: Console, run: "Run") -> None:
    """Print the results of a run: metrics, compared models, the kept model, and paths."""
    from seqloom.train._selection import name_model

    parts = {"validation": run.valid, "test": run.test}
    judged = {name: part.metrics for name, part in parts.items() if part is not None}
    for confusion in run.report.confusions[:1]:
        show_confusion(console, confusion)
    if judged:
        names = {"task": run.trained.task.name, "noun": record_noun(run)}
        show_metrics(console, judged, **names)
    _show_candidates(console, run)
    _show_baselines(console, run, {it: part for it, part in parts.items() if part})
    chosen = "the lowest validation loss" if run.valid is not None else "the last epoch"
    kept = f"kept   epoch {run.best_epoch} of {len(run.history)}, {chosen}"
    if run.candidates:
        name, encoder = name_model(run.model, run.candidates), run.trained.encoder
        inputs = f"{getattr(encoder, 'alphabet', '')} {record_noun(run)}".strip()
        lowest = min(it.valid_loss for it in run.candidates)
        kept = (
            f"kept   {name}: {run.model.number_of_parameters:,} parameters, reads "
            f"{inputs}, validation loss {lowest:.4f}"
        )
    console.print(kept)
    if run.folder is not None:
        console.print(f"model  {run.folder}")
        console.print(f"report {run.folder / 'report.html'}")


def _show_candidates(console: Console, run: "Run") -> None:
    """Print the models that ``--network auto`` compared, the best first."""
    if not run.candidates:
        return
    titles = ("parameters", "best epoch", "validation loss", "selected")
    table = start_table("candidate", *titles)
    for it in sorted(run.candidates, key=lambda it: it.valid_loss):
        epoch = "-" if it.best_epoch is None else f"{it.best_epoch}"
        mark = "yes" if it.is_selected else ""
        table.add_row(it.name, f"{it.parameters:,}", epoch, f"{it.valid_loss:.4f}", mark)
    console.print(table)
    if run.test is None:
        console.print(
            "The validation metrics are slightly too good, because the validation set "
            "selected the model; --test evaluates the model on other records."
        )


def _show_baselines(console: Console, run: "Run", parts: dict[str, "Part"]) -> None:
    """Print the main metrics of the network and the baselines, and compare them."""
    from seqloom.train._baselines import Ranking, format_cells
    from seqloom.train._selection import name_model

    ranking = Ranking.of(name_model(run.model, run.candidates), run.baselines, parts)
    if ranking is None:
        return
    names = ranking.keep_measured(list(_BASELINE_METRICS))
    table = start_table(f"{ranking.set_name} set", *map(metric_title, names), "p-value")
    for row in ranking.list_rows(names):
        table.add_row(*format_cells(row))
    console.print(table)
    # If the network is worse, a warning already contains the sentence.
    if ranking.sentence not in " ".join(run.report.notes):
        console.print(ranking.note)


def show_metrics(
    console: Console, parts: Mapping[str, Metrics], *, task: str, noun: str = "sequences"
) -> None:
    """Print a table with metrics of each set, and a confidence interval of the accuracy."""
    table = start_table("", *parts)
    for name in next(iter(parts.values())):
        values = [part[name] for part in parts.values()]
        cells = (f"{int(it):,}" if name == "n" else _format_metric(it) for it in values)
        table.add_row(metric_title(name, noun), *cells)
        if name == "accuracy" and task == "classify":
            totals = [int(part["n"]) for part in parts.values()]
            hits = [round(value * n) for value, n in zip(values, totals, strict=True)]
            pairs = map(wilson_interval, hits, totals)
            spans = (f"{low:.4f} to {high:.4f}" for low, high in pairs)
            table.add_row("  95 % interval", *spans)
    console.print(table)


def _format_metric(value: float) -> str:
    """Format a metric with four decimals; a dash if the metric is undefined."""
    return f"{value:.4f}" if isfinite(value) else "-"


def show_confusion(console: Console, confusion: Confusion) -> None:
    """Print the confusion matrix (true classes as rows) and the recall of each class."""
    table = start_table(confusion.name, *confusion.classes, "found")
    for position, name in enumerate(confusion.classes):
        counts = confusion.matrix[position]
        found = percent(counts[position] / counts.sum()) if counts.sum() else "-"
        table.add_row(name, *(f"{count:,}" for count in counts), found)
    console.print(table)


def show_tiles(console: Console, tiles: Sequence[Tile]) -> None:
    """Print the key results, each on one line."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 1))
    for number, tile in enumerate(tiles):
        table.add_row(tile.name, tile.value, tile.note, style="" if number else "bold")
    console.print(table)


def start_table(first: str, *names: str) -> Table:
    """Create a table of right-aligned numbers with a first column of text."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    table.add_column(first)
    for name in names:
        table.add_column(name, justify="right")
    return table


def record_noun(run: "Run") -> str:
    """Return the plural noun for the records of a run, such as sequences."""
    from seqloom.infer._kinds import find_encoder_kind

    return find_encoder_kind(run.trained.encoder).noun


def metric_title(name: str, noun: str = "") -> str:
    """Return the title of a metric."""
    if name == "n":
        return noun
    return METRIC_TITLES.get(name, name.replace("_", " "))


def print_json(facts: Mapping[str, Any]) -> None:
    """Print one JSON object; NaN and infinity become null."""
    sys.stdout.write(json.dumps(_to_json(facts), indent=2, allow_nan=False) + "\n")


def run_results(run: "Run") -> dict[str, Any]:
    """Return the results of a run for JSON."""
    from seqloom.train._selection import name_model

    parts = {"validation": run.valid, "test": run.test}
    return {
        "folder": None if run.folder is None else str(run.folder),
        "network": name_model(run.model, run.candidates),
        "parameters": run.model.number_of_parameters,
        "task": run.trained.task.name,
        "classes": list(run.trained.classes),
        "epochs": len(run.history),
        "best_epoch": run.best_epoch,
        **{name: part.metrics for name, part in parts.items() if part is not None},
        "candidates": [it.to_dict() for it in run.candidates],
        "baselines": [it.to_dict() for it in run.baselines],
    }


def _to_json(value: Any) -> Any:
    """Convert nested values to JSON types."""
    if isinstance(value, Mapping):
        return {str(name): _to_json(item) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return None if isinstance(value, float) and not isfinite(value) else value


@dataclass(frozen=True, slots=True)
class FoldSpread:
    """Values of a metric by fold, with mean and deviation of the defined values."""

    values: tuple[float, ...]

    @property
    def defined(self) -> list[float]:
        """The values of the metric in folds in which it is defined."""
        return [value for value in self.values if isfinite(value)]

    @property
    def undefined_folds(self) -> tuple[int, ...]:
        """Numbers of the folds, from 1, in which the metric is undefined."""
        pairs = enumerate(self.values, start=1)
        return tuple(fold for fold, value in pairs if not isfinite(value))

    @property
    def mean(self) -> float:
        """Mean over the folds; NaN if the metric is undefined in every fold."""
        return fmean(self.defined) if self.defined else nan

    @property
    def deviation(self) -> float:
        """Standard deviation over the folds; NaN for fewer than two values."""
        return stdev(self.defined) if len(self.defined) >= _MIN_VALUES else nan


def show_folds(console: Console, runs: Sequence["Run"]) -> None:
    """Print a table of each metric by fold with its mean, the kept models, and notes."""
    from seqloom.train._selection import name_model

    parts = _validation_sets(runs)
    folds = (f"fold {fold}" for fold in range(1, len(parts) + 1))
    table = start_table("", *folds, "mean", "deviation")
    sizes = (f"{int(part.metrics['n']):,}" for part in parts)
    table.add_row(record_noun(runs[0]), *sizes, "", "")
    for name, it in fold_spreads(runs).items():
        mean = f"{it.mean:.4f}" + (f" of {len(it.defined)}" if it.undefined_folds else "")
        cells = map(_format_metric, it.values)
        table.add_row(metric_title(name), *cells, mean, f"{it.deviation:.4f}")
    console.print(table)
    for number, run in enumerate(runs, start=1):
        if run.candidates:
            console.print(f"fold {number} kept {name_model(run.model, run.candidates)}")
    for note in fold_notes(runs):
        console.print(f"note: {note}")


def fold_results(runs: Sequence["Run"]) -> dict[str, Any]:
    """Return the results of each fold and the mean of each metric, for JSON."""
    spreads = fold_spreads(runs)
    return {
        "folds": [run_results(run) for run in runs],
        "mean": {name: it.mean for name, it in spreads.items()},
        "deviation": {name: it.deviation for name, it in spreads.items()},
        "folds_in_mean": {name: len(it.defined) for name, it in spreads.items()},
        "notes": list(fold_notes(runs)),
    }


def fold_spreads(runs: Sequence["Run"]) -> dict[str, FoldSpread]:
    """Return the values over the folds of each validation metric."""
    parts = [part.metrics for part in _validation_sets(runs)]
    names = [name for name in parts[0] if name != "n"]
    return {name: FoldSpread(tuple(part[name] for part in parts)) for name in names}


def fold_notes(runs: Sequence["Run"]) -> Iterator[str]:
    """Yield notes on folds in which a metric is undefined or a class was not trained."""
    task = runs[0].trained.task
    if runs[0].candidates:
        yield (
            "each fold also selected its model, so the metrics are slightly too good; for "
            "unbiased metrics, train once with --test instead of --folds"
        )
    if task.name == "classify":
        yield from _class_notes(_validation_sets(runs), task.columns)
    if task.name == "multilabel":
        yield from _label_notes(_validation_sets(runs), task.columns)
    yield from _metric_notes(fold_spreads(runs))


def _validation_sets(runs: Sequence["Run"]) -> list["Part"]:
    """Return the results on the validation set of each fold."""
    return [run.valid for run in runs if run.valid is not None]


def _class_notes(parts: Sequence["Part"], classes: Sequence[str]) -> Iterator[str]:
    """Yield notes on classes that a fold lacks in its training or validation set."""
    size = len(classes)
    counts = np.stack([np.bincount(part.labels, minlength=size) for part in parts])
    # If only one fold has validation records of a class, that fold has no training
    # record of it.
    untrained = (counts > 0) & (counts == counts.sum(axis=0))
    for folds, names in _by_folds(untrained, classes):
        yield (
            f"{folds}: no training record has {names}, so the model could not learn it; "
            "the means still include the metrics of this fold"
        )
    areas = "" if size == _MIN_VALUES else ", AUROC and AUPRC"
    for folds, names in _by_folds(counts == 0, classes):
        yield (
            f"{folds}: no validation record has {names}: ignored there in balanced "
            f"accuracy{areas}"
        )


def _label_notes(parts: Sequence["Part"], names: Sequence[str]) -> Iterator[str]:
    """Yield notes on labels that either all or no validation records of a fold have."""
    same = np.stack([np.ptp(part.labels, axis=0) == 0 for part in parts])
    for folds, labels in _by_folds(same, names):
        yield (
            f"{folds}: all or no validation records have {labels}: ignored there in "
            "AUROC and AUPRC"
        )


def _metric_notes(spreads: dict[str, FoldSpread]) -> Iterator[str]:
    """Yield notes on metrics that are undefined in a fold."""
    grouped: dict[tuple[int, ...], list[str]] = {}
    for name, spread in spreads.items():
        if spread.undefined_folds:
            grouped.setdefault(spread.undefined_folds, []).append(name)
    for folds, names in grouped.items():
        left = len(spreads[names[0]].defined)
        listed = _join_words([metric_title(name) for name in names])
        note = f"{_name_folds(folds)}: undefined: {listed}"
        yield f"{note}; the mean is over the other {left}" if left else note


def _by_folds(marks: NDArray[np.bool_], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Group the folds by their marked names; yield the folds and the names as text."""
    grouped: dict[tuple[str, ...], list[int]] = {}
    for fold, row in enumerate(marks, start=1):
        marked = tuple(repr(name) for name, mark in zip(names, row, strict=True) if mark)
        if marked:
            grouped.setdefault(marked, []).append(fold)
    for marked, folds in grouped.items():
        yield _name_folds(folds), _join_words(marked)


def _name_folds(folds: Sequence[int]) -> str:
    """Return text such as "folds 1 and 2"."""
    return f"fold{'s' if len(folds) > 1 else ''} {_join_words([str(it) for it in folds])}"


def _join_words(words: Sequence[Any]) -> str:
    """Join words with commas, and the last two with "and"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
