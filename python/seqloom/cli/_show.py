"""Results in a terminal: metrics, the confusion matrix, and where the report lies."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from seqloom.report import Confusion, Tile, percent, wilson_interval

if TYPE_CHECKING:
    from seqloom.train import Run

Metrics = Mapping[str, float]
TITLES = {
    "mcc": "MCC",
    "auroc": "AUROC",
    "auprc": "AUPRC",
    "rmse": "RMSE",
}


def show_run(console: Console, run: "Run") -> None:
    """Prints how the kept weights do, and where everything is."""
    parts = {"validation": run.valid, "test": run.test}
    judged = {name: part.metrics for name, part in parts.items() if part is not None}
    for confusion in run.report.confusions[:1]:
        show_confusion(console, confusion)
    if judged:
        names = {"task": run.trained.task.name, "noun": noun_of(run)}
        show_metrics(console, judged, **names)
    chosen = "the lowest validation loss" if run.valid is not None else "the last"
    console.print(f"kept   epoch {run.best_epoch} of {len(run.history)}, {chosen}")
    if run.folder is not None:
        console.print(f"model  {run.folder}")
        console.print(f"report {run.folder / 'report.html'}")


def show_metrics(
    console: Console,
    parts: Mapping[str, Metrics],
    *,
    task: str,
    noun: str = "sequences",
) -> None:
    """Prints a column for each part; one answer a record gives accuracy its interval."""
    table = start_table("", *parts)
    for name in next(iter(parts.values())):
        cells = (_spell(name, part[name]) for part in parts.values())
        table.add_row(title_of(name, noun), *cells)
        if name == "accuracy" and task == "classify":
            table.add_row("  95 % interval", *map(_interval, parts.values()))
    console.print(table)


def show_confusion(console: Console, confusion: Confusion) -> None:
    """Prints counts, true classes as rows, and the share of each that was found."""
    table = start_table(confusion.name, *confusion.classes, "found")
    for position, name in enumerate(confusion.classes):
        counts = confusion.matrix[position]
        found = percent(counts[position] / counts.sum()) if counts.sum() else "-"
        table.add_row(name, *(f"{count:,}" for count in counts), found)
    console.print(table)


def show_tiles(console: Console, tiles: Sequence[Tile]) -> None:
    """Prints key figures below each other."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 1))
    for number, tile in enumerate(tiles):
        table.add_row(tile.name, tile.value, tile.note, style="" if number else "bold")
    console.print(table)


def start_table(first: str, *names: str) -> Table:
    """Starts a table of numbers with a column of words."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    table.add_column(first)
    for name in names:
        table.add_column(name, justify="right")
    return table


def noun_of(run: "Run") -> str:
    """Says what the records of a run are called."""
    from seqloom.data import GenotypeEncoder

    return "samples" if isinstance(run.trained.encoder, GenotypeEncoder) else "sequences"


def title_of(name: str, noun: str = "") -> str:
    """Spells a metric's name."""
    if name == "n":
        return noun
    return TITLES.get(name, name.replace("_", " "))


def _spell(name: str, value: float) -> str:
    """Spells a metric; a number of records is whole."""
    return f"{int(value):,}" if name == "n" else f"{value:.4f}"


def _interval(metrics: Metrics) -> str:
    """Spells the Wilson interval of an accuracy."""
    total = int(metrics["n"])
    low, high = wilson_interval(round(metrics["accuracy"] * total), total)
    return f"{low:.4f} to {high:.4f}"
