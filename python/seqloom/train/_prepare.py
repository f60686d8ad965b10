"""Creates the network of a run, and checks task, network and data before training."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import as_number, quote
from seqloom._key import Key
from seqloom._warning import warn_user
from seqloom.data._parts import hash_sequences
from seqloom.errors import ArgumentError, FormatError, LabelError, RecordError, SeqloomError
from seqloom.infer._forward import Forward, find_label_name
from seqloom.infer._input_warnings import warn_of_unsuitable_set
from seqloom.infer._loop import (
    check_lengths,
    evaluation_batch_size,
    warn_of_augmentation,
    warn_of_padding,
)
from seqloom.infer._predict import check_label_values, check_labels
from seqloom.models import (
    Classify,
    Custom,
    Examples,
    Multilabel,
    Profile,
    Regress,
    Task,
    Trained,
)
from seqloom.models._examples import check_examples, noun_of
from seqloom.models._tracks import check_bin_size
from seqloom.models._trained import config_of
from seqloom.models._training_facts import TrainedOn, compute_training_hashes
from seqloom.nn import Config, Module
from seqloom.train._job import FitJob
from seqloom.train._parts import Arrays, Data, LoaderBatches, Parts
from seqloom.train._ranks import Ranks
from seqloom.train._settings import FitSettings
from seqloom.train._values import ClassWeight

_LABEL_TASKS = (Classify.name, Regress.name, Multilabel.name, Profile.name)
# Number of training regions whose counts determine the weight of the count loss.
_COUNTED_REGIONS = 256
# The weight is the median count divided by this number, as in chrombpnet.
_COUNT_SCALE = 10.0


def prepare(
    model: Config | Module, parts: Parts, settings: FitSettings, *, ranks: Ranks
) -> FitJob:
    """Create the network, and check that the data fit the network and the settings."""
    task = choose_task(settings, parts)
    is_custom = task == Custom.name
    for name, part in (("training", parts.train), *parts.list_named()):
        if isinstance(part, LoaderBatches) and is_custom:
            continue
        check_examples(f"the {name} set", part)
        if not len(part):
            advice = "" if name == "training" else ", or leave the set out"
            noun = "records" if isinstance(part, LoaderBatches) else noun_of(part)
            raise FormatError(f"the {name} set has no {noun}; give it at least one{advice}")
    _check_settings(parts, settings)
    if is_custom:
        trained, parts = _prepare_custom(model, parts, settings)
    else:
        trained, parts = _prepare_builtin(model, parts, settings, task=task)
    return FitJob(
        settings=settings.for_network(trained.model),
        trained=trained,
        parts=parts,
        ranks=ranks,
    )


def choose_task(settings: FitSettings, parts: Parts) -> str:
    """Return the name of the task; for arrays, infer the task from settings and labels."""
    task, train = settings.objective.task, parts.train
    has_step = settings.objective.step is not None
    has_loss = settings.objective.loss is not None
    if task in _LABEL_TASKS:
        arrays = [it for _, it in parts.list_named() if isinstance(it, Arrays)]
        _set_task([it for it in arrays if it.labels is not None], task)
    if isinstance(train, LoaderBatches):
        if task not in {"auto", Custom.name}:
            raise ArgumentError(
                f"task={task!r} needs labels, but the training set is a loader; pass its "
                "dataset, arrays, or an Objective with a loss or step"
            )
        # If the loader's dataset has labels, the error message suggests passing the
        # dataset.
        dataset = getattr(train.loader, "dataset", None)
        if (
            task == "auto"
            and not (has_step or has_loss)
            and hasattr(dataset, "fingerprint")
        ):
            check_examples("the training set", train.loader)
    if task != "auto":
        return task
    is_unknown = isinstance(train, (LoaderBatches, Arrays))
    is_unlabelled = has_loss and getattr(train, "labels", None) is None
    return Custom.name if has_step or is_unknown or is_unlabelled else task


def _set_task(parts: list[Arrays], task: str) -> None:
    """Set the task of arrays and its classes, which are integers from 0 in all sets."""
    labels = [np.asarray(part.labels) for part in parts]
    for part in parts:
        if task == Profile.name:
            count = labels[0].shape[1] if labels[0].ndim > 1 else 1
        elif task == Classify.name:
            count = 1 + int(max(it.max(initial=0) for it in labels))
        else:
            count = max(1 if it.ndim == 1 else it.shape[1] for it in labels)
        part.task, part.classes = task, tuple(map(str, range(count)))


def _check_settings(parts: Parts, settings: FitSettings) -> None:
    """Raise if a setting does not suit these sets, or leaves no training batch."""
    train, size = parts.train, settings.batches.batch_size
    if settings.batches.drop_last and isinstance(train, LoaderBatches):
        raise ArgumentError(
            "drop_last (--drop-last) is for records, but the training set is a loader: set "
            "drop_last=True in the loader instead"
        )
    if settings.batches.drop_last and len(train) < size:
        raise ArgumentError(
            f"drop_last (--drop-last) leaves no batch: the training set has {len(train)} "
            f"{parts.noun}, and a batch has {size}; lower batch_size (--batch-size), or "
            "leave out drop_last"
        )
    if settings.epochs.early_stop is not None and parts.valid is None:
        raise ArgumentError(
            "early_stop (--early-stop) needs a validation set: fit(model, train, valid), "
            "--valid or --valid-share"
        )


def _prepare_custom(
    model: Config | Module, parts: Parts, settings: FitSettings
) -> tuple[Trained, Parts]:
    """Create the network for a custom task, with a user's loss or step."""
    objective = settings.objective
    for name in ("class_weight", "count_weight"):
        if getattr(objective, name) is not None:
            what = "classes" if name == "class_weight" else "tracks"
            raise ArgumentError(f"{name} is for {what}, but the task is custom")
    if objective.loss is None and objective.step is None:
        raise ArgumentError(
            "a custom task needs objective=function(outputs, labels) or "
            "objective=Objective(step=function(model, batch, key)); or name the task: "
            'objective="classify", "regress" or "multilabel"'
        )
    network = _make_network(model, settings)
    if objective.step is None:
        Forward.of(network)
    parts = parts.fit_encoder()
    if objective.step is None and not isinstance(parts.train, LoaderBatches):
        warn_of_padding(network, parts.train)
    size = settings.batches.batch_size
    trained = Trained(network, parts.train.encoder, Custom(), size)
    for name, part in parts.list_named():
        warn_of_unsuitable_set(trained, part, name)
    return trained, parts


def _prepare_builtin(
    model: Config | Module, parts: Parts, settings: FitSettings, *, task: str
) -> tuple[Trained, Parts]:
    """Create the network for a built-in task; raise if the data do not suit the task."""
    train = dict(parts.list_examples())["training"]
    _check_encoder(train)
    described = describe(train, task, settings.objective.class_weight)
    network = _make_network(model, settings)
    Forward.of(network)
    described = _complete_profile(
        described, network, train, weight=settings.objective.count_weight
    )
    outputs = getattr(config_of(network), "outputs", None)
    if outputs is not None and outputs != len(described.columns):
        raise ArgumentError(
            f"the network has {outputs} outputs, but the {described.name} task needs "
            f"{len(described.columns)}: {', '.join(described.columns)}"
        )
    parts = parts.fit_encoder()
    examples = dict(parts.list_examples())
    train = examples["training"]
    size = evaluation_batch_size(train)
    origin = TrainedOn.of(train), compute_training_hashes(train)
    trained = Trained(network, train.encoder, described, size, *origin)
    for name, part in examples.items():
        try:
            check_labels(trained, part)
            check_lengths(network, part)
        except SeqloomError as error:
            raise type(error)(f"the {name} set: {error}") from None
    _warn_of_data(trained, examples)
    if settings.objective.step is None:
        warn_of_padding(network, train)
    return trained, parts


def _check_encoder(train: Examples) -> None:
    """Raise if records have no encoder, or if the encoder does not impute genotypes."""
    if train.encoder is None and not isinstance(train, Arrays):
        raise ArgumentError(
            'the training set has no encoder; pass encoder=OneHot("dna") to its '
            'dataset, and by="sample" for genotypes'
        )
    if getattr(train.encoder, "impute", "mean") is None:
        raise ArgumentError('the encoder keeps missing genotypes; set impute="mean"')


def _warn_of_data(trained: Trained, examples: dict[str, Examples]) -> None:
    """Warn about data that are valid but probably wrong."""
    for name, part in examples.items():
        warn_of_unsuitable_set(trained, part, name)
        if name != "training":
            warn_of_augmentation(f"the {name} set", part)
    if text := describe_conflicts(examples["training"]):
        warn_user(text)


def _make_network(model: Config | Module, settings: FitSettings) -> Module:
    """Create the network, or move the given network to a backend."""
    backend, key = settings.target, Key(settings.seed)
    if isinstance(model, Config):
        return model.init(backend, key)
    try:
        is_bound = bool(model.backend)
    except RecordError:
        is_bound = False
    return model if is_bound else model.bind(backend, key)


def describe(train: Examples, task: str, class_weight: ClassWeight) -> Task:
    """Return the task of a training set; raise if the labels do not suit it."""
    if train.task is None or (train.labels is None and train.task != Profile.name):
        raise LabelError(
            "the training set has no labels; pass labels= (or tracks=) to its dataset"
        )
    if task not in {"auto", train.task}:
        raise LabelError(
            f"the labels were read for the task {train.task}, not {task}; "
            f"also give the dataset Labels(..., task={task!r})"
        )
    check_label_values(train)
    if class_weight is not None and train.task != Classify.name:
        raise ArgumentError(f"class_weight is for classes, but the task is {train.task}")
    if train.task == Profile.name:
        return _profile(train)
    labels, columns = np.asarray(train.labels), tuple(train.classes)
    if train.task == Classify.name:
        return _classify(labels, columns, class_weight)
    if train.task == Regress.name:
        return _regress(labels, columns)
    shares = labels.mean(axis=0)
    if not ((shares > 0) & (shares < 1)).any():
        raise LabelError(
            "all training records have the same labels, so there is nothing to learn"
        )
    return Multilabel(columns)


def _classify(
    labels: NDArray[np.int64], classes: tuple[str, ...], class_weight: ClassWeight
) -> Classify:
    """Return the task of a classifier, with class weights."""
    counts = np.bincount(labels, minlength=len(classes))
    if np.count_nonzero(counts) < 2:  # noqa: PLR2004 - one class or none
        only = classes[int(counts.argmax())] if counts.sum() else None
        raise LabelError(
            f"every one of the {len(labels):,} training labels is {only!r}: "
            "a classifier needs at least two classes"
        )
    if class_weight is None:
        return Classify(classes)
    if isinstance(class_weight, str):
        share = counts.sum() / (len(counts) * np.maximum(counts, 1))
        return Classify(classes, weights=tuple(share.tolist()))
    return Classify(classes, weights=_list_weights(classes, counts, class_weight))


def _list_weights(
    classes: tuple[str, ...],
    counts: NDArray[np.int64],
    class_weight: Sequence[float] | Mapping[str, float],
) -> tuple[float, ...]:
    """Return the weight of each class; the default weight is 1."""
    if isinstance(class_weight, Mapping):
        if unknown := sorted(set(class_weight) - set(classes)):
            raise ArgumentError(
                f"class_weight {unknown[0]!r} is not a class; the classes are "
                f"{', '.join(classes)}"
            )
        class_weight = [class_weight.get(name, 1.0) for name in classes]
    if not isinstance(class_weight, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            'class_weight must be "balanced", a dict from class to number, or one number '
            f"for each class, got {quote(class_weight)}"
        )
    values = tuple(as_number("each of class_weight", weight) for weight in class_weight)
    if len(values) != len(counts) or not all(0 <= value < np.inf for value in values):
        raise ArgumentError(
            f"class_weight must be {len(counts)} numbers of at least 0, one for each "
            f"class, got {values}"
        )
    if not np.dot(values, counts) > 0:
        raise ArgumentError(
            f"class_weight {values} sets the weight of every training record to 0; set a "
            "weight above 0 for a class that occurs"
        )
    return values


def _regress(labels: NDArray[np.float32], names: tuple[str, ...]) -> Regress:
    """Return the task of a regression, with mean and standard deviation of the labels."""
    values = labels.astype(np.float64).reshape(len(labels), -1)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    # Rounding may make the standard deviation of equal numbers slightly larger than 0.
    for name, column in zip(names, values.T, strict=True):
        if not np.ptp(column) > 0:
            raise LabelError(
                f"all training labels {name!r} are {column[0]:g}, so there is nothing to "
                "learn; choose another column or other records"
            )
    return Regress(names, tuple(mean.tolist()), tuple(deviation.tolist()))


def _profile(train: Examples) -> Profile:
    """Return the task of tracks; the weight of the count loss depends on the counts."""
    count = min(len(train), _COUNTED_REGIONS)
    batch = train.batch(np.linspace(0, len(train) - 1, count).astype(np.int64))
    counts = np.asarray(batch[find_label_name(batch) or "tracks"])
    if counts.ndim != 3:  # noqa: PLR2004 - regions, tracks and positions
        raise LabelError(
            f"tracks must be an array (regions, tracks, positions), got {counts.shape}"
        )
    if not (counts >= 0).all():
        raise LabelError(
            f"tracks must be counts of 0 or more, got {np.min(counts):g}; open the tracks "
            "with missing=0, and without negative values"
        )
    median = float(np.median(counts.sum(axis=(1, 2), dtype=np.float64)))
    weight = max(1.0, median / _COUNT_SCALE)
    return Profile(tuple(train.classes), count_weight=weight)


def _complete_profile(
    task: Task, network: Any, train: Examples, *, weight: float | None
) -> Task:
    """Return the task of tracks with the network's likelihood and the user's weight."""
    if not isinstance(task, Profile):
        if weight is not None:
            raise ArgumentError(f"count_weight is for tracks, but the task is {task.name}")
        return task
    check_bin_size(getattr(config_of(network), "bin_size", 1), train)
    likelihood = getattr(network, "likelihood", task.likelihood)
    weight = task.count_weight if weight is None else weight
    return replace(task, likelihood=likelihood, count_weight=weight)


def describe_conflicts(train: Data) -> str:
    """Describe identical sequences with different classes; "" if there are none."""
    if isinstance(train, LoaderBatches) or train.task != Classify.name:
        return ""
    if train.labels is None or (hashes := hash_sequences(train)) is None:
        return ""
    labels = np.asarray(train.labels)
    order = np.lexsort((labels, hashes))
    hashes, labels = hashes[order], labels[order]
    differs = np.flatnonzero((hashes[1:] == hashes[:-1]) & (labels[1:] != labels[:-1]))
    if not differs.size:
        return ""
    one, other = (
        f"{train.ids[row]!r} ({train.classes[int(train.labels[row])]})"
        for row in order[differs[0] :][:2].tolist()
    )
    count, noun = len(np.unique(hashes[differs])), noun_of(train)
    subject = f"{count:,} {noun} have" if count > 1 else f"1 {noun.removesuffix('s')} has"
    return (
        f"{subject} more than one class, such as {one} and {other}, which are identical: "
        "no model can separate them"
    )
