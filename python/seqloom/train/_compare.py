"""Runs beside each other: what differs, what they found, how they learned."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from seqloom._arguments import as_flag, as_path
from seqloom._files import write_atomic
from seqloom.errors import FileError
from seqloom.report import Plot, Report, Section, Table, Trace, make_page
from seqloom.train._compared import (
    Compared,
    are_alike,
    choose_parts,
    open_runs,
    parts_of,
    settings_that_differ,
)
from seqloom.train._run import Run

FilePath: TypeAlias = str | os.PathLike[str]
_VERSION = 1
_TITLES = {"mcc": "MCC", "auroc": "AUROC", "auprc": "AUPRC", "rmse": "RMSE"}
_FEWEST_FOR_A_LINE = 3


def compare(
    runs: Sequence[Run | FilePath] | FilePath,
    *,
    out: FilePath | None = None,
    overwrite: bool = False,
) -> Report:
    """Compares finished runs: their settings, their metrics and their learning curves.

    Metrics have 95 % intervals where there is a closed form: an accuracy (Wilson), the
    areas of two classes (`seqloom.report.auroc_interval`, ``auprc_interval``), Pearson's
    correlation (Fisher). A run that was stopped has the validation metrics of its best
    epoch so far.

    Args:
        runs: Two or more runs, or run folders; or one folder that holds run folders.
        out: The HTML page to write, one file; None writes nothing.
        overwrite: Replace the page where it is there already.

    Returns:
        What the page shows; its first section has the table of the runs.

    Raises:
        ArgumentError: There are fewer than two runs, or one of them twice.
        ConfigError: A file of a run cannot be read.
        FileError: The page cannot be written, or is there already.
        MissingFileError: A folder is no run folder.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nACGA\\n")
        >>> encoder, labels = sl.encode.OneHot("dna"), {"a": "yes", "b": "no"}
        >>> data = sl.data.SequenceDataset("a.fa", labels=labels, encoder=encoder)
        >>> config = sl.models.SequenceCNNConfig.for_data(data)
        >>> for seed in (0, 1):
        ...     _ = sl.train.fit(config, data, epochs=1, seed=seed, out=f"seed-{seed}")
        >>> report = sl.train.compare(["seed-0", "seed-1"], out="compare.html")
        >>> report.sections[1].table.rows
        [('seed', '0', '1')]
    """
    page = None if out is None else _check_page(out, overwrite=overwrite)
    report = report_of(open_runs(runs))
    if page is not None:
        write_atomic(page, make_page(report))
    return report


def report_of(runs: list[Compared]) -> Report:
    """Makes what the page shows."""
    return Report(
        title=f"{len(runs)} runs compared",
        lead=f"{', '.join(run.place for run in runs)}.",
        sections=tuple(_sections(runs)),
    )


def values_of(runs: list[Compared]) -> dict[str, Any]:
    """Gives the same as plain values, for another program to read."""
    chosen = zip(runs, choose_parts(runs), parts_of(runs), strict=True)
    return {
        "version": _VERSION,
        "comparable": are_alike(runs),
        "settings_that_differ": settings_that_differ(runs),
        "runs": [_values(run, name, part) for run, name, part in chosen],
    }


def _values(run: Compared, name: str | None, part: dict[str, Any]) -> dict[str, Any]:
    """Gives the values of one run, and of the part on which it is compared."""
    found = run.results
    return {
        "name": run.name,
        "folder": run.place,
        "part": name,
        "records": part.get("records"),
        "metrics": part.get("metrics", {}),
        "intervals": part.get("intervals", {}),
        "parameters": found.get("parameters"),
        "epochs": found["epochs"],
        "best_epoch": found.get("best_epoch"),
        "seconds": found["seconds"],
        "settings": run.settings,
        "history": run.history,
    }


def _check_page(out: object, *, overwrite: object) -> Path:
    """Refuses to replace a page unasked."""
    page = as_path("out", out, expected="the path of a page to write")
    if page.exists() and not as_flag("overwrite", overwrite):
        raise FileError(
            f"{page}: is there already; overwrite=True (--overwrite) replaces it"
        )
    return page


def _sections(runs: list[Compared]) -> Iterator[Section]:
    """Gives the table of results, the settings that differ, and the curves."""
    yield Section(title="Results", note=_note(runs), table=_results(runs))
    if (settings := _settings(runs)) is not None:
        yield Section(title="Settings that differ", table=settings)
    if plots := list(_curves(runs)):
        yield Section(title="Learning curves", drawings=plots)


def _note(runs: list[Compared]) -> str:
    """Says what the runs were judged on, and whether that is the same for all."""
    chosen = choose_parts(runs)
    parts = sorted({it for it in chosen if it})
    notes = [f"Metrics on the {' and the '.join(parts)} part."] if parts else []
    if None in chosen:
        notes.append("A run without metrics was judged on no part, or has not begun.")
    if not are_alike(runs):
        notes.append(
            "Records, labels or classes are not the same for all runs: compare with care."
        )
    if any("network" not in run.results for run in runs):
        notes.append("A run without parameters has not ended, or is of an older version.")
    return " ".join([*notes, "A second figure is the 95 % interval of a metric."])


def _results(runs: list[Compared]) -> Table:
    """Lists metrics, size and time, a column a run."""
    parts = parts_of(runs)
    names = dict.fromkeys(name for part in parts for name in part.get("metrics", {}))
    rows = [
        ("records", *(_whole(part.get("metrics", {}).get("n")) for part in parts)),
        *((_title(it), *(_spell(part, it) for part in parts)) for it in names if it != "n"),
        ("parameters", *(_whole(run.results.get("parameters")) for run in runs)),
        ("epochs", *(_epochs(run.results) for run in runs)),
        ("seconds", *(f"{run.results['seconds']:,.1f}" for run in runs)),
    ]
    return Table("Results", ("", *(run.name for run in runs)), rows)


def _title(name: str) -> str:
    """Spells a metric's name."""
    return _TITLES.get(name, name.replace("_", " "))


def _whole(number: float | None) -> str:
    """Spells a count; a dash where there is none."""
    return "\N{EN DASH}" if number is None else f"{int(number):,}"


def _spell(part: dict[str, Any], name: str) -> str:
    """Spells a metric with its interval, if it has one."""
    value = part.get("metrics", {}).get(name)
    if value is None:
        return "\N{EN DASH}"
    ends = part.get("intervals", {}).get(name)
    return f"{value:.4f}" + (f" ({ends[0]:.4f} to {ends[1]:.4f})" if ends else "")


def _epochs(results: dict[str, Any]) -> str:
    """Says how many epochs there were, and which one was kept."""
    best = results.get("best_epoch")
    return f"{results['epochs']:,}" + (f" (kept {best:,})" if best else "")


def _settings(runs: list[Compared]) -> Table | None:
    """Lists the settings in which the runs differ, a column a run."""
    rows = [
        (name, *(run.settings.get(name, "\N{EN DASH}") for run in runs))
        for name in settings_that_differ(runs)
    ]
    heading = ("", *(run.name for run in runs))
    return Table("Settings that differ", heading, rows) if rows else None


def _curves(runs: list[Compared]) -> Iterator[Plot]:
    """Plots what runs followed from epoch to epoch, a line a run."""
    for part, prefix in (("validation", "valid"), ("training", "train")):
        for metric in ("loss", "accuracy", "r2"):
            traces = [
                _trace(run, f"{prefix}_{metric}")
                for run in runs
                if any(f"{prefix}_{metric}" in row for row in run.history)
            ]
            if traces:
                title = f"{part} {metric}"
                yield Plot(title, traces, x_label="epoch", y_label=metric, is_counted=True)


def _trace(run: Compared, key: str) -> Trace:
    """Traces one run; one epoch or two are points."""
    values = [row.get(key) for row in run.history]
    numbers = [float("nan") if value is None else value for value in values]
    shape = "line" if len(numbers) >= _FEWEST_FOR_A_LINE else "points"
    return Trace(run.name, range(1, len(numbers) + 1), numbers, shape=shape)
