"""Runs beside each other: what differs, what they found, how they learned."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import takewhile
from math import nan
from typing import Any

from seqloom._arguments import as_flag, as_path
from seqloom._files import write_atomic
from seqloom.errors import FileError
from seqloom.report import Plot, Report, Section, Table, Trace, make_page
from seqloom.report._plot import COLOURS
from seqloom.report._sections import trace_epochs
from seqloom.train._compared import (
    Compared,
    FilePath,
    PairedTests,
    are_alike,
    find_ranking_metric,
    open_runs,
    rank,
    set_beside_best,
    settings_that_differ,
)
from seqloom.train._run import Run

# A third of a terminal of 80 columns.
_LONGEST_NAME = 26
# The version of what `seqloom compare --json` prints.
_VERSION = 2
BESIDE = "Beside the best run"
_TITLES = {"mcc": "MCC", "auroc": "AUROC", "auprc": "AUPRC", "rmse": "RMSE"}
_NONE = "\N{EN DASH}"
_LEAST_P = 0.0001


def compare(
    runs: Sequence[Run | FilePath] | FilePath,
    *,
    out: FilePath | None = None,
    overwrite: bool = False,
) -> Report:
    """Compare finished runs: their settings, their metrics and their learning curves.

    Runs are sorted by the first metric that all have (accuracy, r2), the best first.
    Metrics have 95 % intervals where there is a closed form: an accuracy (Wilson), the
    areas of two classes (`seqloom.report.auroc_interval`, ``auprc_interval``), Pearson's
    correlation (Fisher). Classifiers that judged the same records are tested against the
    best of them: McNemar's exact test, corrected by Holm's method for all pairs of runs.
    A run that was stopped has the validation metrics of its best epoch so far.

    Args:
        runs: Two or more runs, or run folders; or one folder that holds run folders.
        out: The HTML page to write, one file; None writes nothing.
        overwrite: Replace the page where it is there already.

    Returns:
        What the page shows; its first section has a row for each run.

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
        [('seed-0', '0'), ('seed-1', '1')]
    """
    page = None
    if out is not None:
        page = as_path("out", out, expected="the path of a page to write")
        if page.exists() and not as_flag("overwrite", overwrite):
            raise FileError(
                f"{page}: is there already; overwrite=True (--overwrite) replaces it"
            )
    opened = open_runs(runs)
    report = report_of(opened, set_beside_best(opened))
    if page is not None:
        write_atomic(page, make_page(report))
    return report


def report_of(runs: list[Compared], tests: PairedTests) -> Report:
    """Make what the page shows."""
    prefix = _find_prefix([run.name for run in runs])
    shown = [replace(run, name=shorten(run.name, prefix)) for run in rank(runs)]
    return Report(
        title=f"{len(runs)} runs compared",
        lead=f"{', '.join(run.place for run in runs)}.",
        sections=tuple(_sections(shown, tests, prefix)),
    )


def _find_prefix(names: list[str]) -> str:
    """Find what all names begin with, if names are too long for a column."""
    if max(map(len, names)) <= _LONGEST_NAME:
        return ""
    pairs = zip(min(names), max(names), strict=False)
    shared = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    # The last word that they share is kept, as in ...seed-1.
    found = re.match(r"(.*[\W_])[^\W_]*[\W_]", shared, re.DOTALL)
    return found[1] if found else ""


def _sections(runs: list[Compared], tests: PairedTests, prefix: str) -> Iterator[Section]:
    """Make the results, the tests, the settings that differ, and the curves."""
    yield Section(
        title="Results", note=_note(runs, tests, prefix), table=results_table(runs)
    )
    if tests.by_name:
        note = (
            f"Beside {tests.best}, which has the highest accuracy, on the same "
            f"{tests.records:,} records. p: McNemar's exact test, two-sided."
        )
        if tests.pairs > 1:
            note += (
                f" p (Holm): corrected for all {tests.pairs} pairs of runs, because these "
                "records chose the best one; p alone is not corrected."
            )
        yield Section(title=BESIDE, note=note, table=paired_table(tests, prefix))
    if names := settings_that_differ(runs):
        rows = [
            (run.name, *(str(run.settings.get(name, _NONE)) for name in names))
            for run in runs
        ]
        table = Table("Settings that differ", ("run", *names), rows)
        yield Section(title="Settings that differ", table=table)
    if plots := list(_curves(runs[:COLOURS])):
        first = "best" if find_ranking_metric(runs) else "first"
        note = f"Drawn: the {COLOURS} {first} runs." if len(runs) > COLOURS else ""
        yield Section(title="Learning curves", note=note, drawings=plots)


def _note(runs: list[Compared], tests: PairedTests, prefix: str) -> str:
    """Say what the runs were judged on, and whether that is the same for all."""
    metric = find_ranking_metric(runs)
    parts = sorted({run.part for run in runs if run.part})
    order = "sorted by " + title_of(metric) if metric else "in the order given"
    notes = [f"Metrics on the {' and the '.join(parts)} part."] if parts else []
    notes.append(f"Runs are {order}{', the best first' if metric else ''}.")
    if any(run.part is None for run in runs):
        notes.append("A run without metrics was judged on no part, or has not begun.")
    if not are_alike(runs):
        notes.append(
            "Records, labels or classes are not the same for all runs: compare with care."
        )
    if any("network" not in run.results for run in runs):
        notes.append("A run without parameters has not ended, or is of an older version.")
    notes.append("A second figure is the 95 % interval of a metric.")
    if prefix:
        notes.append(f"In the tables ... stands for {prefix}.")
    return " ".join([*notes, *tests.notes])


def _curves(runs: list[Compared]) -> Iterator[Plot]:
    """Plot what runs followed from epoch to epoch, a line a run."""
    for part, prefix in (("validation", "valid"), ("training", "train")):
        for metric in ("loss", "accuracy", "r2"):
            key = f"{prefix}_{metric}"
            having = [run for run in runs if any(key in row for row in run.history)]
            traces = [_trace(run, key) for run in having]
            if traces:
                title = f"{part} {metric}"
                yield Plot(title, traces, x_label="epoch", y_label=metric, x_scale="whole")


def _trace(run: Compared, key: str) -> Trace:
    """Trace one run; NaN stands for an epoch without a value."""
    values = (row.get(key) for row in run.history)
    return trace_epochs(run.name, [nan if it is None else it for it in values])


def results_table(runs: list[Compared]) -> Table:
    """List metrics, size and time, a row a run."""
    metrics = list(dict.fromkeys(name for run in runs for name in run.metrics))
    if "n" in metrics:
        metrics.remove("n")
    last = ("records", "parameters", "epochs", "seconds")
    rows: list[tuple[str, ...]] = []
    for run in runs:
        found, best = run.results, run.results.get("best_epoch")
        cells = (
            *(_spell(run, name) for name in metrics),
            _whole(run.metrics.get("n")),
            _whole(found.get("parameters")),
            f"{found['epochs']:,}" + (f" (kept {best:,})" if best else ""),
            f"{found['seconds']:,.1f}",
        )
        rows.append((run.name, *cells))
    return Table("Results", ("run", *map(title_of, metrics), *last), rows)


def paired_table(tests: PairedTests, prefix: str) -> Table:
    """List the tests, a row a run."""
    columns = (
        "run",
        "difference of accuracy",
        "only this one right",
        "only the best right",
    )
    columns = (*columns, "p", "p (Holm)") if tests.pairs > 1 else (*columns, "p")
    rows: list[tuple[str, ...]] = []
    for name, it in tests.by_name.items():
        counts = f"{it.difference:+.4f}", f"{it.only_this:,}", f"{it.only_best:,}"
        values = (it.p, it.p_holm) if tests.pairs > 1 else (it.p,)
        spelled = [f"{p:.4f}" if p >= _LEAST_P else f"<{_LEAST_P}" for p in values]
        rows.append((shorten(name, prefix), *counts, *spelled))
    return Table(BESIDE, columns, rows)


def title_of(name: str) -> str:
    """Spell a metric's name."""
    return _TITLES.get(name, name.replace("_", " "))


def _whole(number: float | None) -> str:
    """Spell a count; a dash where there is none."""
    return _NONE if number is None else f"{int(number):,}"


def _spell(run: Compared, name: str) -> str:
    """Spell a metric with its interval, if it has one."""
    value, ends = run.metrics.get(name), run.judged.get("intervals", {}).get(name)
    if value is None:
        return _NONE
    return f"{value:.4f}" + (f" ({ends[0]:.4f} to {ends[1]:.4f})" if ends else "")


def shorten(name: str, prefix: str) -> str:
    """Leave out what all names begin with."""
    return f"...{name.removeprefix(prefix)}" if prefix else name


def values_of(runs: list[Compared], tests: PairedTests) -> dict[str, Any]:
    """List what the page shows as plain values; runs are in the order given."""
    values: list[dict[str, Any]] = []
    for run in runs:
        found, beside = run.results, tests.by_name.get(run.name)
        values.append(
            {
                "name": run.name,
                "folder": run.place,
                "part": run.part,
                "records": run.judged.get("records"),
                "metrics": run.metrics,
                "intervals": run.judged.get("intervals", {}),
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
        "version": _VERSION,
        "comparable": are_alike(runs),
        "ranked_by": find_ranking_metric(runs),
        "ranking": [run.name for run in rank(runs)],
        "tests": {
            "name": "McNemar, exact, two-sided",
            "best": tests.best,
            "pairs": tests.pairs,
            "notes": list(tests.notes),
        },
        "settings_that_differ": settings_that_differ(runs),
        "runs": values,
    }
