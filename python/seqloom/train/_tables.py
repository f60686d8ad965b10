"""Tables that a report lists beside its pictures."""

from collections.abc import Iterator

import numpy as np

from seqloom.models import Classify, Multilabel, Task
from seqloom.nn._metrics import auprc, auroc
from seqloom.report import Table
from seqloom.train._judged import Part

_WORST = 10


def make_tables(task: Task, name: str, part: Part) -> Iterator[Table]:
    """Lists what a task's metrics hide."""
    if isinstance(task, Classify):
        yield from _worst_mistakes(name, part)
    elif isinstance(task, Multilabel):
        yield _each_label(name, part)


def _worst_mistakes(name: str, part: Part) -> Iterator[Table]:
    """Lists the records that the model was surest of, and wrong."""
    scores, ids, classes = part.scores.to_numpy(), part.scores.ids, part.scores.classes
    called, sure = scores.argmax(axis=1), scores.max(axis=1)
    wrong = np.flatnonzero(called != part.labels)
    worst: list[int] = wrong[np.argsort(-sure[wrong], kind="stable")][:_WORST].tolist()
    rows = [
        (ids[i], classes[int(part.labels[i])], classes[int(called[i])], float(sure[i]))
        for i in worst
    ]
    if rows:
        yield Table(
            "Worst mistakes",
            ("id", "true", "predicted", "probability"),
            rows,
            note=f"Of {wrong.size:,} wrong answers on the {name} part, the surest.",
        )


def _each_label(name: str, part: Part) -> Table:
    """Tells how well each label is found."""
    columns = zip(part.scores.classes, part.labels.T, part.scores.to_numpy().T, strict=True)
    rows = [
        (label, int(true.sum()), auroc(true, scores), auprc(true, scores))
        for label, true, scores in columns
    ]
    names = ("label", "records with it", "AUROC", "AUPRC")
    note = f"On the {len(part.scores):,} records of the {name} part."
    return Table("Each label", names, rows, note=note)
