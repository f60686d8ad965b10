"""Checks of a run's network and data, before any work."""

import json
from typing import Any

from seqloom._key import Key
from seqloom._warning import warn_user
from seqloom.errors import (
    ArgumentError,
    FormatError,
    RecordError,
    SeqloomError,
)
from seqloom.infer._doubts import warn_of_part
from seqloom.infer._forward import Forward
from seqloom.infer._loop import (
    check_lengths,
    evaluation_batch_size,
    warn_of_changes,
    warn_of_padding,
)
from seqloom.infer._predict import check_labels
from seqloom.models import Custom, Examples, Task, Trained
from seqloom.models._examples import check_examples, noun_of
from seqloom.models._known_letters import learn_letters
from seqloom.models._trained import config_of
from seqloom.models._trained_on import TrainedOn
from seqloom.nn import Config, Module
from seqloom.tensor import Backend
from seqloom.train._parts import Arrays, LoaderBatches, Parts
from seqloom.train._settings import Settings
from seqloom.train._task import ClassWeight, describe, describe_conflicts


def prepare(
    model: Config | Module,
    parts: Parts,
    settings: Settings,
    *,
    task: str,
    class_weight: ClassWeight,
    backend: Backend,
) -> tuple[Trained, Parts]:
    """Makes the network and checks that the data fit it."""
    is_custom = task == Custom.name
    for name, part in (("training", parts.train), *parts.list_named()):
        if not (isinstance(part, LoaderBatches) and is_custom):
            check_examples(f"the {name} part", part)
            _check_filled(name, part)
    _check_batches(parts.train, settings)
    if settings.early_stop is not None and parts.valid is None:
        raise ArgumentError(
            "early_stop (--early-stop) needs a validation part: fit(model, train, valid), "
            "--valid or --valid-share"
        )
    if is_custom:
        if class_weight is not None:
            raise ArgumentError("class_weight is for classes, but the task is custom")
        return _prepare_custom(model, parts, settings, backend=backend)
    _check_encoder(parts.train)
    described = describe(parts.train, task=task, class_weight=class_weight)
    network = _network(model, settings, backend)
    _check_outputs(network, described)
    parts = parts.fit_encoder()
    size = evaluation_batch_size(parts.train)
    origin = TrainedOn.of(parts.train), learn_letters(parts.train)
    trained = Trained(network, parts.train.encoder, described, size, *origin)
    for name, part in parts.list_named():
        _check_part(trained, name, part)
    _warn(trained, parts, has_step=settings.step is not None)
    return trained, parts


def _warn(trained: Trained, parts: Parts, *, has_step: bool) -> None:
    """Warns of parts that are allowed, but seldom meant."""
    network = trained.model
    for name, part in parts.list_named():
        warn_of_part(trained, part, name)
        if name != "training":
            warn_of_changes(f"the {name} part", part)
    if text := describe_conflicts(parts.train):
        warn_user(text)
    if not has_step:
        warn_of_padding(network, parts.train)


def _prepare_custom(
    model: Config | Module,
    parts: Parts,
    settings: Settings,
    *,
    backend: Backend,
) -> tuple[Trained, Parts]:
    """Makes the network for a loss or a step that alone knows what the labels are."""
    if settings.loss is None and settings.step is None:
        raise ArgumentError(
            "a custom task needs loss=function(outputs, labels) or step=function(model, "
            'batch, key); or say what the labels are: task="classify", "regress" or '
            '"multilabel"'
        )
    network = _network(model, settings, backend)
    if settings.step is None:
        Forward.of(network)
    parts = parts.fit_encoder()
    if settings.step is None and not isinstance(parts.train, LoaderBatches):
        warn_of_padding(network, parts.train)
    trained = Trained(network, parts.train.encoder, Custom(), settings.batch_size)
    for name, part in parts.list_named():
        warn_of_part(trained, part, name)
    return trained, parts


def _check_encoder(train: Any) -> None:
    """Refuses records that no encoder makes numbers of."""
    if train.encoder is None and not isinstance(train, Arrays):
        raise ArgumentError(
            'the training part has no encoder; give it encoder=OneHot("dna"), and '
            'genotypes by="sample"'
        )
    if getattr(train.encoder, "impute", "mean") is None:
        raise ArgumentError(
            'the training part leaves missing genotypes as they are; give impute="mean"'
        )


def identity_of(
    trained: Trained, parts: Parts, settings: Settings, *, compiled: bool
) -> dict[str, Any]:
    """Names everything that a resumed run must share with the one it goes on from."""
    config = config_of(trained.model)
    shapes = [(path, param.shape) for path, param in trained.model.parameters()]
    facts = {
        **settings.to_dict(),
        "model": shapes if config is None else config.to_dict(),
        "training data": parts.train.fingerprint(),
        "validation data": None if parts.valid is None else parts.valid.fingerprint(),
        "augmentation": spell_augment(getattr(parts.train, "augment", None)),
        "encoder": trained.encoder and trained.encoder.to_dict(),
        "task": trained.task.to_dict(),
        # Rounded in another order, so that its bits may differ.
        "compiled": compiled or None,
    }
    return json.loads(json.dumps(facts))


def spell_augment(augment: Any) -> Any:
    """Names what changes the training sequences."""
    if augment is None or hasattr(augment, "to_dict"):
        return augment and augment.to_dict()
    return getattr(augment, "__qualname__", type(augment).__qualname__)


def _check_filled(name: str, part: Any) -> None:
    """Refuses a part without records."""
    if not len(part):
        advice = "" if name == "training" else ", or leave the part out"
        raise FormatError(
            f"the {name} part has no {noun_of(part)}; give it at least one{advice}"
        )


def _check_batches(train: Any, settings: Settings) -> None:
    """Refuses `drop_last` where it has no effect, or leaves nothing."""
    if not settings.drop_last:
        return
    if isinstance(train, LoaderBatches):
        raise ArgumentError(
            "drop_last (--drop-last) is for records, but the training part is a loader: "
            "give drop_last=True to the loader instead"
        )
    if len(train) < settings.batch_size:
        raise ArgumentError(
            f"drop_last (--drop-last) leaves no batch: the training part has {len(train)} "
            f"{noun_of(train)}, a batch takes {settings.batch_size}; lower batch_size "
            "(--batch-size), or leave out drop_last"
        )


def _network(model: Config | Module, settings: Settings, backend: Backend) -> Module:
    """Makes the network, or takes the one that is given."""
    if isinstance(model, Config):
        return model.init(backend, Key(settings.seed))
    return model if _is_bound(model) else model.bind(backend, Key(settings.seed))


def _is_bound(model: Module) -> bool:
    """Says whether a network has a backend already."""
    try:
        return bool(model.backend)
    except RecordError:
        return False


def _check_outputs(network: Module, task: Task) -> None:
    """Refuses a network that has no outputs, or not as many as there are classes."""
    Forward.of(network)
    outputs = getattr(config_of(network), "outputs", None)
    if outputs is not None and outputs != len(task.columns):
        raise ArgumentError(
            f"the network has {outputs} outputs, the {task.name} task needs "
            f"{len(task.columns)}: {', '.join(task.columns)}"
        )


def _check_part(trained: Trained, name: str, part: Examples) -> None:
    """Refuses a part that the network cannot read or be judged on."""
    try:
        check_labels(trained, part)
        check_lengths(trained.model, part)
    except SeqloomError as error:
        raise type(error)(f"the {name} part: {error}") from None
