"""The runs that are compared: what their folders hold, and McNemar's test of each pair.

The test is exact, and its p-values are corrected by Holm's method for all pairs of runs.
"""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import exp, inf, lgamma, log
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
_EXPECTED = "runs or run folders"
_FOR_CLASSES = "No test: McNemar's test is for runs that give each record one class."
FilePath: TypeAlias = str | os.PathLike[str]
Answers: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the runs."""

    name: str
    place: str
    source: Run | Path
    results: dict[str, Any]
    history: list[dict[str, Any]]
    config: dict[str, Any]
    part: str | None = None  # the name of the part that is compared
    judged: dict[str, Any] = field(default_factory=dict[str, Any])  # what it found there

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics on the part that is compared."""
        return self.judged.get("metrics", {})

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


def open_runs(runs: Iterable[Run | FilePath] | FilePath) -> list[Compared]:
    """Open runs and run folders, each under a name of its own."""
    given = _check_runs(runs)
    places = [
        run if isinstance(run, Run) else as_path("runs", run, expected=_EXPECTED)
        for run in given
    ]
    folders = [run.folder if isinstance(run, Run) else run for run in places]
    known = [folder.absolute() for folder in folders if folder is not None]
    for folder in known:
        if known.count(folder) > 1:
            raise ArgumentError(f"runs: {folder} is given twice; give each run once")
    # Names leave out the folder that holds all runs; a run in memory has a number.
    above = os.path.commonpath([folder.parent for folder in known]) if known else ""
    opened: list[Compared] = []
    for number, (run, folder) in enumerate(zip(places, folders, strict=True), start=1):
        name, place = f"run {number}", "a run in memory"
        if folder is not None:
            name, place = str(folder.absolute().relative_to(above)), str(folder)
        opened.append(_open(run, name=name, place=place))
    # A part that all runs were judged on is compared, if there is one.
    parts = [run.results["parts"] for run in opened]
    shared = [name for name in _PARTS if all(name in each for each in parts)]
    for number, (run, found) in enumerate(zip(opened, parts, strict=True)):
        part = next((name for name in (*shared, *_PARTS) if name in found), None)
        judged: dict[str, Any] = {} if part is None else found[part]
        opened[number] = replace(run, part=part, judged=judged)
    return opened


def _check_runs(runs: Any) -> list[Any]:
    """Refuse what is not several runs; one folder may hold them."""
    is_one = isinstance(runs, (str, bytes)) or not hasattr(runs, "__iter__")
    found: list[Any] = [runs] if is_one else list(runs)
    if len(found) == 1 and not isinstance(found[0], Run):
        home = as_path("runs", found[0], expected=_EXPECTED)
        if not (home / "config.json").exists():
            paths = [path.parent for path in home.glob("*/config.json")]
            found = sorted(paths, key=_by_numbers) or found
    if len(found) < _FEWEST:
        given = "none"
        if found and isinstance(found[0], Run):
            given = f"{found[0].folder or 'a run in memory'} alone"
        elif found:
            given = f"{as_path('runs', found[0], expected=_EXPECTED)} alone"
        raise ArgumentError(
            "runs must be two or more run folders, or one folder that holds them, got "
            f"{given}; as in seqloom compare runs/a runs/b, or in Python "
            'compare(["runs/a", "runs/b"])'
        )
    return found


def _by_numbers(folder: Path) -> list[tuple[int, str]]:
    """Return the sorting key of a folder: fold-2 comes before fold-10."""
    parts = re.split(r"(\d+)", folder.name)
    return [(int(it), "") if it.isdecimal() else (-1, it) for it in parts]


def _open(run: Run | Path, *, name: str, place: str) -> Compared:
    """Read a run folder, or take a run in memory."""
    if isinstance(run, Run):
        results, config = results_of(run), describe(run.trained)
        return Compared(name, place, run, results, run.history, config)
    config, path = read_config(run), run / HISTORY
    history: list[dict[str, Any]] = []  # a model that was saved alone has none
    if path.exists():
        with reading(path):
            history = [_parse(path, line) for line in path.read_bytes().splitlines()]
    path = run / RESULTS
    if not path.exists():
        return Compared(name, place, run, _so_far(config, history), history, config)
    with reading(path):
        results = _parse(path, path.read_bytes())
    if missing := sorted(_NEEDED - results.keys()):
        raise ConfigError(
            f"{path}: lacks {missing[0]!r}; remove it, or train the run again"
        )
    return Compared(name, place, run, results, history, config)


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    """Read an object of JSON, or name the file that holds something else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not JSON ({error}); train the run again") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: expected an object of JSON; train the run again")
    return found  # pyright: ignore[reportUnknownVariableType]


def _so_far(config: dict[str, Any], history: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is known of a run that has not ended, by its epochs so far."""
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


def are_alike(runs: list[Compared]) -> bool:
    """Return True if no run is known to be judged on another part or other records."""
    parts = {run.part for run in runs if run.part is not None}
    marks = {run.judged["records"] for run in runs if run.judged.get("records")}
    return len(parts) <= 1 and len(marks) <= 1


def settings_that_differ(runs: list[Compared]) -> list[str]:
    """Name the settings that are not the same for all runs."""
    every = [run.settings for run in runs]
    # By their text, because a run of an older version has text where others have numbers.
    texts = [{name: str(value) for name, value in it.items()} for it in every]
    names = dict.fromkeys(name for settings in every for name in settings)
    return [name for name in names if len({each.get(name) for each in texts}) > 1]


def find_ranking_metric(runs: list[Compared]) -> str | None:
    """Find the metric that runs are sorted by: the first that every judged run has."""
    judged = [run.metrics for run in runs if run.metrics]
    names = judged[0] if judged else ()
    shared = (it for it in names if all(it in metrics for metrics in judged))
    return next((it for it in shared if it in _HIGHER_IS_BETTER), None)


def rank(runs: list[Compared]) -> list[Compared]:
    """Sort runs by that metric, the best first; those without a value come last."""
    metric = find_ranking_metric(runs)
    if metric is None:
        return runs
    sign = -1 if _HIGHER_IS_BETTER[metric] else 1

    def key(run: Compared) -> float:
        value = run.metrics.get(metric)
        return inf if value is None else sign * value

    return sorted(runs, key=key)


@dataclass(frozen=True, slots=True)
class Beside:
    """A run beside the best one, on the same records."""

    difference: float
    only_this: int
    only_best: int
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class PairedTests:
    """The tests of runs against the best one; notes say which runs have none, and why."""

    best: str | None = None
    pairs: int = 0
    records: int = 0
    by_name: dict[str, Beside] = field(default_factory=dict[str, Beside])
    notes: tuple[str, ...] = ()


def set_beside_best(runs: list[Compared]) -> PairedTests:
    """Test each run against the best one, where both have judged the same records."""
    if find_ranking_metric(runs) is None:
        return PairedTests()
    if any(run.results.get("task") != "classify" for run in runs):
        return PairedTests(notes=(_FOR_CLASSES,))
    ranked = rank(runs)
    answers: dict[str, Answers] = {}
    reasons: dict[str, list[str]] = {}
    for run in ranked:
        reason = _why_unknown(run, ranked[0])
        if reason is None:
            try:
                answers[run.name] = read_answers(run)
            except (FileError, FormatError) as error:
                reason = str(error)
        if reason is not None:
            reasons.setdefault(reason, []).append(run.name)
    notes = tuple(
        f"No test of {', '.join(names)}: {reason}." for reason, names in reasons.items()
    )
    return _test_all(ranked[0].name, answers, notes)


def mcnemar(only_first: int, only_second: int) -> float:
    """Compute the two-sided p-value of McNemar's test, by the exact binomial."""
    # Where two classifiers are equally good, each record on which just one of them is right
    # is as likely the one's as the other's (McNemar, Psychometrika 12, 1947).
    fewer, total = min(only_first, only_second), only_first + only_second
    chance = exp(
        lgamma(total + 1) - lgamma(fewer + 1) - lgamma(total - fewer + 1) - total * log(2)
    )
    # How likely each smaller count is, beside `fewer` itself.
    down = np.arange(fewer, 0, -1)
    below = float(np.cumprod(down / (total - down + 1)).sum())
    return min(1.0, 2 * chance * (1 + below))


def holm(values: list[float]) -> list[float]:
    """Correct p-values for their number (Holm, Scand. J. Statist. 6, 1979)."""
    corrected, least = [0.0] * len(values), 0.0
    order = sorted(range(len(values)), key=values.__getitem__)
    for place, it in enumerate(order):
        least = max(least, min(1.0, (len(values) - place) * values[it]))
        corrected[it] = least
    return corrected


def _test_all(
    best: str, answers: dict[str, Answers], notes: tuple[str, ...]
) -> PairedTests:
    """Test all pairs, and keeps those with the best run."""
    if best not in answers or len(answers) == 1:
        return PairedTests(best, notes=notes)
    # All pairs count, because these records have chosen which run is the best one.
    pairs = list(combinations(answers, 2))
    rights = [(answers[one], answers[other]) for one, other in pairs]
    # The records on which just one of two is right.
    counts = [
        (int(np.count_nonzero(one & ~other)), int(np.count_nonzero(other & ~one)))
        for one, other in rights
    ]
    values = [mcnemar(*count) for count in counts]
    records = len(answers[best])
    found = zip(pairs, counts, values, holm(values), strict=True)
    by_name = {
        other: Beside((second - first) / records, second, first, p, p_holm)
        for (one, other), (first, second), p, p_holm in found
        if one == best  # the answers are in the order of the ranking
    }
    return PairedTests(best, len(pairs), records, by_name, notes)


def _why_unknown(run: Compared, best: Compared) -> str | None:
    """Explain why a run cannot be set beside the best one, if it cannot."""
    records = run.judged.get("records")
    if run.metrics.get("accuracy") is None:
        return "it has no accuracy"
    if records is None:
        return "it has not ended, so that its scores are not written"
    if records != best.judged.get("records"):
        return (
            "it was not judged on the records, labels and classes of the best run, in the "
            "same order"
        )
    return None


def read_answers(run: Compared) -> Answers:
    """Read for each record whether the run has it right."""
    source = run.source
    if isinstance(source, Run):
        judged: Any = source.test if run.part == "test" else source.valid
        called = source.trained.task.decide(judged.scores.to_numpy())
        return np.asarray(called == judged.labels)
    name = "valid" if run.part == "validation" else run.part
    scores = Scores.read_tsv(source / f"scores-{name}.tsv")
    ids, labels = read_classes(source / f"labels-{name}.tsv")
    if ids != scores.ids:
        raise FormatError(f"{source}: scores and labels are not of the same records")
    places = {name: it for it, name in enumerate(scores.classes)}
    true = np.array([places.get(it, -1) for it in labels])
    found = scores.to_numpy().argmax(axis=1) == true
    if int(found.sum()) != round(run.metrics["accuracy"] * run.metrics.get("n", 0)):
        raise FormatError(
            f"{source}: scores and labels are not those of results.json", path=str(source)
        )
    return found
