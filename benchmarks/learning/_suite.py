"""Train with defaults on each task, and compare with baselines and with tree ensembles.

The test set is a fifth of the records, and is read once per model. The validation set is
an eighth of the other records; every choice of `fit` and of the baselines is made on it.
The trees, with the defaults of scikit-learn, are fitted on both parts. The best baseline
and the best trees of a task are those with the highest mean score on the test sets.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from subprocess import CalledProcessError
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import matthews_corrcoef

from benchmarks._measure import full_or_quick
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.learning._tasks import TASKS, LearningTask
from seqloom.data import Dataset, GenotypeEncoder, split
from seqloom.models import Classify, Trained
from seqloom.nn import r2, spearman
from seqloom.train import fit
from seqloom.train._baseline_features import list_features
from seqloom.train._baselines import fit_baselines
from seqloom.train._parts import Parts

SEEDS = full_or_quick(3, 1)
RESAMPLES = full_or_quick(500, 100)
TABLE_COLUMNS = (
    "task",
    "metric",
    "best baseline",
    "best trees",
    "seqloom",
    "minus baseline, 95 % interval",
    "minus trees, 95 % interval",
    "seconds",
)
PAGE_COLUMNS = ("task", "best baseline", "best trees", "seqloom")
Scores = dict[str, NDArray[Any]]  # model -> scores (records, outputs) on the test set


@dataclass(frozen=True, slots=True)
class Trial:
    """The test labels of one seed, and the predictions of each model."""

    labels: NDArray[Any]
    ours: NDArray[Any]
    others: dict[str, Scores]  # "baselines" and "trees"
    seconds: float
    chosen: str


def main() -> None:
    """Evaluate all models on each task, and write the table."""
    tasks = full_or_quick(TASKS, TASKS[::3])
    rows = [row for task in tasks if (row := _evaluate_task(task)) is not None]
    texts = (
        markdown_table(PAGE_COLUMNS, map(_shorten_row, rows)),
        markdown_table(TABLE_COLUMNS, rows),
        _count_verdicts(rows),
        describe_machine("numpy", "scikit-learn"),
    )
    publish_section("learning", "\n\n".join(texts), shown="[|]", hidden="minus baseline")


def _shorten_row(row: tuple[str, ...]) -> tuple[str, ...]:
    """Return the scores of a row; bold if seqloom is better than the best baseline."""
    task, _, baseline, trees, ours, gap, *_ = row
    is_better = float(gap.split("(")[1].split(" to ")[0]) > 0
    scores = (baseline.split()[0], trees.split()[0], f"**{ours}**" if is_better else ours)
    return task, *scores


def _evaluate_task(task: LearningTask) -> tuple[str, ...] | None:
    """Return the table row of a task; None if its files are missing."""
    try:
        datasets = [task.read(seed) for seed in range(SEEDS)]
    except (FileNotFoundError, CalledProcessError) as error:
        print(f"{task.name}: skipped: {error}", flush=True)
        return None
    trials = [run_trial(task, data, seed) for seed, data in enumerate(datasets)]
    row = summarize(task, trials)
    print(*row, "; ".join(it.chosen for it in trials), sep=" | ", flush=True)
    return row


def run_trial(task: LearningTask, data: Dataset, seed: int) -> Trial:
    """Split the records of a task, train with the defaults, and fit the other models."""
    shares, groups = (0.7, 0.1, 0.2), "similar" if task.keeps_similar else None
    train, valid, test = split(data, shares, groups=groups, seed=seed)
    start = time.perf_counter()
    run = fit("auto", train, valid, test=test, seed=seed, progress=False)
    seconds = time.perf_counter() - start
    assert run.test is not None
    chosen = " + ".join(it.name for it in run.candidates if it.is_selected)
    trained, sets = run.trained, [train, valid, test]
    if isinstance(trained.encoder, GenotypeEncoder):
        sets = [part.with_encoder(trained.encoder) for part in sets]
    return Trial(
        labels=np.asarray(run.test.labels),
        ours=run.test.scores.to_numpy(),
        others={
            "baselines": _score_baselines(trained, sets),
            "trees": _score_trees(trained, sets, seed),
        },
        seconds=seconds,
        chosen=f"{chosen} ({run.best_epoch} of {len(run.history)} epochs)",
    )


def _score_baselines(trained: Trained, sets: list[Dataset]) -> Scores:
    """Return the test scores of the baselines, which are fitted as in `fit`."""
    train, valid, test = sets
    # `fit_baselines` reads only these attributes of a job.
    parts = Parts(train, valid, None)
    job: Any = SimpleNamespace(trained=trained, parts=parts, settings=None, selects=True)
    task: Any = trained.task
    return {it.name: task.activate(it.score(test)) for it in fit_baselines(job)}


def _score_trees(trained: Trained, sets: list[Dataset], seed: int) -> Scores:
    """Return the test scores of tree ensembles on each kind of features."""
    is_classes, scores = isinstance(trained.task, Classify), dict[str, NDArray[Any]]()
    forest: Any = RandomForestClassifier if is_classes else RandomForestRegressor
    boosted: Any = (
        HistGradientBoostingClassifier if is_classes else HistGradientBoostingRegressor
    )
    labels = np.concatenate([np.asarray(part.labels) for part in sets[:2]]).ravel()
    for features in list_features(Parts(*sets)):
        if features.name == "6-mer counts":
            continue  # the trees would take minutes
        rows = [features(part, np.arange(len(part))) for part in sets]
        for name, model in (
            ("random forest", forest(n_jobs=-1, random_state=seed)),
            ("boosted trees", boosted(random_state=seed)),
        ):
            model.fit(np.concatenate(rows[:2]), labels)
            found = model.predict_proba(rows[2]) if is_classes else model.predict(rows[2])
            scores[f"{name}, {features.name}"] = found.reshape(len(sets[2]), -1)
    return scores


def summarize(task: LearningTask, trials: list[Trial]) -> tuple[str, ...]:
    """Return mean scores, and intervals of the differences from the best other models."""
    measure = _MEASURES[task.metric]
    ours = float(np.mean([measure(it.labels, it.ours) for it in trials]))
    cells, gaps = list[str](), list[str]()
    for kind in ("baselines", "trees"):
        scores = [it.others[kind] for it in trials]
        means = {
            name: np.mean(
                [
                    measure(it.labels, own[name])
                    for it, own in zip(trials, scores, strict=True)
                ]
            )
            for name in scores[0]
        }
        best = max(means, key=lambda name: np.nan_to_num(means[name], nan=-1))
        differences = [
            _bootstrap(measure, it, own[best])
            for it, own in zip(trials, scores, strict=True)
        ]
        low, high = np.quantile(np.mean(differences, axis=0), (0.025, 0.975))
        cells.append(f"{means[best]:.3f} ({best})")
        gaps.append(f"{ours - means[best]:+.3f} ({low:+.3f} to {high:+.3f})")
    seconds = f"{np.mean([it.seconds for it in trials]):.0f}"
    return (task.name, task.metric, *cells, f"{ours:.3f}", *gaps, seconds)


def _bootstrap(
    measure: Callable[[Any, Any], float], trial: Trial, other: NDArray[Any]
) -> list[float]:
    """Return the difference of the metrics on each resample of the test records."""
    rng, count = np.random.default_rng(0), len(trial.labels)
    draws = (rng.integers(0, count, count) for _ in range(RESAMPLES))
    return [
        measure(trial.labels[it], trial.ours[it]) - measure(trial.labels[it], other[it])
        for it in draws
    ]


_MEASURES: dict[str, Callable[[Any, Any], float]] = {
    "mcc": lambda labels, scores: float(matthews_corrcoef(labels, scores.argmax(axis=1))),
    "spearman": lambda labels, scores: spearman(labels.ravel(), scores.ravel()),
    "r2": lambda labels, scores: r2(labels.reshape(-1, 1), scores.reshape(-1, 1)),
}


def _count_verdicts(rows: list[tuple[str, ...]]) -> str:
    """Count the tasks on which the intervals exclude 0."""
    baseline, trees = (
        [[float(it) for it in row[column].split("(")[1][:-1].split(" to ")] for row in rows]
        for column in (5, 6)
    )
    better, above = (sum(low > 0 for low, _ in found) for found in (baseline, trees))
    worse, below = (sum(high < 0 for _, high in found) for found in (baseline, trees))
    return (
        f"seqloom is better than the best baseline on {better} of {len(rows)} tasks, and "
        f"worse on {worse}. It is better than the best trees on {above} tasks, and worse "
        f"on {below}. The other intervals contain 0."
    )
