"""The task of a run: chosen before any record is read, then described by the labels."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import as_number, quote
from seqloom.data._parts import hash_letters
from seqloom.errors import ArgumentError, LabelError
from seqloom.infer._forward import Forward
from seqloom.infer._predict import check_values
from seqloom.models import Classify, Custom, Examples, Multilabel, Regress, Task
from seqloom.models._examples import check_examples, noun_of
from seqloom.nn import Config
from seqloom.train._parts import Arrays, LoaderBatches, Names, Parts
from seqloom.train._settings import Settings
from seqloom.train._values import ClassWeight

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
                "arrays by name, or objective=Objective(step=function(model, batch, key))"
            )
        return [*asked[: count - 1], "label"]

    return names


def choose_task(settings: Settings, parts: Parts) -> str:
    """Chooses the name of the task, and sets it for labels in arrays."""
    task, train = settings.task, parts.train
    has_step, has_loss = settings.step is not None, settings.loss is not None
    if task in _KNOWN:
        _read_arrays(task, [part for _, part in parts.list_named()])
    if isinstance(train, LoaderBatches) and task not in {"auto", Custom.name}:
        raise ArgumentError(
            f"task={task!r} needs labels to look at, but the training part is a loader; "
            "give its dataset or arrays instead, or an Objective with a loss or a step"
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


def describe(train: Examples, *, task: str, class_weight: ClassWeight) -> Task:
    """Finds the task of a training part, and refuses labels that cannot teach it."""
    name = _name_of(train, task)
    check_values(train)
    if class_weight is not None and name != Classify.name:
        raise ArgumentError(f"class_weight is for classes, but the task is {name}")
    if name == Classify.name:
        return _classify(train, class_weight)
    return _regress(train) if name == Regress.name else _multilabel(train)


def _name_of(train: Examples, task: str) -> str:
    """Gives the task's name, if the labels are of it."""
    known = (Classify.name, Regress.name, Multilabel.name)
    if task not in ("auto", *known):
        raise ArgumentError(
            f"task must be one of auto, {', '.join(known)}, got {quote(task)}"
        )
    if train.labels is None or train.task is None:
        raise LabelError(
            "the training part has no labels; give SequenceDataset labels=, "
            "GenotypeDataset phenotype="
        )
    if task not in {"auto", train.task}:
        raise LabelError(
            f"the labels were read for the task {train.task}, not {task}; "
            f"give the dataset task={task!r} too"
        )
    return train.task


def _classify(train: Examples, class_weight: ClassWeight) -> Classify:
    """Counts the classes and weighs them."""
    counts = np.bincount(_labels(train), minlength=len(train.classes))
    if np.count_nonzero(counts) < 2:  # noqa: PLR2004 - one class, or none
        only = train.classes[int(counts.argmax())] if counts.sum() else None
        raise LabelError(
            f"every one of the {len(train):,} training labels is {only!r}: "
            "a classifier needs two classes at least"
        )
    return Classify(tuple(train.classes), weights=_weights(train, counts, class_weight))


def _weights(
    train: Examples, counts: NDArray[np.int64], class_weight: ClassWeight
) -> tuple[float, ...] | None:
    """Gives one weight a class, in the classes' order."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        return _balance_classes(counts, class_weight)
    if isinstance(class_weight, Mapping):
        class_weight = _in_order(train.classes, class_weight)
    values = tuple(_each(class_weight))
    if len(values) != len(counts) or not all(0 <= value < np.inf for value in values):
        raise ArgumentError(
            f"class_weight must be {len(counts)} numbers of at least 0, one for each "
            f"class, got {values}"
        )
    if not np.dot(values, counts) > 0:
        raise ArgumentError(
            f"class_weight {values} gives every training record the weight 0; give at "
            "least one class that the records have a weight above 0"
        )
    return values


def _each(class_weight: Sequence[float]) -> Iterator[float]:
    """Gives the weights as numbers; what has none is refused."""
    if not isinstance(class_weight, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            'class_weight must be "balanced", a dict from class to number, or one number '
            f"for each class, got {quote(class_weight)}"
        )
    yield from (as_number("each of class_weight", weight) for weight in class_weight)


def _balance_classes(counts: NDArray[np.int64], class_weight: str) -> tuple[float, ...]:
    """Weighs the classes so that each counts the same in sum."""
    if class_weight != "balanced":
        raise ArgumentError(
            f"class_weight must be 'balanced', numbers or None, got {class_weight!r}"
        )
    share = counts.sum() / (len(counts) * np.maximum(counts, 1))
    return tuple(share.tolist())


def _in_order(classes: Sequence[str], weights: Mapping[str, float]) -> Sequence[float]:
    """Brings weights by name into the classes' order; a class without one counts 1."""
    if unknown := sorted(set(weights) - set(classes)):
        raise ArgumentError(
            f"class_weight names {unknown[0]!r}, which is not a class; the classes are "
            f"{', '.join(classes)}"
        )
    return [weights.get(name, 1.0) for name in classes]


def _regress(train: Examples) -> Regress:
    """Measures the labels' mean and deviation."""
    values = _labels(train).astype(np.float64).reshape(len(train), -1)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    # Not the deviation: that of equal numbers may be a little above 0.
    for name, column in zip(train.classes, values.T, strict=True):
        if not np.ptp(column) > 0:
            raise LabelError(
                f"all training labels {name!r} are {column[0]:g}, so there is nothing to "
                "learn; choose another column or other records"
            )
    return Regress(tuple(train.classes), tuple(mean.tolist()), tuple(deviation.tolist()))


def _multilabel(train: Examples) -> Multilabel:
    """Checks that some label divides the records."""
    shares = _labels(train).mean(axis=0)
    if not ((shares > 0) & (shares < 1)).any():
        raise LabelError(
            "all training records have the same labels, so there is nothing to learn"
        )
    return Multilabel(tuple(train.classes))


def _labels(train: Examples) -> NDArray[np.int64] | NDArray[np.float32]:
    """Gives the labels, which `describe` has seen to be there."""
    return np.asarray(train.labels)


def describe_conflicts(train: Any) -> str:
    """Says how many sequences stand in more than one class; nothing where none does."""
    if getattr(train, "task", None) != Classify.name or train.labels is None:
        return ""
    if (hashes := hash_letters(train)) is None:
        return ""
    labels = np.asarray(train.labels)
    order = np.lexsort((labels, hashes))
    hashes, labels = hashes[order], labels[order]
    differs = np.flatnonzero((hashes[1:] == hashes[:-1]) & (labels[1:] != labels[:-1]))
    if not differs.size:
        return ""
    one, other = (_name_record(train, row) for row in order[differs[0] :][:2].tolist())
    subject = _count_with_verb(train, len(np.unique(hashes[differs])))
    return (
        f"{subject} in more than one class, such as {one} and {other}, which have the same "
        "letters: no model can tell them apart"
    )


def _count_with_verb(train: Any, count: int) -> str:
    """Counts sequences, with their verb."""
    noun = noun_of(train)
    return f"{count:,} {noun} stand" if count > 1 else f"1 {noun.removesuffix('s')} stands"


def _name_record(train: Any, row: int) -> str:
    """Names a record and its class."""
    return f"{train.ids[row]!r} ({train.classes[int(train.labels[row])]})"
