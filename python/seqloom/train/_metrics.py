"""Measures of a user's own, which `fit` computes beside those of the task."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import quote
from seqloom.errors import ArgumentError

# (labels, scores) -> number, or an object with update(labels, scores) and compute().
Metric: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], float] | Any
Metrics: TypeAlias = Mapping[str, Metric] | Sequence[Metric] | None
LOSS = "loss"  # the name of the loss in the history


def list_metrics(metrics: Metrics) -> dict[str, Metric]:
    """Gives metrics by name; refuses what measures nothing."""
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        metrics = _name_all(metrics)
    found = dict(cast("Mapping[str, Metric]", metrics))
    if LOSS in found:
        raise ArgumentError(
            "a metric cannot be named 'loss': the history holds the loss of the network "
            "under this name, and it chooses the best epoch; give the metric another name"
        )
    for name, metric in found.items():
        is_object = hasattr(metric, "update") and hasattr(metric, "compute")
        if isinstance(metric, type) or not (is_object or callable(metric)):
            raise ArgumentError(
                f"the metric {name!r} must be a function (labels, scores) -> number, or an "
                f"object with update(labels, scores) and compute(), got {quote(metric)}"
            )
    return found


def measure_all(
    metrics: Mapping[str, Metric], labels: NDArray[Any], scores: NDArray[Any]
) -> dict[str, float]:
    """Computes each metric over all records."""
    return {name: _measure(it, labels, scores, name=name) for name, it in metrics.items()}


def _measure(metric: Any, labels: Any, scores: Any, *, name: str) -> float:
    """Computes one metric; an object is copied, because it adds up what it is shown."""
    if hasattr(metric, "compute"):
        own = deepcopy(metric)
        own.update(labels, scores)
        value = own.compute()
    else:
        value = metric(labels, scores)
    if np.ndim(value):
        raise ArgumentError(
            f"the metric {name!r} must give one number, got an array of shape "
            f"{np.shape(value)}"
        )
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"the metric {name!r} must give one number, got {quote(value)}"
        ) from error


def _name_all(metrics: object) -> dict[str, Metric]:
    """Names the metrics of a list."""
    if not isinstance(metrics, (list, tuple)):
        raise ArgumentError(
            f'metrics must be a dict such as {{"f1": function}}, or a list of functions, '
            f"got {quote(metrics)}"
        )
    each = cast("list[Any]", metrics)
    named = {getattr(it, "__name__", type(it).__name__): it for it in each}
    if len(named) < len(each):
        raise ArgumentError(
            "two of metrics have the same name; give a dict from name to metric"
        )
    return named
