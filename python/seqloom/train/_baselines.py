"""Baselines of a run: simple models that a network should be better than."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.models import Classify, Multilabel, Regress, Task
from seqloom.nn import Module
from seqloom.tensor import Backend
from seqloom.train._baseline_features import RecordFeatures, Rows, list_features
from seqloom.train._evaluation import CORRELATED, Part
from seqloom.train._job import FitJob
from seqloom.train._linear import (
    IDENTITY_LINK,
    LOGISTIC_LINK,
    SOFTMAX_LINK,
    Floats,
    LinearModel,
    Link,
    Sample,
    fit_lasso,
    fit_ridge,
)
from seqloom.train._paired import MIN_BOOTSTRAP_P, bootstrap, mcnemar
from seqloom.train._parts import LoaderBatches, Parts

# Without a validation set, the penalty is chosen on every fifth training record.
_HELD_OUT_INTERVAL = 5
_SIGNIFICANT = 0.05
# If a class has a larger fraction of the records, models are compared by the balanced
# accuracy. Predicting this class always would already have a high accuracy.
_MAX_CLASS_SHARE = 2 / 3
_MIN_SHOWN_P = 0.0001
_LINK_BY_TASK: dict[type[Task], Link] = {
    Classify: SOFTMAX_LINK,
    Multilabel: LOGISTIC_LINK,
    Regress: IDENTITY_LINK,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of a network with a baseline on the same records.

    Attributes:
        metric: Name of the compared metric: ``"accuracy"``, or ``"r2"`` of a regression.
            If classes have weights, or one class has more than two thirds of the records:
            ``"balanced_accuracy"``.
        network: The metric of the network.
        baseline: The metric of the baseline.
        p: The two-sided p-value of McNemar's exact test for the accuracy of classes, and
            of a paired bootstrap of the records for other metrics.

    Examples:
        >>> Comparison("accuracy", 0.9, 0.8, 0.01).is_better
        True
    """

    metric: str
    network: float
    baseline: float
    p: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values, with None for NaN.

        Returns:
            A new dict that ``json.dumps`` accepts.

        Examples:
            >>> Comparison("r2", 0.5, float("nan"), 0.01).to_dict()["baseline"] is None
            True
        """
        values = asdict(self)
        for name in ("network", "baseline"):
            values[name] = values[name] if isfinite(values[name]) else None
        return values

    @property
    def is_better(self) -> bool:
        """True if the network is better, with a p-value below 0.05."""
        return self.network > self.baseline and self.p < _SIGNIFICANT

    @property
    def is_worse(self) -> bool:
        """True if the network is worse, with a p-value below 0.05."""
        return self.network < self.baseline and self.p < _SIGNIFICANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A simple model, fitted on the training set and evaluated like the network.

    Sequences have these baselines: the most frequent class, and logistic regression on
    three kinds of features. The features are the composition (residue frequencies and
    length), counts of k-mers, and one-hot residues if all sequences have the same length.
    The k-mers are 4-mers and 6-mers of DNA and RNA, and 2-mers of proteins. For
    regression tasks, the baselines are the mean and ridge regression. The baselines of
    genotypes are ridge regression and the lasso. The penalty of each linear model is
    chosen on the validation set.

    Attributes:
        name: The model and its features, such as ``"logistic regression, 4-mer counts"``.
        records: Number of training records that the baseline was fitted on.
        metrics: The metrics on each evaluated set: ``"validation"`` and ``"test"``.
        comparisons: The comparison with the network on each evaluated set. A baseline that
            is itself the selected model has no comparisons.

    Examples:
        >>> Baseline(name="mean", records=10).metrics
        {}
    """

    name: str
    records: int
    metrics: dict[str, dict[str, float]] = field(
        default_factory=dict[str, dict[str, float]]
    )
    comparisons: dict[str, Comparison] = field(default_factory=dict[str, Comparison])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values, with None for NaN.

        Returns:
            A new dict that ``json.dumps`` accepts.

        Examples:
            >>> Baseline(name="mean", records=10).to_dict()["records"]
            10
        """
        metrics = {
            part: {it: value if isfinite(value) else None for it, value in found.items()}
            for part, found in self.metrics.items()
        }
        compared = {part: it.to_dict() for part, it in self.comparisons.items()}
        return {
            "name": self.name,
            "records": self.records,
            "metrics": metrics,
            "comparisons": compared,
        }


def fit_baselines(job: FitJob) -> "tuple[FittedBaseline, ...]":
    """Fit simple models on the training set of a built-in task, if they are needed."""
    task, parts = job.trained.task, job.parts
    if not (job.selects or job.settings.objective.baselines):
        return ()
    is_loader = any(isinstance(it, LoaderBatches) for _, it in parts.list_named())
    if type(task) not in _LINK_BY_TASK or is_loader:
        return ()
    # Some BLAS kernels set the flag of invalid values although all values are finite.
    with np.errstate(invalid="ignore"):
        return tuple(_fit_all(task, parts))


def compare_baselines(
    job: FitJob,
    models: "tuple[FittedBaseline, ...]",
    evaluated: dict[str, Part],
    *,
    network: str,
) -> tuple[Baseline, ...]:
    """Compare fitted baselines with the evaluated model, which may be a baseline itself."""
    task = job.trained.task
    sets: dict[str, Any] = {"validation": job.parts.valid, "test": job.parts.test}
    baselines = list[Baseline]()
    for fitted in models if evaluated and job.settings.objective.baselines else ():
        metrics, comparisons = dict[str, dict[str, float]](), dict[str, Comparison]()
        for title, part in evaluated.items():
            with np.errstate(invalid="ignore"):
                outputs = fitted.score(sets[title])
            found = task.measure_outputs(part.labels, outputs)
            metrics[title] = {"n": len(outputs), **found}
            scores = task.activate(outputs)
            if fitted.name != network:
                comparisons[title] = _compare(task, part, scores, metrics=found)
        baselines.append(
            Baseline(
                name=fitted.name,
                records=fitted.records,
                metrics=metrics,
                comparisons=comparisons,
            )
        )
    return tuple(baselines)


@dataclass(frozen=True, slots=True)
class FittedBaseline:
    """A fitted baseline: ``score(dataset)`` returns outputs ``(records, outputs)``."""

    name: str
    records: int
    score: Callable[[Any], Floats]
    features: RecordFeatures | None = None
    weights: Floats | None = None  # of the features as they are read
    bias: Floats | None = None

    def to_network(self, backend: Backend) -> Module | None:
        """Return a network that computes the same outputs; None if there is none."""
        if self.features is None or self.weights is None or self.bias is None:
            return None
        return self.features.make_network(self.weights, self.bias, backend)


def _fit_all(task: Task, parts: Parts) -> Iterator[FittedBaseline]:
    """Fit the constant prediction, and a linear model of each kind of features."""
    train: Any = parts.train
    targets = _targets(task, np.asarray(train.labels))
    yield _fit_constant(task, targets)
    for features in list_features(parts):
        chosen = features.screen(train, targets)
        samples = _Samples.read(task, chosen, parts)
        if samples is None:
            continue
        is_regression = isinstance(task, Regress)
        kind = "ridge regression" if is_regression else "logistic regression"
        model = fit_ridge(samples.train, samples.valid, _LINK_BY_TASK[type(task)])
        yield samples.finish(f"{kind}, {chosen.name}", model)
        if chosen.has_lasso and is_regression and targets.shape[1] == 1:
            model = fit_lasso(samples.train, samples.valid)
            yield samples.finish(f"lasso, {chosen.name}", model)


def _fit_constant(task: Task, targets: Floats) -> FittedBaseline:
    """Return a model that predicts the class frequencies or the mean for each record."""
    means, name = targets.mean(axis=0), "mean"
    if not isinstance(task, Regress):
        means = np.clip(means, 1e-9, 1 - 1e-9)
        name = "most frequent class"
    outputs = means
    if isinstance(task, Classify):
        outputs = np.log(means)
    elif isinstance(task, Multilabel):
        name, outputs = "frequency of each label", np.log(means / (1 - means))
    return FittedBaseline(name, len(targets), lambda part: np.tile(outputs, (len(part), 1)))


def _targets(task: Task, labels: NDArray[Any]) -> Floats:
    """Return the targets of a linear model: one-hot classes, 0 or 1, or numbers."""
    if isinstance(task, Classify):
        return np.eye(len(task.columns))[labels]
    return np.asarray(task.targets(labels), np.float64).reshape(len(labels), -1)


@dataclass(frozen=True, slots=True)
class _Samples:
    """Training and validation records of a linear model, standardised in the same way."""

    features: RecordFeatures
    mean: Floats
    deviation: Floats
    train: Sample
    valid: Sample

    @classmethod
    def read(cls, task: Task, features: RecordFeatures, parts: Parts) -> "_Samples | None":
        """Read the records; return None if they are too few for choosing a penalty."""
        train, chooser = parts.train, parts.valid
        rows = features.sample(train)
        if chooser is None:
            is_held = np.arange(len(rows)) % _HELD_OUT_INTERVAL == _HELD_OUT_INTERVAL - 1
            chooser, valid_rows, rows = train, rows[is_held], rows[~is_held]
        else:
            valid_rows = features.sample(chooser)
        if not (len(rows) and len(valid_rows)):
            return None
        x = features(train, rows)
        mean = x.mean(axis=0, dtype=np.float64).astype(np.float32)
        deviation: Floats = np.ones(len(mean), np.float32)
        if features.is_scaled:
            found = x.std(axis=0, dtype=np.float64).astype(np.float32)
            deviation[found > 0] = found[found > 0]
        samples = (
            Sample((values - mean) / deviation, *_answers(task, part, chosen))
            for part, chosen, values in (
                (train, rows, x),
                (chooser, valid_rows, features(chooser, valid_rows)),
            )
        )
        return cls(features, mean, deviation, *samples)

    def finish(self, name: str, model: LinearModel) -> FittedBaseline:
        """Return a fitted model with the function that computes its outputs."""

        def score(part: Any) -> Floats:
            batches = self.features.split(np.arange(len(part)))
            return np.concatenate(
                [
                    model((self.features(part, rows) - self.mean) / self.deviation)
                    for rows in batches
                ]
            )

        weights = model.weights / self.deviation[:, None]
        bias = model.bias - self.mean @ weights
        return FittedBaseline(name, len(self.train.x), score, self.features, weights, bias)


def _answers(task: Task, part: Any, rows: Rows) -> tuple[Floats, Floats]:
    """Return the targets and the weights of some records."""
    labels = np.asarray(part.labels)[rows]
    weights = np.ones(len(labels))
    if isinstance(task, Classify) and task.weights is not None:
        weights = np.asarray(task.weights)[labels]
    return _targets(task, labels), weights


def _compare(
    task: Task, part: Part, scores: Any, *, metrics: dict[str, float]
) -> Comparison:
    """Compare the predictions of the network and of a baseline on one set."""
    labels, network = np.asarray(part.labels), part.scores.to_numpy()
    metric = "r2" if isinstance(task, Regress) else "accuracy"
    if isinstance(task, Regress):
        values = labels.reshape(network.shape)
        spread = np.square(values - values.mean(axis=0)).mean(axis=0)
        errors = np.square(values - scores) - np.square(values - network)
        p = bootstrap((errors / np.where(spread > 0, spread, 1)).mean(axis=1))
    else:
        ours, theirs = (task.decide(it) == labels for it in (network, scores))
        if isinstance(task, Classify):
            counts = np.bincount(labels)
            if task.weights or counts.max() > _MAX_CLASS_SHARE * len(labels):
                # Each class has the same weight, as in the balanced accuracy.
                metric = "balanced_accuracy"
                p = bootstrap((ours * 1.0 - theirs) / counts[labels])
            else:
                p = mcnemar(int((ours & ~theirs).sum()), int((theirs & ~ours).sum()))
        else:
            p = bootstrap((ours * 1.0 - theirs).mean(axis=1))
    return Comparison(metric, part.metrics[metric], metrics[metric], p)


@dataclass(frozen=True, slots=True)
class Ranking:
    """A network and its baselines on the most reliable evaluated set."""

    network: str
    set_name: str
    metrics: dict[str, float]
    baselines: tuple[Baseline, ...]  # without the network itself
    is_baseline: bool = False  # True if the network is itself a baseline

    @classmethod
    def of(
        cls, name: str, baselines: tuple[Baseline, ...], evaluated: dict[str, Part]
    ) -> "Ranking | None":
        """Rank models on the test or validation set; None if there are no baselines."""
        if not baselines:
            return None
        title = "test" if "test" in evaluated else "validation"
        others = tuple(it for it in baselines if it.name != name)
        is_baseline = len(others) < len(baselines)
        return cls(name, title, evaluated[title].metrics, others, is_baseline)

    @property
    def best(self) -> Baseline:
        """The baseline with the highest compared metric."""
        return max(self.baselines, key=lambda it: it.comparisons[self.set_name].baseline)

    @property
    def against_best(self) -> Comparison:
        """The comparison of the network with the best baseline."""
        return self.best.comparisons[self.set_name]

    @property
    def sentence(self) -> str:
        """Sentence about the comparison with the best baseline, without its full stop."""
        found = self.against_best
        difference = abs(found.network - found.baseline)
        is_ensemble = self.network.startswith("ensemble")
        subject = f"the {self.network}" if is_ensemble else self.network
        if self.metrics.get("r2", 1.0) <= 0 and self.metrics["pearson"] > CORRELATED:
            return (
                f"on the {self.set_name} set, {subject} is not compared with the "
                "baselines, because the labels differ in mean or scale from those of the "
                "training set"
            )
        verdict, amount = "is not shown to be better than", ""
        if found.network <= found.baseline:
            verdict = "is not better than"
        if found.is_better or found.is_worse:
            verdict = f"is {'better' if found.is_better else 'worse'} than"
            amount = f" by {difference:.3f}"
        return (
            f"on the {self.set_name} set, {subject} {verdict} the best "
            f"{'other ' if self.is_baseline else ''}baseline ({self.best.name}){amount}: "
            f"{found.metric.replace('_', ' ')} {found.network:.3f} against "
            f"{found.baseline:.3f}, p {_format_p(found.p, '= ')}"
        )

    @property
    def note(self) -> str:
        """The sentence, capitalised and with its full stop."""
        return f"{self.sentence[0].upper()}{self.sentence[1:]}."

    def list_rows(self, names: list[str]) -> list[tuple[str | float, ...]]:
        """Return a table row for each model: name, the given metrics, p-value."""
        rows: list[tuple[str | float, ...]] = [
            (self.network, *(self.metrics[it] for it in names), "")
        ]
        for baseline in sorted(
            self.baselines, key=lambda it: -it.comparisons[self.set_name].baseline
        ):
            values = (baseline.metrics[self.set_name][it] for it in names)
            p = _format_p(baseline.comparisons[self.set_name].p)
            rows.append((baseline.name, *values, p))
        return rows

    def keep_measured(self, names: list[str]) -> list[str]:
        """Keep the metrics that both the network and the baselines have."""
        theirs = self.baselines[0].metrics[self.set_name]
        return [it for it in names if it in self.metrics and it in theirs]


def format_cells(row: tuple[str | float, ...]) -> list[str]:
    """Format the metrics of a table row with four decimals; a dash for NaN."""
    texts = (it if isinstance(it, str) else f"{it:.4f}" for it in row)
    return ["-" if it == "nan" else it for it in texts]


def _format_p(p: float, sign: str = "") -> str:
    """Format a p-value with two significant digits."""
    if p == MIN_BOOTSTRAP_P:
        return f"<= {p:.2g}"
    if p < _MIN_SHOWN_P:
        return f"< {_MIN_SHOWN_P}"
    text = f"{p:.2g}"
    is_rounded_up = p < _SIGNIFICANT <= float(text)
    return f"< {_SIGNIFICANT}" if is_rounded_up else f"{sign}{text}"
