"""Compares runs on a page: metrics, tests, learning curves and differing settings."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import takewhile
from math import nan
from typing import Any

from seqloom._arguments import as_bool, as_path
from seqloom._files import write_atomic
from seqloom.errors import FileError
from seqloom.report import Plot, Report, Section, Table, Trace, make_page
from seqloom.report._plot import N_COLOURS
from seqloom.report._sections import make_epoch_trace
from seqloom.train._compared import (
    Compared,
    FilePath,
    PairedTests,
    are_comparable,
    compare_with_best,
    find_ranking_metric,
    open_runs,
    settings_that_differ,
    sort_runs,
)
from seqloom.train._run import Run

# Maximum length of a run name: a third of 80 columns.
_MAX_NAME_LENGTH = 26
# Version of the JSON format of `seqloom compare --json`.
_JSON_VERSION = 2
PAIRED_TITLE = "Compared with the best run"
_TITLES = {"mcc": "MCC", "auroc": "AUROC", "auprc": "AUPRC", "rmse": "RMSE"}
_DASH = "\N{EN DASH}"
_MIN_SHOWN_P = 0.0001


def compare(
    runs: Sequence[Run | FilePath] | FilePath,
    *,
    out: FilePath | None = None,
    overwrite: bool = False,
) -> Report:
    """Compare finished runs: their settings, their metrics and their learning curves.

    Runs are sorted by the first metric that all runs have, such as accuracy or r2, with the
    best run first. Some metrics have 95 % intervals: accuracy (Wilson), AUROC and AUPRC for
    two classes (`seqloom.report.auroc_interval`, ``auprc_interval``) and Pearson's
    correlation (Fisher). Classifiers that were evaluated on the same records are compared
    with the best classifier by McNemar's exact test. Holm's method corrects the p-values
    for all pairs of runs. For an unfinished run, the validation metrics of its best epoch
    so far are used.

    Args:
        runs: Two or more runs or run folders, or one folder that contains run folders.
        out: The path of the HTML page to write; if None, no page is written.
        overwrite: If True, replace an existing page.

    Returns:
        The content of the page; its first section has a row for each run.

    Raises:
        ArgumentError: Fewer than two runs are given, or a run is given twice.
        ConfigError: A file of a run cannot be read.
        FileError: The page cannot be written, or already exists.
        MissingFileError: One of the folders is not a run folder.

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
        [('seed-0', '0'), ('seed-1', '1')]
    """
    page = None
    if out is not None:
        page = as_path("out", out, expected="the path of a page to write")
        if page.exists() and not as_bool("overwrite", overwrite):
            raise FileError(
                f"{page} already exists; overwrite=True (--overwrite) replaces it"
            )
    opened = open_runs(runs)
    report = report_of(opened, compare_with_best(opened))
    if page is not None:
        write_atomic(page, make_page(report))
    return report


def report_of(runs: list[Compared], tests: PairedTests) -> Report:
    prefix = _find_prefix([run.name for run in runs])
    shown = [replace(run, name=shorten(run.name, prefix)) for run in sort_runs(runs)]
    return Report(
        title=f"{len(runs)} runs compared",
        lead=f"{', '.join(run.place for run in runs)}.",
        sections=tuple(_sections(shown, tests, prefix)),
    )


def _find_prefix(names: list[str]) -> str:
    """Return the common prefix of all run names if the names are too long for a column."""
    if max(map(len, names)) <= _MAX_NAME_LENGTH:
        return ""
    pairs = zip(min(names), max(names), strict=False)
    shared = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    # Shortened names keep the last word of the common prefix, as in ...seed-1.
    found = re.match(r"(.*[\W_])[^\W_]*[\W_]", shared, re.DOTALL)
    return found[1] if found else ""


def _sections(runs: list[Compared], tests: PairedTests, prefix: str) -> Iterator[Section]:
    """Yield the sections of the page: results, tests, settings and learning curves."""
    yield Section(
        title="Results", note=_results_note(runs, tests, prefix), table=results_table(runs)
    )
    if tests.by_name:
        note = (
            f"Compared with {tests.best}, which has the highest accuracy, on the same "
            f"{tests.records:,} records. p: McNemar's exact test, two-sided."
        )
        if tests.pairs > 1:
            note += (
                f" p (Holm) is corrected for all {tests.pairs} pairs of runs, because the "
                "same records decided which run is the best; p is not corrected."
            )
        yield Section(title=PAIRED_TITLE, note=note, table=paired_table(tests, prefix))
    if names := settings_that_differ(runs):
        rows = [
            (run.name, *(str(run.settings.get(name, _DASH)) for name in names))
            for run in runs
        ]
        table = Table("Settings that differ", ("run", *names), rows)
        yield Section(title="Settings that differ", table=table)
    if plots := list(_curves(runs[:N_COLOURS])):
        first = "best" if find_ranking_metric(runs) else "first"
        note = f"Shown: the {N_COLOURS} {first} runs." if len(runs) > N_COLOURS else ""
        yield Section(title="Learning curves", note=note, drawings=plots)


def _results_note(runs: list[Compared], tests: PairedTests, prefix: str) -> str:
    """Describe the sets on which runs were evaluated, and whether they are the same."""
    metric = find_ranking_metric(runs)
    parts = sorted({run.part for run in runs if run.part})
    order = "sorted by " + title_of(metric) if metric else "in the order given"
    notes = [f"Metrics on the {' and the '.join(parts)} set."] if parts else []
    notes.append(f"Runs are {order}{', the best first' if metric else ''}.")
    if any(run.part is None for run in runs):
        notes.append("A run without metrics was not evaluated, or has not begun.")
    if not are_comparable(runs):
        notes.append(
            "Records, labels or classes differ between runs, so compare them with caution."
        )
    if any("network" not in run.results for run in runs):
        notes.append("A run without parameters is unfinished or from an older version.")
    notes.append("Numbers in brackets are the 95 % interval of the metric.")
    if prefix:
        notes.append(f"In the tables, ... means {prefix}.")
    return " ".join([*notes, *tests.notes])


def _curves(runs: list[Compared]) -> Iterator[Plot]:
    """Yield the plots of losses and metrics by epoch, with a line for each run."""
    for part, prefix in (("validation", "valid"), ("training", "train")):
        for metric in ("loss", "accuracy", "r2"):
            key = f"{prefix}_{metric}"
            having = [run for run in runs if any(key in row for row in run.history)]
            traces = [_metric_line(run, key) for run in having]
            if traces:
                title = f"{part} {metric}"
                yield Plot(title, traces, x_label="epoch", y_label=metric, x_scale="whole")


def _metric_line(run: Compared, key: str) -> Trace:
    """Return the line of a run in a plot; NaN for epochs without a value."""
    values = (row.get(key) for row in run.history)
    return make_epoch_trace(run.name, [nan if it is None else it for it in values])


def results_table(runs: list[Compared]) -> Table:
    """Return the table of metrics, size and time, with a row for each run."""
    metrics = list(dict.fromkeys(name for run in runs for name in run.metrics))
    if "n" in metrics:
        metrics.remove("n")
    last = ("records", "parameters", "epochs", "seconds")
    rows: list[tuple[str, ...]] = []
    for run in runs:
        found, best = run.results, run.results.get("best_epoch")
        cells = (
            *(_format_metric(run, name) for name in metrics),
            _format_count(run.metrics.get("n")),
            _format_count(found.get("parameters")),
            f"{found['epochs']:,}" + (f" (best {best:,})" if best else ""),
            f"{found['seconds']:,.1f}",
        )
        rows.append((run.name, *cells))
    return Table("Results", ("run", *map(title_of, metrics), *last), rows)


def paired_table(tests: PairedTests, prefix: str) -> Table:
    """Return the table of McNemar's tests, with a row for each run."""
    columns = ("run", "accuracy difference", "only this run right", "only best run right")
    columns = (*columns, "p", "p (Holm)") if tests.pairs > 1 else (*columns, "p")
    rows: list[tuple[str, ...]] = []
    for name, it in tests.by_name.items():
        counts = f"{it.difference:+.4f}", f"{it.only_this:,}", f"{it.only_best:,}"
        values = (it.p, it.p_holm) if tests.pairs > 1 else (it.p,)
        spelled = [f"{p:.4f}" if p >= _MIN_SHOWN_P else f"<{_MIN_SHOWN_P}" for p in values]
        rows.append((shorten(name, prefix), *counts, *spelled))
    return Table(PAIRED_TITLE, columns, rows)


def title_of(name: str) -> str:
    """Return the title of a metric."""
    return _TITLES.get(name, name.replace("_", " "))


def _format_count(number: float | None) -> str:
    """Format a count; a missing count becomes a dash."""
    return _DASH if number is None else f"{int(number):,}"


def _format_metric(run: Compared, name: str) -> str:
    """Format a metric, with its confidence interval if it has one."""
    value, ends = run.metrics.get(name), run.evaluated.get("intervals", {}).get(name)
    if value is None:
        return _DASH
    return f"{value:.4f}" + (f" ({ends[0]:.4f} to {ends[1]:.4f})" if ends else "")


def shorten(name: str, prefix: str) -> str:
    """Replace the common prefix of the run names by dots."""
    return f"...{name.removeprefix(prefix)}" if prefix else name


def values_of(runs: list[Compared], tests: PairedTests) -> dict[str, Any]:
    """Return the content of the page as JSON values, with runs in the order given."""
    values: list[dict[str, Any]] = []
    for run in runs:
        found, beside = run.results, tests.by_name.get(run.name)
        values.append(
            {
                "name": run.name,
                "folder": run.place,
                "part": run.part,
                "records": run.evaluated.get("records"),
                "metrics": run.metrics,
                "intervals": run.evaluated.get("intervals", {}),
                "parameters": found.get("parameters"),
                "epochs": found["epochs"],
                "best_epoch": found.get("best_epoch"),
                "seconds": found["seconds"],
                "settings": run.settings,
                "history": run.history,
                "beside_best": None if beside is None else asdict(beside),
            }
        )
    return {
        "version": _JSON_VERSION,
        "comparable": are_comparable(runs),
        "ranked_by": find_ranking_metric(runs),
        "ranking": [run.name for run in sort_runs(runs)],
        "tests": {
            "name": "McNemar, exact, two-sided",
            "best": tests.best,
            "pairs": tests.pairs,
            "notes": list(tests.notes),
        },
        "settings_that_differ": settings_that_differ(runs),
        "runs": values,
    }
