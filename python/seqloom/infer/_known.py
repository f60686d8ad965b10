"""What records that a model was trained on do to the figures that it is judged by."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.models import Task


def describe_known(
    task: Task,
    labels: NDArray[Any],
    scores: NDArray[Any],
    *,
    known: NDArray[np.bool_] | None,
    what: str = "records",
) -> str:
    """Says how many records have taught the model, and how it does on the others."""
    if known is None or not known.any():
        return ""
    text = f"{known.sum():,} of {known.size:,} {what} have the letters of a training record"
    if known.all():
        return f"{text}: give records that the model has not seen"
    name, value = next(iter(task.measure(labels, scores).items()))
    other = task.measure(labels[~known], scores[~known])[name]
    name = name.replace("_", " ")
    return f"{text}: {name} {other:.4f} on the other {(~known).sum():,}, {value:.4f} on all"
