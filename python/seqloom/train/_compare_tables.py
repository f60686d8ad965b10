"""Tables of runs that are compared: a row for each run."""

from typing import Any

from seqloom.report import Table
from seqloom.train._compared import Compared, parts_of, settings_that_differ
from seqloom.train._mcnemar import PairedTests

BESIDE = "Beside the best run"
_TITLES = {"mcc": "MCC", "auroc": "AUROC", "auprc": "AUPRC", "rmse": "RMSE"}
_NONE = "\N{EN DASH}"
_LEAST_P = 0.0001


def results_table(runs: list[Compared]) -> Table:
    """Lists metrics, size and time, a row a run."""
    parts = parts_of(runs)
    names = dict.fromkeys(name for part in parts for name in part.get("metrics", {}))
    metrics = [it for it in names if it != "n"]
    last = ("records", "parameters", "epochs", "seconds")
    rows = [
        (
            run.name,
            *(_spell(part, it) for it in metrics),
            _whole(part.get("metrics", {}).get("n")),
            _whole(run.results.get("parameters")),
            _epochs(run.results),
            f"{run.results['seconds']:,.1f}",
        )
        for run, part in zip(runs, parts, strict=True)
    ]
    return Table("Results", ("run", *map(title_of, metrics), *last), rows)


def paired_table(tests: PairedTests, prefix: str) -> Table:
    """Lists the tests, a row a run."""
    corrected = ("p (Holm)",) if tests.pairs > 1 else ()
    counts = ("only this one right", "only the best right")
    rows = [
        (
            shorten(name, prefix),
            f"{it.difference:+.4f}",
            f"{it.only_this:,}",
            f"{it.only_best:,}",
            *map(_spell_p, (it.p, it.p_holm)[: 1 + len(corrected)]),
        )
        for name, it in tests.by_name.items()
    ]
    columns = ("run", "difference of accuracy", *counts, "p", *corrected)
    return Table(BESIDE, columns, rows)


def _spell_p(value: float) -> str:
    """Spells a p-value."""
    return f"{value:.4f}" if value >= _LEAST_P else f"<{_LEAST_P}"


def title_of(name: str) -> str:
    """Spells a metric's name."""
    return _TITLES.get(name, name.replace("_", " "))


def _whole(number: float | None) -> str:
    """Spells a count; a dash where there is none."""
    return _NONE if number is None else f"{int(number):,}"


def _spell(part: dict[str, Any], name: str) -> str:
    """Spells a metric with its interval, if it has one."""
    value = part.get("metrics", {}).get(name)
    if value is None:
        return _NONE
    ends = part.get("intervals", {}).get(name)
    return f"{value:.4f}" + (f" ({ends[0]:.4f} to {ends[1]:.4f})" if ends else "")


def _epochs(results: dict[str, Any]) -> str:
    """Says how many epochs there were, and which one was kept."""
    best = results.get("best_epoch")
    return f"{results['epochs']:,}" + (f" (kept {best:,})" if best else "")


def settings_table(runs: list[Compared]) -> Table | None:
    """Lists the settings in which the runs differ, a row a run."""
    names = settings_that_differ(runs)
    rows = [(run.name, *(str(run.settings.get(it, _NONE)) for it in names)) for run in runs]
    return Table("Settings that differ", ("run", *names), rows) if names else None


def shorten(name: str, prefix: str) -> str:
    """Leaves out what all names begin with."""
    return f"...{name.removeprefix(prefix)}" if prefix else name
