"""What a model must beat: the mean of the labels, or always the same answer."""

import numpy as np

from seqloom.models import Classify, Custom, Regress, Task
from seqloom.train._judged import Part

# From so many records on, chance alone seldom makes a good model look like none.
_ENOUGH = 10


def no_better(task: Task, name: str, part: Part) -> str | None:
    """Says so where a model has learned nothing that holds for a part."""
    metrics = part.metrics
    if metrics["n"] < _ENOUGH or isinstance(task, Custom):
        return None
    if isinstance(task, Regress):
        # A constant part has no r2, and NaN is not at most 0.
        is_poor, beside, figure = metrics["r2"] <= 0, "the mean", f"r2 {metrics['r2']:.2f}"
    else:
        # A class that the part does not hold counts neither in the measure nor for chance.
        there = len(np.unique(part.labels)) if isinstance(task, Classify) else 2
        chance = 1 / max(there, 1)
        is_poor, figure = metrics["balanced_accuracy"] <= chance, _shares(metrics)
        beside = "always the most frequent answer"
    if not is_poor:
        return None
    return (
        f"the model is no better than {beside} on the {name} part ({figure}): check that "
        "the labels belong to these records, or give more records, epochs or another lr"
    )


def _shares(metrics: dict[str, float]) -> str:
    """Spells how often a classifier is right."""
    names = ("accuracy", "balanced_accuracy")
    return ", ".join(f"{name.replace('_', ' ')} {metrics[name]:.2f}" for name in names)
