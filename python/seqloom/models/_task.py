"""What a model's outputs mean: the loss, the activation, the metrics and the header."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ClassVar, TypeAlias

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
from seqloom.tensor import Tensor

Labels: TypeAlias = NDArray[np.int64] | NDArray[np.float32]
Scores: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
Outputs: TypeAlias = NDArray[np.floating[Any]]
_HALF = 0.5


@dataclass(frozen=True)
class Task(JsonConfig, ABC):
    """Base of the tasks: one output of the model a column of the predictions.

    Args:
        columns: The header of the predictions: the classes' or the labels' names.

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
        """Return what training makes small, as a tensor that holds one number."""

    def targets(self, labels: Labels) -> Labels:
        """Return what outputs are compared with, which is made before a compiled step."""
        return labels

    def loss_of_targets(self, logits: Tensor, targets: Labels) -> Tensor:
        """Return the loss of what `targets` made of labels."""
        return self.loss(logits, targets)

    @abstractmethod
    def activate(self, logits: Outputs) -> Scores:
        """Turn the model's outputs into what a person reads, without rounding it."""

    def order(self, logits: Outputs) -> Outputs:
        """Return numbers that rank records as `activate` does, without ties by rounding."""
        return self.activate(logits)

    @abstractmethod
    def decide(self, scores: Scores) -> Labels | None:
        """Turn scores into labels; None where scores are the answer."""

    @abstractmethod
    def measure(
        self, labels: Labels, scores: Scores, *, order: Outputs | None = None
    ) -> dict[str, float]:
        """Compute the metrics; higher is better unless the name says otherwise.

        Args:
            labels: The true labels.
            scores: What `activate` gives.
            order: What `order` gives, by which records are ranked. None: `scores`, in
                which probabilities near 1 may be equal.
        """

    def measure_outputs(self, labels: Labels, logits: Outputs) -> dict[str, float]:
        """Compute the metrics of the model's outputs."""
        return self.measure(labels, self.activate(logits), order=self.order(logits))


@dataclass(frozen=True)
class Classify(Task):
    """One class for each record: softmax and cross-entropy.

    Args:
        columns: The classes' names.
        weights: What a record of each class counts in the loss; None: all the same.

    Examples:
        >>> import numpy as np
        >>> task = Classify(("EI", "IE"))
        >>> task.activate(np.zeros((1, 2), np.float32)).tolist()
        [[0.5, 0.5]]
    """

    weights: tuple[float, ...] | None = None
    name: ClassVar[str] = "classify"

    def loss(self, logits: Tensor, labels: Labels) -> Tensor:
        """Return the cross-entropy, a weighted mean over the records."""
        weights = None if self.weights is None else np.asarray(self.weights, np.float32)
        return F.cross_entropy(logits, labels, weight=weights)

    def activate(self, logits: Outputs) -> NDArray[np.float64]:
        """Return the probabilities of the classes, a softmax."""
        wide = logits.astype(np.float64)
        powers = np.exp(wide - wide.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def order(self, logits: Outputs) -> NDArray[np.float64]:
        """Return the log-odds of each class: its output minus logsumexp of the others."""
        wide, rows = logits.astype(np.float64), np.arange(len(logits))
        top = wide.argmax(axis=1)
        shifted = wide - wide[rows, top, None]
        powers = np.exp(shifted)
        others = powers.sum(axis=1, keepdims=True) - powers
        # The likeliest class is the most of the sum, which the difference would cancel.
        others[rows, top] = 1.0
        found = shifted - np.log(others)
        shifted[rows, top] = -np.inf
        found[rows, top] = -np.logaddexp.reduce(shifted, axis=1)
        return found

    def decide(self, scores: Scores) -> NDArray[np.int64]:
        """Return the likeliest class, of equal ones the first."""
        # As tables hold the scores, so that a table gives the same decisions.
        return scores.astype(np.float32).argmax(axis=1)

    def measure(
        self, labels: Labels, scores: Scores, *, order: Outputs | None = None
    ) -> dict[str, float]:
        """Return the metrics; the areas are of the second class where there are two."""
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
    """Numbers for each record: squared error of labels that were standardised.

    Args:
        columns: The labels' names.
        mean: The training part's mean of each label.
        deviation: The training part's standard deviation of each label.

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
        """Return the mean squared error, in standard deviations of the training part."""
        return self.loss_of_targets(logits, self.targets(labels))

    def targets(self, labels: Labels) -> Labels:
        """Return the labels in standard deviations from the mean of the training part."""
        values = labels.reshape(len(labels), -1)
        scaled = (values - np.asarray(self.mean)) / np.asarray(self.deviation)
        return scaled.astype(np.float32)

    def loss_of_targets(self, logits: Tensor, targets: Labels) -> Tensor:
        """Return the mean squared error."""
        return F.mse_loss(logits, targets)

    def activate(self, logits: Outputs) -> NDArray[np.float64]:
        """Bring the outputs back to the labels' own units."""
        wide = logits.astype(np.float64) * np.asarray(self.deviation)
        return wide + np.asarray(self.mean)

    def decide(self, scores: Scores) -> None:
        """Give None: the scores are the answer."""

    def measure(
        self, labels: Labels, scores: Scores, *, order: Outputs | None = None
    ) -> dict[str, float]:
        """Return the metrics, each a mean over the labels; a lower `rmse` is better."""
        del order  # the scores, which are not rounded
        values = labels.reshape(scores.shape)
        return {
            "r2": r2(values, scores),
            "pearson": pearson(values, scores),
            "spearman": spearman(values, scores),
            "rmse": float(np.sqrt(np.square(values.astype(np.float64) - scores).mean())),
        }


@dataclass(frozen=True)
class Multilabel(Task):
    """Any number of labels for each record: a sigmoid and binary cross-entropy each.

    Args:
        columns: The labels' names.

    Examples:
        >>> import numpy as np
        >>> Multilabel(("TATA", "CAAT")).activate(np.zeros((1, 2), np.float32)).tolist()
        [[0.5, 0.5]]
    """

    name: ClassVar[str] = "multilabel"

    def loss(self, logits: Tensor, labels: Labels) -> Tensor:
        """Return the binary cross-entropy, a mean over records and labels."""
        return self.loss_of_targets(logits, self.targets(labels))

    def targets(self, labels: Labels) -> Labels:
        """Return the labels as numbers from 0 to 1."""
        return labels.astype(np.float32)

    def loss_of_targets(self, logits: Tensor, targets: Labels) -> Tensor:
        """Return the binary cross-entropy."""
        return F.binary_cross_entropy_with_logits(logits, targets)

    def activate(self, logits: Outputs) -> NDArray[np.float64]:
        """Return the probability of each label."""
        wide = logits.astype(np.float64)
        power = np.exp(-np.abs(wide))  # at most 1: no output is too large
        return np.where(wide < 0, power, 1.0) / (1 + power)

    def order(self, logits: Outputs) -> Outputs:
        """Return the log-odds of each label: the output."""
        return logits

    def decide(self, scores: Scores) -> NDArray[np.int64]:
        """Return 1 for each label that is likelier there than not."""
        # As tables hold the scores, so that a table gives the same decisions.
        return (scores.astype(np.float32) > _HALF).astype(np.int64)

    def measure(
        self, labels: Labels, scores: Scores, *, order: Outputs | None = None
    ) -> dict[str, float]:
        """Return the metrics: accuracy over all answers, the others over labels."""
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
class Custom(Task):
    """A task of a user's own: what outputs mean is known to the user's loss or step only.

    Args:
        columns: No names: outputs may have any shape.

    Examples:
        >>> Custom().name
        'custom'
    """

    columns: tuple[str, ...] = ()
    name: ClassVar[str] = "custom"

    def loss(self, logits: Tensor, labels: Labels) -> Tensor:
        """Refuse to compute a loss: the user's is used."""
        del logits, labels
        raise ArgumentError("a custom task has no loss; give loss= or step=")

    def activate(self, logits: Outputs) -> Any:
        """Return the outputs as they are."""
        return logits

    def decide(self, scores: Scores) -> None:
        """Give None: the scores are the answer."""

    def measure(
        self, labels: Labels, scores: Scores, *, order: Outputs | None = None
    ) -> dict[str, float]:
        """Return nothing: the user's metrics are used."""
        del labels, scores, order
        return {}
