"""What a task makes of outputs, in ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.models import Classify, Multilabel, Regress

if TYPE_CHECKING:
    from seqloom.export._onnx._builder import Builder
    from seqloom.models import Task
    from seqloom.tensor._graph import Value


def write_scores(b: Builder, outputs: str, value: Value, *, task: Task) -> str | None:
    """Computes the scores; None where outputs stay as they are."""
    if isinstance(task, Classify):
        return b.node("Softmax", [outputs], axis=1)
    if isinstance(task, Multilabel):
        return b.node("Sigmoid", [outputs])
    if isinstance(task, Regress):
        scaled = b.node("Mul", [outputs, b.constant(task.deviation, value.dtype)])
        return b.node("Add", [scaled, b.constant(task.mean, value.dtype)])
    return None
