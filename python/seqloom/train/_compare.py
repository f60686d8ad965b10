"""Runs beside each other: what differs, what they found, how they learned."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from seqloom._arguments import as_flag, as_path
from seqloom._files import reading, write_atomic
from seqloom.errors import ArgumentError, ConfigError, FileError
from seqloom.models._trained import describe, read_config
from seqloom.report import Plot, Report, Section, Table, Trace, make_page
from seqloom.train._results import RESULTS, results_of
from seqloom.train._run import Run

FilePath: TypeAlias = str | os.PathLike[str]
_FEWEST = 2
# Of the parts that all runs were judged on, the first of these is compared.
_PARTS = ("test", "validation")
_TITLES = {"mcc": "MCC", "auroc": "AUROC", "auprc": "AUPRC", "rmse": "RMSE"}
# These have columns, or stand in config.json one by one.
_NOT_SETTINGS = {"model", "network", "encoder", "seconds of training"}
_FEWEST_FOR_A_LINE = 3
_NEEDED = {"parts", "settings", "epochs", "seconds"}


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the runs."""

    name: str
    results: dict[str, Any]
    history: list[dict[str, Any]]
    config: dict[str, Any]

    @property
    def settings(self) -> dict[str, str]:
        """What it was told: the settings of `fit`, of the network and of the encoder."""
        given = {
            name: value
            for name, value in self.results["settings"].items()
            if name not in _NOT_SETTINGS
        }
        for name, key in (("network", "model"), ("encoder", "encoder")):
            found: dict[str, Any] = self.config.get(key) or {}
            given |= {f"{name} {it.replace('_', ' ')}": str(found[it]) for it in found}
        return given


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
    every = _check_runs(runs)
    names = _name(every)
    compared = [_open(run, name) for run, name in zip(every, names, strict=True)]
    report = Report(
        title=f"{len(compared)} runs compared",
        lead=f"{', '.join(map(_place, every))}.",
        sections=tuple(_sections(compared)),
    )
    if page is not None:
        write_atomic(page, make_page(report))
    return report


def _check_page(out: object, *, overwrite: object) -> Path:
    """Refuses to replace a page unasked."""
    page = as_path("out", out, expected="the path of a page to write")
    if page.exists() and not as_flag("overwrite", overwrite):
        raise FileError(
            f"{page}: is there already; overwrite=True (--overwrite) replaces it"
        )
    return page


def _check_runs(runs: Any) -> list[Any]:
    """Refuses what is not several runs; one folder may hold them."""
    is_one = isinstance(runs, (str, bytes)) or not hasattr(runs, "__iter__")
    found: list[Any] = [runs] if is_one else list(runs)
    if len(found) == 1 and not isinstance(found[0], Run):
        home = as_path("runs", found[0], expected="runs or run folders")
        found = _runs_in(home) or found
    if len(found) < _FEWEST:
        given = f"{_place(found[0])} alone" if found else "none"
        raise ArgumentError(
            "runs must be two or more run folders, or one folder that holds them, got "
            f"{given}; as in seqloom compare runs/a runs/b, or in Python "
            'compare(["runs/a", "runs/b"])'
        )
    return found


def _runs_in(home: Path) -> list[Path]:
    """Lists the run folders in a folder that is none itself, by their names."""
    if (home / "config.json").exists():
        return []
    return [path.parent for path in sorted(home.glob("*/config.json"))]


def _place(run: Any) -> str:
    """Says where a run is."""
    if not isinstance(run, Run):
        return str(as_path("runs", run, expected="runs or run folders"))
    return "a run in memory" if run.folder is None else str(run.folder)


def _name(runs: list[Any]) -> list[str]:
    """Names runs by their folders, without what is before them all; others by number."""
    folders = [
        None if it == "a run in memory" else Path(it).absolute() for it in map(_place, runs)
    ]
    known = [folder for folder in folders if folder is not None]
    for folder in known:
        if known.count(folder) > 1:
            raise ArgumentError(f"runs: {folder} is given twice; give each run once")
    above = os.path.commonpath([folder.parent for folder in known]) if known else ""
    return [
        f"run {number}" if folder is None else str(folder.relative_to(above))
        for number, folder in enumerate(folders, start=1)
    ]


def _open(run: Any, name: str) -> Compared:
    """Reads a run folder, or takes a run in memory."""
    if isinstance(run, Run):
        return Compared(name, results_of(run), run.history, describe(run.trained))
    home = as_path("runs", run, expected="runs or run folders")
    config, history = read_config(home), _read_history(home)
    path = home / RESULTS
    found = _read_results(path) if path.exists() else _so_far(config, history)
    return Compared(name, found, history, config)


def _read_history(home: Path) -> list[dict[str, Any]]:
    """Reads a line an epoch; a model that was saved alone has none."""
    path = home / "metrics.jsonl"
    if not path.exists():
        return []
    with reading(path):
        lines = path.read_bytes().splitlines()
    return [_parse(path, line) for line in lines]


def _read_results(path: Path) -> dict[str, Any]:
    """Reads what a run found."""
    with reading(path):
        found = _parse(path, path.read_bytes())
    if missing := sorted(_NEEDED - found.keys()):
        raise ConfigError(
            f"{path}: lacks {missing[0]!r}; remove it, or train the run again"
        )
    return found


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    """Reads an object of JSON, or names the file that holds something else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not JSON ({error}); train the run again") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: expected an object of JSON; train the run again")
    return found  # pyright: ignore[reportUnknownVariableType]


def _so_far(config: dict[str, Any], history: list[dict[str, Any]]) -> dict[str, Any]:
    """Gives what is known of a run that has not ended, by its epochs so far."""
    judged = [row for row in history if row.get("valid_loss") is not None]
    nothing: dict[str, Any] = {}
    best = min(judged, key=lambda row: row["valid_loss"], default=nothing)
    metrics = {
        key.removeprefix("valid_"): value
        for key, value in best.items()
        if key.startswith("valid_") and key != "valid_loss"
    }
    return {
        "task": config["task"].get("class", "").lower(),
        "epochs": len(history),
        "best_epoch": best.get("epoch"),
        "seconds": sum(row.get("seconds", 0.0) for row in history),
        "settings": {},
        "parts": {"validation": {"metrics": metrics}} if metrics else {},
    }


def _sections(runs: list[Compared]) -> Iterator[Section]:
    """Gives the table of results, the settings that differ, and the curves."""
    yield Section(title="Results", note=_note(runs), table=_results(runs))
    if (settings := _settings(runs)) is not None:
        yield Section(title="Settings that differ", table=settings)
    if plots := list(_curves(runs)):
        yield Section(title="Learning curves", drawings=plots)


def _part_of(run: Compared, runs: list[Compared]) -> str | None:
    """Chooses the part that is compared: one that all runs have, if there is one."""
    shared = [it for it in _PARTS if all(it in other.results["parts"] for other in runs)]
    own = [it for it in _PARTS if it in run.results["parts"]]
    return next(iter([*shared, *own]), None)


def _note(runs: list[Compared]) -> str:
    """Says what the runs were judged on, and whether that is the same for all."""
    chosen = [_part_of(run, runs) for run in runs]
    parts = sorted({it for it in chosen if it})
    notes = [f"Metrics on the {' and the '.join(parts)} part."] if parts else []
    if None in chosen:
        notes.append("A run without metrics was judged on no part, or has not begun.")
    marks = {
        run.results["parts"][part].get("records")
        for run, part in zip(runs, chosen, strict=True)
        if part is not None
    }
    if len(parts) > 1 or len(marks - {None}) > 1:
        notes.append(
            "Records, labels or classes are not the same for all runs: compare with care."
        )
    if any("network" not in run.results for run in runs):
        notes.append("A run without parameters has not ended, or is of an older version.")
    return " ".join([*notes, "A second figure is the 95 % interval of a metric."])


def _results(runs: list[Compared]) -> Table:
    """Lists metrics, size and time, a column a run."""
    parts = [run.results["parts"].get(_part_of(run, runs), {}) for run in runs]
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
    every = [run.settings for run in runs]
    names = dict.fromkeys(name for settings in every for name in settings)
    columns = (
        (it, [settings.get(it, "\N{EN DASH}") for settings in every]) for it in names
    )
    rows = [(name, *values) for name, values in columns if len(set(values)) > 1]
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
