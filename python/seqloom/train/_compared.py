"""Reads the runs to compare, and compares pairs of runs by McNemar's test.

The exact p-values are corrected for all pairs of runs by Holm's method.
"""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import as_path
from seqloom._files import reading
from seqloom.errors import ArgumentError, ConfigError, FileError, FormatError
from seqloom.infer import Scores
from seqloom.models._folder import HISTORY, RESULTS
from seqloom.models._trained import describe, read_config
from seqloom.train._evaluation import read_classes
from seqloom.train._paired import mcnemar
from seqloom.train._run import Run, results_of

_MIN_RUNS = 2
# The sets to compare, in order of preference. The first set on which all runs were
# evaluated is used.
_COMPARED_SETS = ("test", "validation")
# Settings that are not listed, because they have separate columns or are listed in
# detail from config.json.
_UNLISTED_SETTINGS = {"model", "network", "encoder", "seconds of training"}
_REQUIRED_KEYS = {"parts", "settings", "epochs", "seconds"}
# Metric -> True if a higher value is better. Custom metrics are missing, because it is
# unknown whether a higher value is better.
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
_RUNS_EXPECTED = "runs or run folders"
_NO_TEST_NOTE = "No test: McNemar's test needs runs that predict one class for each record."
FilePath: TypeAlias = str | os.PathLike[str]
Correctness: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Compared:
    """A run that is compared with other runs."""

    name: str
    place: str
    source: Run | Path
    results: dict[str, Any]
    history: list[dict[str, Any]]
    config: dict[str, Any]
    part: str | None = None  # set that is compared: "test" or "validation"
    evaluated: dict[str, Any] = field(
        default_factory=dict[str, Any]
    )  # metrics of the run on this set, and their confidence intervals

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics of the run on the set that is compared."""
        return self.evaluated.get("metrics", {})

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of `fit`, of the network and of the encoder."""
        given = {
            name: value
            for name, value in self.results["settings"].items()
            if name not in _UNLISTED_SETTINGS
        }
        for name, key in (("network", "model"), ("encoder", "encoder")):
            found: dict[str, Any] = self.config.get(key) or {}
            given |= {f"{name} {it.replace('_', ' ')}": found[it] for it in found}
        return given


def open_runs(runs: Iterable[Run | FilePath] | FilePath) -> list[Compared]:
    """Open runs and run folders, and assign a unique name to each run."""
    given = _check_runs(runs)
    places = [
        run if isinstance(run, Run) else as_path("runs", run, expected=_RUNS_EXPECTED)
        for run in given
    ]
    folders = [run.folder if isinstance(run, Run) else run for run in places]
    known = [folder.absolute() for folder in folders if folder is not None]
    for folder in known:
        if known.count(folder) > 1:
            raise ArgumentError(f"runs: {folder} is given twice; give each run once")
    # Names omit the folder that contains all runs. The name of a run in memory is a
    # number.
    above = os.path.commonpath([folder.parent for folder in known]) if known else ""
    opened: list[Compared] = []
    for number, (run, folder) in enumerate(zip(places, folders, strict=True), start=1):
        name, place = f"run {number}", "a run in memory"
        if folder is not None:
            name, place = str(folder.absolute().relative_to(above)), str(folder)
        opened.append(_open(run, name=name, place=place))
    # If possible, compare a set on which all runs were evaluated.
    parts = [run.results["parts"] for run in opened]
    shared = [name for name in _COMPARED_SETS if all(name in each for each in parts)]
    for number, (run, found) in enumerate(zip(opened, parts, strict=True)):
        part = next((name for name in (*shared, *_COMPARED_SETS) if name in found), None)
        evaluated: dict[str, Any] = {} if part is None else found[part]
        opened[number] = replace(run, part=part, evaluated=evaluated)
    return opened


def _check_runs(runs: Any) -> list[Any]:
    """List the runs, which may all be in one folder; raise if there are fewer than two."""
    is_one = isinstance(runs, (str, bytes)) or not hasattr(runs, "__iter__")
    found: list[Any] = [runs] if is_one else list(runs)
    if len(found) == 1 and not isinstance(found[0], Run):
        home = as_path("runs", found[0], expected=_RUNS_EXPECTED)
        if not (home / "config.json").exists():
            paths = [path.parent for path in home.glob("*/config.json")]
            found = sorted(paths, key=_numeric_key) or found
    if len(found) < _MIN_RUNS:
        given = "none"
        if found and isinstance(found[0], Run):
            given = f"{found[0].folder or 'a run in memory'} alone"
        elif found:
            given = f"{as_path('runs', found[0], expected=_RUNS_EXPECTED)} alone"
        raise ArgumentError(
            "runs must be two or more run folders, or one folder that contains them, got "
            f'{given}; as in seqloom compare runs/a runs/b or compare(["runs/a", "runs/b"])'
        )
    return found


def _numeric_key(folder: Path) -> list[tuple[int, str]]:
    """Return a sort key for folder names, which sorts fold-2 before fold-10."""
    parts = re.split(r"(\d+)", folder.name)
    return [(int(it), "") if it.isdecimal() else (-1, it) for it in parts]


def _open(run: Run | Path, *, name: str, place: str) -> Compared:
    """Read a run from its folder, or use a run that is in memory."""
    if isinstance(run, Run):
        results, config = results_of(run), describe(run.trained)
        return Compared(name, place, run, results, run.history, config)
    config, path = read_config(run), run / HISTORY
    history: list[dict[str, Any]] = []  # empty if only the model was saved
    if path.exists():
        with reading(path):
            history = [_parse(path, line) for line in path.read_bytes().splitlines()]
    path = run / RESULTS
    if not path.exists():
        results = _results_so_far(config, history)
        return Compared(name, place, run, results, history, config)
    with reading(path):
        results = _parse(path, path.read_bytes())
    if missing := sorted(_REQUIRED_KEYS - results.keys()):
        raise ConfigError(
            f"{path}: lacks {missing[0]!r}; remove it, or train the run again"
        )
    return Compared(name, place, run, results, history, config)


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    """Parse a JSON object; an error message contains the path of the file."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not JSON ({error}); train the run again") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: expected an object of JSON; train the run again")
    return found  # pyright: ignore[reportUnknownVariableType]


def _results_so_far(config: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the results of an unfinished run, from the epochs that have finished."""
    evaluated = [row for row in rows if row.get("valid_loss") is not None]
    nothing: dict[str, Any] = {}
    best = min(evaluated, key=lambda row: row["valid_loss"], default=nothing)
    metrics = {
        key.removeprefix("valid_"): value
        for key, value in best.items()
        if key.startswith("valid_") and key != "valid_loss"
    }
    return {
        "task": config["task"].get("class", "").lower(),
        "epochs": len(rows),
        "best_epoch": best.get("epoch"),
        "seconds": sum(row.get("seconds", 0.0) for row in rows),
        "settings": {},
        "parts": {"validation": {"metrics": metrics}} if metrics else {},
    }


def are_comparable(runs: list[Compared]) -> bool:
    """Return whether all runs were evaluated on the same records."""
    parts = {run.part for run in runs if run.part is not None}
    marks = {run.evaluated["records"] for run in runs if run.evaluated.get("records")}
    return len(parts) <= 1 and len(marks) <= 1


def settings_that_differ(runs: list[Compared]) -> list[str]:
    """List the settings that differ between runs."""
    every = [run.settings for run in runs]
    # Older versions saved numbers as text, so settings are compared as text.
    texts = [{name: str(value) for name, value in it.items()} for it in every]
    names = dict.fromkeys(name for settings in every for name in settings)
    return [name for name in names if len({each.get(name) for each in texts}) > 1]


def find_ranking_metric(runs: list[Compared]) -> str | None:
    """Find the metric to sort by: the first metric that every evaluated run has."""
    evaluated = [run.metrics for run in runs if run.metrics]
    names = evaluated[0] if evaluated else ()
    shared = (it for it in names if all(it in metrics for metrics in evaluated))
    return next((it for it in shared if it in _HIGHER_IS_BETTER), None)


def sort_runs(runs: list[Compared]) -> list[Compared]:
    """Sort runs by the ranking metric, from the best run to runs without this metric."""
    metric = find_ranking_metric(runs)
    if metric is None:
        return runs
    sign = -1 if _HIGHER_IS_BETTER[metric] else 1

    def key(run: Compared) -> float:
        value = run.metrics.get(metric)
        return inf if value is None else sign * value

    return sorted(runs, key=key)


@dataclass(frozen=True, slots=True)
class PairedTest:
    """McNemar's test of a run against the best run."""

    difference: float
    only_this: int
    only_best: int
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class PairedTests:
    """The tests of runs against the best run, and notes that explain missing tests."""

    best: str | None = None
    pairs: int = 0
    records: int = 0
    by_name: dict[str, PairedTest] = field(default_factory=dict[str, PairedTest])
    notes: tuple[str, ...] = ()


def compare_with_best(runs: list[Compared]) -> PairedTests:
    """Test each run against the best run, if both were evaluated on the same records."""
    if find_ranking_metric(runs) is None:
        return PairedTests()
    if any(run.results.get("task") != "classify" for run in runs):
        return PairedTests(notes=(_NO_TEST_NOTE,))
    ranked = sort_runs(runs)
    answers: dict[str, Correctness] = {}
    reasons: dict[str, list[str]] = {}
    for run in ranked:
        reason = _reason_without_test(run, ranked[0])
        if reason is None:
            try:
                answers[run.name] = read_correctness(run)
            except (FileError, FormatError) as error:
                reason = str(error)
        if reason is not None:
            reasons.setdefault(reason, []).append(run.name)
    notes = tuple(
        f"No test of {', '.join(names)}: {reason}." for reason, names in reasons.items()
    )
    return _test_all_pairs(ranked[0].name, answers, notes)


def correct_p_values(values: list[float]) -> list[float]:
    """Correct p-values for multiple testing (Holm, Scand. J. Statist. 6, 1979)."""
    corrected, least = [0.0] * len(values), 0.0
    order = sorted(range(len(values)), key=values.__getitem__)
    for place, it in enumerate(order):
        least = max(least, min(1.0, (len(values) - place) * values[it]))
        corrected[it] = least
    return corrected


def _test_all_pairs(
    best: str, answers: dict[str, Correctness], notes: tuple[str, ...]
) -> PairedTests:
    """Test all pairs of runs, and return the tests that include the best run."""
    if best not in answers or len(answers) == 1:
        return PairedTests(best, notes=notes)
    # Correct for all pairs, because the same records decided which run is the best.
    pairs = list(combinations(answers, 2))
    rights = [(answers[one], answers[other]) for one, other in pairs]
    # The numbers of records on which exactly one of the two runs is right.
    counts = [
        (int(np.count_nonzero(one & ~other)), int(np.count_nonzero(other & ~one)))
        for one, other in rights
    ]
    values = [mcnemar(*count) for count in counts]
    records = len(answers[best])
    found = zip(pairs, counts, values, correct_p_values(values), strict=True)
    by_name = {
        other: PairedTest((second - first) / records, second, first, p, p_holm)
        for (one, other), (first, second), p, p_holm in found
        if one == best  # in a pair, the better run comes first
    }
    return PairedTests(best, len(pairs), records, by_name, notes)


def _reason_without_test(run: Compared, best: Compared) -> str | None:
    """Return the reason why a run cannot be tested against the best run, or None."""
    records = run.evaluated.get("records")
    if run.metrics.get("accuracy") is None:
        return "the run has no accuracy"
    if records is None:
        return "the run has not finished, so its scores are not written"
    if records != best.evaluated.get("records"):
        return (
            "the run was not evaluated on the same records, labels and classes, in the "
            "same order, as the best run"
        )
    return None


def read_correctness(run: Compared) -> Correctness:
    """Read, for each record, whether the prediction of a run is correct."""
    source = run.source
    if isinstance(source, Run):
        evaluated: Any = source.test if run.part == "test" else source.valid
        called = source.trained.task.decide(evaluated.scores.to_numpy())
        return np.asarray(called == evaluated.labels)
    name = "valid" if run.part == "validation" else run.part
    scores = Scores.read_tsv(source / f"scores-{name}.tsv")
    ids, labels = read_classes(source / f"labels-{name}.tsv")
    if ids != scores.ids:
        raise FormatError(f"{source}: the ids of scores and labels differ")
    places = {name: it for it, name in enumerate(scores.classes)}
    true = np.array([places.get(it, -1) for it in labels])
    found = scores.to_numpy().argmax(axis=1) == true
    if int(found.sum()) != round(run.metrics["accuracy"] * run.metrics.get("n", 0)):
        raise FormatError(
            f"{source}: scores and labels do not match results.json", path=str(source)
        )
    return found
