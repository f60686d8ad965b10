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
    counts = f"{known.sum():,} of {known.size:,} {what}"
    text = (
        f"{counts} have the letters of a training record, so that the figures are too good"
    )
    if known.all():
        return f"{text}: give records that the model has not seen"
    name, value = next(iter(task.measure(labels, scores).items()))
    other = task.measure(labels[~known], scores[~known])[name]
    figures = f"{name.replace('_', ' ')} {other:.4f}, on all {value:.4f}"
    return f"{text}: on the other {(~known).sum():,} {figures}"
