"""Chooses the task before any record is read: a known one, or a custom one."""

from typing import Any

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.infer._forward import Forward
from seqloom.models import Classify, Custom, Multilabel, Regress
from seqloom.models._examples import check_examples
from seqloom.nn import Config
from seqloom.train._arrays import Arrays, LoaderBatches, Names
from seqloom.train._parts import Parts

_KNOWN = (Classify.name, Regress.name, Multilabel.name)


def names_for(model: Any, *, has_step: bool) -> Names:
    """Returns the function that names the arrays of a tuple: inputs, then labels."""

    def names(count: int) -> list[str]:
        if has_step:
            return [str(position) for position in range(count)]
        asked = Forward.of(model.build() if isinstance(model, Config) else model).inputs
        if count - 1 > len(asked):
            raise ArgumentError(
                f"a tuple of {count} arrays is {count - 1} inputs and labels, but "
                f"{type(model).__name__} asks for {len(asked)} inputs; give a dict of "
                "arrays by name, or step=function(model, batch, key)"
            )
        return [*asked[: count - 1], "label"]

    return names


def choose_task(task: str, parts: Parts, *, has_step: bool, has_loss: bool) -> str:
    """Chooses the name of the task, and sets it for labels in arrays."""
    train: Any = parts.train
    if task in _KNOWN:
        _read_arrays(task, [part for _, part in parts.list_named()])
    if isinstance(train, LoaderBatches) and task not in {"auto", Custom.name}:
        raise ArgumentError(
            f"task={task!r} needs labels to look at, but the training part is a loader; "
            "give its dataset or arrays instead, or loss= or step="
        )
    if task != "auto":
        return task
    if isinstance(train, LoaderBatches) and not (has_step or has_loss):
        _refuse_loader(train.loader)
    is_unknown = isinstance(train, (LoaderBatches, Arrays))
    is_unlabelled = has_loss and getattr(train, "labels", None) is None
    return Custom.name if has_step or is_unknown or is_unlabelled else task


def _refuse_loader(loader: Any) -> None:
    """Says what to give in place of a loader whose dataset knows its labels."""
    if hasattr(getattr(loader, "dataset", None), "fingerprint"):
        check_examples("the training part", loader)


def _read_arrays(task: str, parts: list[Any]) -> None:
    """Sets task and classes of arrays; classes are integers from 0."""
    arrays = [it for it in parts if isinstance(it, Arrays) and it.labels is not None]
    for part in arrays:
        part.task = task
        part.classes = tuple(map(str, range(_count_classes(task, arrays))))


def _count_classes(task: str, parts: list[Arrays]) -> int:
    """Counts classes, or the columns of other labels, over all parts."""
    labels = [np.asarray(part.labels) for part in parts]
    if task == Classify.name:
        return 1 + int(max(it.max(initial=0) for it in labels))
    return max(1 if it.ndim == 1 else it.shape[1] for it in labels)
