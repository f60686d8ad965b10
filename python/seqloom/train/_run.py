"""What a training run leaves behind."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.infer import Scores
from seqloom.infer._predict import measure, score
from seqloom.models import Examples, Trained
from seqloom.nn import Module
from seqloom.report import Report


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the data that the final model was judged on.

    Attributes:
        scores: What the model says of each record.
        labels: What is true.
        metrics: How well the two agree, as `seqloom.infer.evaluate` says it.

    Examples:
        >>> part = Part(Scores(["a"], ["gc"], np.ones((1, 1))), np.ones(1), {"n": 1})
        >>> len(part.scores)
        1
    """

    scores: Scores
    labels: NDArray[Any]
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A finished training run.

    Attributes:
        trained: The network with the weights that were kept, its encoder and its task.
        history: The numbers of each epoch.
        best_epoch: The epoch whose weights were kept, from 1.
        folder: The run folder, if there is one.
        valid: How the model does on the validation part, if there is one.
        test: How it does on the test part, if there is one.
        report: What ``report.html`` shows.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nACGA\\n")
        >>> encoder, labels = sl.encode.OneHot("dna"), {"a": "yes", "b": "no"}
        >>> data = sl.data.SequenceDataset("a.fa", labels=labels, encoder=encoder)
        >>> run = sl.train.fit(sl.models.SequenceCNNConfig.for_data(data), data, epochs=2)
        >>> run.best_epoch, len(run.history)
        (2, 2)
    """

    trained: Trained
    history: list[dict[str, Any]]
    best_epoch: int
    folder: Path | None
    valid: Part | None
    test: Part | None
    report: Report

    @property
    def model(self) -> Module:
        """The network."""
        return self.trained.model


def judge(trained: Trained, examples: Examples | None) -> Part | None:
    """Scores a part and compares the scores with its labels."""
    if examples is None:
        return None
    scores = score(trained, examples)
    return Part(scores, np.asarray(examples.labels), measure(trained, examples, scores))
