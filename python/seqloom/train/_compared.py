"""The runs that are compared: what their folders tell, and on what they were judged."""

import json
import os
import re
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from seqloom._arguments import as_path
from seqloom._files import reading
from seqloom.errors import ArgumentError, ConfigError
from seqloom.models._folder import HISTORY, RESULTS
from seqloom.models._trained import describe, read_config
from seqloom.train._run import Run, results_of

_FEWEST = 2
# Of the parts that all runs were judged on, the first of these is compared.
_PARTS = ("test", "validation")
# These have columns, or stand in config.json one by one.
_NOT_SETTINGS = {"model", "network", "encoder", "seconds of training"}
_NEEDED = {"parts", "settings", "epochs", "seconds"}
# Of these it is known which end is good: of a metric of the user's own it is not.
_HIGHER_IS_BETTER = {
    "accuracy": True,
    "balanced_accuracy": True,
    "mcc": True,
    "auroc": True,
    "auprc": True,
    "r2": True,
    "pearson": True,
    "spearman": True,
    "rmse": False,
}


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the runs."""

    name: str
    place: str
    source: Run | Path
    results: dict[str, Any]
    history: list[dict[str, Any]]
    config: dict[str, Any]

    @property
    def settings(self) -> dict[str, Any]:
        """What it was told: the settings of `fit`, of the network and of the encoder."""
        given = {
            name: value
            for name, value in self.results["settings"].items()
            if name not in _NOT_SETTINGS
        }
        for name, key in (("network", "model"), ("encoder", "encoder")):
            found: dict[str, Any] = self.config.get(key) or {}
            given |= {f"{name} {it.replace('_', ' ')}": found[it] for it in found}
        return given


def open_runs(runs: Any) -> list[Compared]:
    """Opens runs and run folders, each under a name of its own."""
    every = _check_runs(runs)
    names = _name(every)
    return [_open(run, name) for run, name in zip(every, names, strict=True)]


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
    """Lists the run folders in a folder that is none itself: fold-2 before fold-10."""
    if (home / "config.json").exists():
        return []
    return sorted((path.parent for path in home.glob("*/config.json")), key=_by_numbers)


def _by_numbers(folder: Path) -> list[tuple[int, str]]:
    """Gives what a folder is sorted by: the numbers in its name as numbers."""
    parts = re.split(r"(\d+)", folder.name)
    return [(int(it), "") if it.isdecimal() else (-1, it) for it in parts]


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
        found, config = results_of(run), describe(run.trained)
        return Compared(name, _place(run), run, found, run.history, config)
    home = as_path("runs", run, expected="runs or run folders")
    config, history = read_config(home), _read_history(home)
    path = home / RESULTS
    found = _read_results(path) if path.exists() else _so_far(config, history)
    return Compared(name, str(home), Path(home), found, history, config)


def _read_history(home: Path) -> list[dict[str, Any]]:
    """Reads a line an epoch; a model that was saved alone has none."""
    path = home / HISTORY
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


def choose_parts(runs: list[Compared]) -> list[str | None]:
    """Chooses the part of each run that is compared: one that all have, if there is one."""
    shared = [it for it in _PARTS if all(it in run.results["parts"] for run in runs)]
    return [
        next((it for it in (*shared, *_PARTS) if it in run.results["parts"]), None)
        for run in runs
    ]


def parts_of(runs: list[Compared]) -> list[dict[str, Any]]:
    """Gives that part of each run; an empty one where a run was judged on none."""
    chosen = choose_parts(runs)
    return [
        run.results["parts"].get(part, {}) for run, part in zip(runs, chosen, strict=True)
    ]


def are_alike(runs: list[Compared]) -> bool:
    """Says whether no run is known to be judged on another part or other records."""
    parts = {it for it in choose_parts(runs) if it is not None}
    marks = {part["records"] for part in parts_of(runs) if part.get("records")}
    return len(parts) <= 1 and len(marks) <= 1


def settings_that_differ(runs: list[Compared]) -> list[str]:
    """Names the settings that are not the same for all runs."""
    every = [run.settings for run in runs]
    names = dict.fromkeys(name for settings in every for name in settings)
    # By their text, because a run of an older version has text where others have numbers.
    return [it for it in names if len({_text_of(each, it) for each in every}) > 1]


def _text_of(settings: dict[str, Any], name: str) -> str | None:
    """Spells a setting; gives None where a run has none of this name."""
    return str(settings[name]) if name in settings else None


def find_ranking_metric(runs: list[Compared]) -> str | None:
    """Finds the metric that runs are sorted by: the first that every judged run has."""
    judged = [found for part in parts_of(runs) if (found := part.get("metrics"))]
    names = judged[0] if judged else ()
    shared = (it for it in names if all(it in metrics for metrics in judged))
    return next((it for it in shared if it in _HIGHER_IS_BETTER), None)


def rank(runs: list[Compared]) -> list[Compared]:
    """Sorts runs by that metric, the best first; those without a value come last."""
    metric = find_ranking_metric(runs)
    if metric is None:
        return runs
    sign = -1 if _HIGHER_IS_BETTER[metric] else 1
    found = [part.get("metrics", {}).get(metric) for part in parts_of(runs)]
    values = [inf if value is None else sign * value for value in found]
    return [runs[it] for it in sorted(range(len(runs)), key=values.__getitem__)]
