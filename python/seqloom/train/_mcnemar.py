"""Is the best run better than the others on the same records? McNemar's exact test."""

from dataclasses import dataclass, field
from itertools import combinations
from math import exp, lgamma, log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import FileError, FormatError
from seqloom.infer import Scores
from seqloom.train._compared import (
    Compared,
    choose_parts,
    find_ranking_metric,
    parts_of,
    rank,
)
from seqloom.train._judged import read_classes
from seqloom.train._run import Run

Answers = NDArray[np.bool_]
_FOR_CLASSES = "No test: McNemar's test is for runs that give each record one class."


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
    """Tests each run against the best one, where both have judged the same records."""
    if find_ranking_metric(runs) is None:
        return PairedTests()
    if any(run.results.get("task") != "classify" for run in runs):
        return PairedTests(notes=(_FOR_CLASSES,))
    ranked = rank(runs)
    answers, reasons = _read_all(ranked)
    notes = tuple(
        f"No test of {', '.join(names)}: {reason}." for reason, names in reasons.items()
    )
    return _test_all(ranked[0].name, answers, notes)


def mcnemar(only_first: int, only_second: int) -> float:
    """Computes the two-sided p-value of McNemar's test, by the exact binomial."""
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
    """Corrects p-values for their number (Holm, Scand. J. Statist. 6, 1979)."""
    corrected, least = [0.0] * len(values), 0.0
    order = sorted(range(len(values)), key=values.__getitem__)
    for place, it in enumerate(order):
        least = max(least, min(1.0, (len(values) - place) * values[it]))
        corrected[it] = least
    return corrected


def _read_all(
    ranked: list[Compared],
) -> tuple[dict[str, Answers], dict[str, list[str]]]:
    """Reads which records each run has right, and for which runs that is unknown."""
    answers: dict[str, Answers] = {}
    reasons: dict[str, list[str]] = {}
    chosen, parts = choose_parts(ranked), parts_of(ranked)
    for run, name, part in zip(ranked, chosen, parts, strict=True):
        reason = why_unknown(part, parts[0])
        if reason is None and name is not None:
            try:
                answers[run.name] = read_answers(run, name, part["metrics"])
            except (FileError, FormatError) as error:
                reason = str(error)
        if reason is not None:
            reasons.setdefault(reason, []).append(run.name)
    return answers, reasons


def _test_all(
    best: str, answers: dict[str, Answers], notes: tuple[str, ...]
) -> PairedTests:
    """Tests all pairs, and keeps those with the best run."""
    if best not in answers or len(answers) == 1:
        return PairedTests(best, notes=notes)
    # All pairs count, because these records have chosen which run is the best one.
    pairs = list(combinations(answers, 2))
    counts = [_count(answers[one], answers[other]) for one, other in pairs]
    values = [mcnemar(*count) for count in counts]
    records = len(answers[best])
    found = zip(pairs, counts, values, holm(values), strict=True)
    by_name = {
        other: Beside((second - first) / records, second, first, p, p_holm)
        for (one, other), (first, second), p, p_holm in found
        if one == best  # the answers are in the order of the ranking
    }
    return PairedTests(best, len(pairs), records, by_name, notes)


def _count(one: Answers, other: Answers) -> tuple[int, int]:
    """Counts the records on which just one of two is right."""
    return int(np.count_nonzero(one & ~other)), int(np.count_nonzero(other & ~one))


def why_unknown(found: dict[str, Any], best: dict[str, Any]) -> str | None:
    """Says why the part of a run cannot be set beside that of the best run."""
    if found.get("metrics", {}).get("accuracy") is None:
        return "it has no accuracy"
    if found.get("records") is None:
        return "it has not ended, so that its scores are not written"
    if found["records"] != best.get("records"):
        return (
            "it was not judged on the records, labels and classes of the best run, in the "
            "same order"
        )
    return None


def read_answers(run: Compared, part: str, metrics: dict[str, Any]) -> Answers:
    """Says of each record whether the run has it right."""
    if isinstance(run.source, Run):
        return _answers_in_memory(run.source, part)
    found = _answers_in(run.source, "valid" if part == "validation" else part)
    if int(found.sum()) != round(metrics["accuracy"] * metrics.get("n", 0)):
        raise FormatError(
            f"{run.source}: scores and labels are not those of results.json",
            path=str(run.source),
        )
    return found


def _answers_in_memory(run: Run, part: str) -> Answers:
    """Compares the scores of a run in memory with its labels."""
    judged: Any = run.test if part == "test" else run.valid
    called = run.trained.task.decide(judged.scores.to_numpy())
    return np.asarray(called == judged.labels)


def _answers_in(home: Path, part: str) -> Answers:
    """Compares the scores in a run folder with the labels there."""
    scores = Scores.read_tsv(home / f"scores-{part}.tsv")
    ids, labels = read_classes(home / f"labels-{part}.tsv")
    if ids != scores.ids:
        raise FormatError(f"{home}: scores and labels are not of the same records")
    places = {name: it for it, name in enumerate(scores.classes)}
    true = np.array([places.get(it, -1) for it in labels])
    return scores.to_numpy().argmax(axis=1) == true
