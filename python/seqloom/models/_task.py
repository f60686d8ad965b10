"""Tasks: the loss, activation, metrics and column names of a model's outputs."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqloom._config import JsonConfig, convert_fields
from seqloom.errors import ArgumentError
from seqloom.nn import functional as F
from seqloom.nn._metrics import (
    accuracy,
    auprc,
    auroc,
    balanced_accuracy,
    mcc,
    pearson,
    r2,
    spearman,
)
from seqloom.nn._track_metrics import jensen_shannon
from seqloom.tensor import Tensor

Labels: TypeAlias = NDArray[np.int64] | NDArray[np.float32]
Scores: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
Outputs: TypeAlias = NDArray[np.floating[Any]]
_PROBABILITY_CUTOFF = 0.5


@dataclass(frozen=True)
class Task(JsonConfig, ABC):
    """Base class of tasks; the table of predictions has a column for each output.

    Args:
        columns: Column names of the predictions: the names of the classes or labels.

    Examples:
        >>> Task.from_dict(Classify(("EI", "IE")).to_dict()).columns
        ('EI', 'IE')
    """

    columns: tuple[str, ...]
    name: ClassVar[str]

    def __post_init__(self) -> None:
        convert_fields(self)

    @abstractmethod
    def loss(self, logits: Tensor, labels: Labels) -> Tensor:
        """Return the training loss as a scalar tensor."""

    def targets(self, labels: Labels) -> Labels:
        """Convert labels to the targets of the loss; called before a compiled step."""
        return labels

    def loss_of_targets(self, logits: Tensor, targets: Labels) -> Tensor:
        """Return the loss for targets that `targets` returned."""
        return self.loss(logits, targets)

    @abstractmethod
    def activate(self, logits: Outputs) -> Scores:
        """Convert outputs to scores, such as probabilities, without rounding."""

    def order(self, logits: Outputs) -> Outputs:
        """Return values in the order of the scores, without ties caused by rounding."""
        return self.activate(logits)

    @abstractmethod
    def decide(self, scores: Scores) -> Labels | None:
        """Convert scores to predicted labels; return None if no conversion is needed."""

    @abstractmethod
    def measure(
        self, labels: Labels, scores: Scores, *, order: Outputs | None = None
    ) -> dict[str, float]:
        """Compute the metrics; higher is better, except for errors and distances.

        Args:
            labels: True labels.
            scores: Scores that `activate` returned.
            order: Values that `order` returned, used for metrics of rankings. The
                default is `scores`, in which rounded probabilities near 1 may be tied.
        """

    def measure_outputs(self, labels: Labels, logits: Outputs) -> dict[str, float]:
        """Compute the metrics from the outputs of the model."""
        return self.measure(labels, self.activate(logits), order=self.order(logits))


@dataclass(frozen=True)
class Classify(Task):
    """Classification of each record into one class, by softmax and cross entropy.

    Args:
        columns: Names of the classes.
        weights: Weight of each class in the loss; None for equal weights.

    Examples:
        >>> import numpy as np
        >>> task = Classify(("EI", "IE"))
        >>> task.activate(np.zeros((1, 2), np.float32)).tolist()
        [[0.5, 0.5]]
    """

    weights: tuple[float, ...] | None = None
    name: ClassVar[str] = "classify"

    def loss(self, logits: Tensor, labels: Labels) -> Tensor:
        """Return the cross entropy as a weighted mean over the records."""
        weights = None if self.weights is None else np.asarray(self.weights, np.float32)
        return F.cross_entropy(logits, labels, weight=weights)

    def activate(self, logits: Outputs) -> NDArray[np.float64]:
        """Return the class probabilities: the softmax of the outputs."""
        wide = logits.astype(np.float64)
        powers = np.exp(wide - wide.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def order(self, logits: Outputs) -> NDArray[np.float64]:
        """Return the log-odds: each output minus logsumexp of the other outputs."""
        wide, rows = logits.astype(np.float64), np.arange(len(logits))
        top = wide.argmax(axis=1)
        shifted = wide - wide[rows, top, None]
        powers = np.exp(shifted)
        others = powers.sum(axis=1, keepdims=True) - powers
        # The difference is imprecise for the likeliest class, which is handled below.
        others[rows, top] = 1.0
        found = shifted - np.log(others)
        shifted[rows, top] = -np.inf
        found[rows, top] = -np.logaddexp.reduce(shifted, axis=1)
        return found

    def decide(self, scores: Scores) -> NDArray[np.int64]:
        """Return the class with the highest score; for ties, the first class."""
        # Round the scores first, so that float32 scores in a table lead to the same
        # predictions.
        return scores.astype(np.float32).argmax(axis=1)

    def measure(
        self, labels: Labels, scores: Scores, *, order: Outputs | None = None
    ) -> dict[str, float]:
        """Return the metrics; of two classes, AUROC and AUPRC rank the second class."""
        size, guess = len(self.columns), self.decide(scores)
        ranked = scores if order is None else order
        areas = (labels, ranked if size > 2 else ranked[:, 1])  # noqa: PLR2004 - two classes
        return {
            "accuracy": accuracy(labels, guess),
            "balanced_accuracy": balanced_accuracy(labels, guess, size=size),
            "mcc": mcc(labels, guess, size=size),
            "auroc": auroc(*areas),
            "auprc": auprc(*areas),
        }


@dataclass(frozen=True)
class Regress(Task):
    """Regression of one or more numbers for each record, by standardised squared error.

    Args:
        columns: Names of the labels.
        mean: Mean of each label in the training set.
        deviation: Standard deviation of each label in the training set.

    Examples:
        >>> import numpy as np
        >>> task = Regress(("gc",), mean=(0.5,), deviation=(0.1,))
        >>> task.activate(np.ones((1, 1), np.float32)).tolist()
        [[0.6]]
    """

    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)
    name: ClassVar[str] = "regress"

    def loss(self, logits: Tensor, labels: Labels) -> Tensor:
        """Return the mean squared error in units of the labels' standard deviations."""
        return self.loss_of_targets(logits, self.targets(labels))

    def targets(self, labels: Labels) -> Labels:
        """Standardise labels by the mean and standard deviation of the training set."""
        values = labels.reshape(len(labels), -1)
        scaled = (values - np.asarray(self.mean)) / np.asarray(self.deviation)
        return scaled.astype(np.float32)

    def loss_of_targets(self, logits: Tensor, targets: Labels) -> Tensor:
        """Return the mean squared error."""
        return F.mse_loss(logits, targets)

    def activate(self, logits: Outputs) -> NDArray[np.float64]:
        """Convert outputs back to the units of the labels."""
        wide = logits.astype(np.float64) * np.asarray(self.deviation)
        return wide + np.asarray(self.mean)

    def decide(self, scores: Scores) -> None:
        """Return None, because scores need no conversion to predictions."""

    def measure(
        self, labels: Labels, scores: Scores, *, order: Outputs | None = None
    ) -> dict[str, float]:
        """Return each metric as a mean over the labels; a lower `rmse` is better."""
        del order  # scores of a regression are not rounded
        values = labels.reshape(scores.shape)
        return {
            "r2": r2(values, scores),
            "pearson": pearson(values, scores),
            "spearman": spearman(values, scores),
            "rmse": float(np.sqrt(np.square(values.astype(np.float64) - scores).mean())),
        }


@dataclass(frozen=True)
class Multilabel(Task):
    """Classification with any number of labels for each record, by binary cross entropy.

    Args:
        columns: Names of the labels.

    Examples:
        >>> import numpy as np
        >>> Multilabel(("TATA", "CAAT")).activate(np.zeros((1, 2), np.float32)).tolist()
        [[0.5, 0.5]]
    """

    name: ClassVar[str] = "multilabel"

    def loss(self, logits: Tensor, labels: Labels) -> Tensor:
        """Return the binary cross entropy as a mean over records and labels."""
        return self.loss_of_targets(logits, self.targets(labels))

    def targets(self, labels: Labels) -> Labels:
        """Return the labels as numbers from 0 to 1."""
        return labels.astype(np.float32)

    def loss_of_targets(self, logits: Tensor, targets: Labels) -> Tensor:
        """Return the binary cross entropy."""
        return F.binary_cross_entropy_with_logits(logits, targets)

    def activate(self, logits: Outputs) -> NDArray[np.float64]:
        """Return the probability of each label."""
        wide = logits.astype(np.float64)
        power = np.exp(-np.abs(wide))  # does not overflow: exp(-|x|) is at most 1
        return np.where(wide < 0, power, 1.0) / (1 + power)

    def order(self, logits: Outputs) -> Outputs:
        """Return the log-odds of each label, which are the outputs."""
        return logits

    def decide(self, scores: Scores) -> NDArray[np.int64]:
        """Return 1 for each label with a probability above 0.5."""
        # Round the scores first, so that float32 scores in a table lead to the same
        # predictions.
        return (scores.astype(np.float32) > _PROBABILITY_CUTOFF).astype(np.int64)

    def measure(
        self, labels: Labels, scores: Scores, *, order: Outputs | None = None
    ) -> dict[str, float]:
        """Return the accuracy over all labels, and other metrics as means over labels."""
        guess, ranked = self.decide(scores), scores if order is None else order
        pairs = list(zip(labels.astype(np.int64).T, guess.T, strict=True))
        return {
            "accuracy": accuracy(labels, guess),
            "balanced_accuracy": fmean(balanced_accuracy(*it, size=2) for it in pairs),
            "mcc": fmean(mcc(*it, size=2) for it in pairs),
            "auroc": auroc(labels, ranked),
            "auprc": auprc(labels, ranked),
        }


@dataclass(frozen=True)
class Profile(Task):
    """Prediction of tracks: the counts of a region, and their distribution over positions.

    The outputs of the network are logarithms, ``(n, tracks, positions)``, such as those
    of `BPNet.logits` and `ConvTower.logits`.

    Args:
        columns: Names of the tracks.
        likelihood: ``"multinomial"`` for `profile_loss`, in which all tracks share one
            distribution and one count; ``"poisson"`` for independent counts.
        count_weight: Weight of the count loss of `profile_loss`.

    Examples:
        >>> import numpy as np
        >>> Profile(("plus", "minus")).activate(np.zeros((1, 2, 3), np.float32)).shape
        (1, 2, 3)
    """

    likelihood: Literal["multinomial", "poisson"] = "multinomial"
    count_weight: float = 1.0
    name: ClassVar[str] = "profile"

    def loss(self, logits: Tensor, labels: Labels) -> Tensor:
        """Return the loss as a mean over the regions, for Poisson over all values."""
        return self.loss_of_targets(logits, self.targets(labels))

    def targets(self, labels: Labels) -> Labels:
        """Return the counts as float32."""
        return labels.astype(np.float32)

    def loss_of_targets(self, logits: Tensor, targets: Labels) -> Tensor:
        """Return the loss of the likelihood."""
        if self.likelihood == "poisson":
            return F.poisson_nll_loss(logits, targets)
        return F.profile_loss(logits, targets, self.count_weight)

    def activate(self, logits: Outputs) -> Scores:
        """Return the expected counts of positions; their multinomial sum is 1 + count."""
        return np.exp(logits.astype(np.float32))

    def decide(self, scores: Scores) -> None:
        """Return None, because scores need no conversion to predictions."""

    def counts(self, scores: Scores) -> Scores:
        """Return expected counts without the 1 that `activate` adds to a region."""
        if self.likelihood == "poisson":
            return scores
        total = scores.sum(axis=(1, 2), keepdims=True)
        return scores * np.maximum(1 - 1 / total, 0)

    def count_logs(self, labels: Labels, scores: Scores) -> tuple[Outputs, Outputs]:
        """Return observed and predicted log(1 + count), ``(n, tracks)``."""
        added = float(self.likelihood == "poisson")  # multinomial scores include the 1
        true, guess = (it.sum(axis=2, dtype=np.float64) for it in (labels, scores))
        return np.log1p(true), np.log(guess + added)

    def measure(
        self, labels: Labels, scores: Scores, *, order: Outputs | None = None
    ) -> dict[str, float]:
        """Return correlations of log(1 + count), as means over tracks, and the distance.

        A lower Jensen-Shannon distance is better.
        """
        del order
        true, guess = self.count_logs(labels, scores)
        return {
            "pearson": pearson(true, guess),
            "spearman": spearman(true, guess),
            "jensen_shannon": jensen_shannon(labels, scores),
        }


@dataclass(frozen=True)
class Custom(Task):
    """Custom task: your loss or step function defines the meaning of the outputs.

    Args:
        columns: No column names, because outputs may have any shape.

    Examples:
        >>> Custom().name
        'custom'
    """

    columns: tuple[str, ...] = ()
    name: ClassVar[str] = "custom"

    def loss(self, logits: Tensor, labels: Labels) -> Tensor:
        """Raise an error, because a custom task needs the `loss` argument of `fit`."""
        del logits, labels
        raise ArgumentError("a custom task has no loss; pass loss= or step=")

    def activate(self, logits: Outputs) -> Any:
        """Return the outputs unchanged."""
        return logits

    def decide(self, scores: Scores) -> None:
        """Return None, because scores need no conversion to predictions."""

    def measure(
        self, labels: Labels, scores: Scores, *, order: Outputs | None = None
    ) -> dict[str, float]:
        """Return no metrics, because `fit` uses your own metric functions."""
        del labels, scores, order
        return {}
