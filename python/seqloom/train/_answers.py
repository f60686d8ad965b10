"""Which records a classifier has right: by its scores and the labels beside them."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import FormatError
from seqloom.infer import Scores
from seqloom.train._compared import Compared
from seqloom.train._labels_file import read_classes
from seqloom.train._run import Run

Answers = NDArray[np.bool_]


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
