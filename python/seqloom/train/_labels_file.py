"""``labels-test.tsv``: what is true of each record that a run was judged on."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from seqloom._files import reading, write_atomic
from seqloom.errors import FormatError
from seqloom.infer import Scores
from seqloom.models import Classify, Task
from seqloom.train._judged import Part


def write_labels(path: Path, task: Task, part: Part) -> None:
    """Writes a line for each record, in the order of its scores, whole or not at all."""
    if isinstance(task, Classify):
        write_atomic(path, "".join(_lines(task, part)).encode())
    else:
        values = np.reshape(part.labels, (len(part.scores), -1))
        Scores(part.scores.ids, task.columns, values).to_tsv(path)


def read_classes(path: str | os.PathLike[str]) -> tuple[list[str], list[str]]:
    """Reads the ids and the classes that `write_labels` wrote of a classifier."""
    with reading(Path(path)):
        text = Path(path).read_bytes().decode("utf-8", "replace")
    head, *rows = [line.split("\t") for line in text.split("\n")[:-1]] or [[]]
    if head != ["id", "label"] or any(len(row) != len(head) for row in rows):
        raise FormatError(f"{path}: not a table of ids and labels", path=str(path))
    return [row[0] for row in rows], [row[1] for row in rows]


def _lines(task: Classify, part: Part) -> Iterator[str]:
    """Gives the table's lines: an id and the name of its class."""
    yield "id\tlabel\n"
    for name, label in zip(part.scores.ids, np.asarray(part.labels), strict=True):
        yield f"{name}\t{task.columns[label]}\n"
