"""Tables that a report lists beside its pictures."""

from collections.abc import Iterator

from seqloom.infer._scores import order_of
from seqloom.models import Multilabel, Task
from seqloom.nn._metrics import auprc, auroc
from seqloom.report import Table
from seqloom.train._judged import Part


def make_tables(task: Task, name: str, part: Part) -> Iterator[Table]:
    """Lists what a task's metrics hide."""
    if isinstance(task, Multilabel):
        yield _each_label(task, name, part)


def _each_label(task: Task, name: str, part: Part) -> Table:
    """Tells how well each label is found."""
    order = order_of(task, part.scores)
    columns = zip(part.scores.classes, part.labels.T, order.T, strict=True)
    rows = [
        (label, int(true.sum()), auroc(true, scores), auprc(true, scores))
        for label, true, scores in columns
    ]
    names = ("label", "records with it", "AUROC", "AUPRC")
    note = f"On the {len(part.scores):,} records of the {name} part."
    return Table("Each label", names, rows, note=note)
