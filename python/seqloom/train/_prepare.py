"""From the arguments of `fit` to a training: network and data are checked first."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from seqloom._key import Key
from seqloom._signals import HeldSignals
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
from seqloom.models._folder import write_history
from seqloom.models._known_letters import learn_letters
from seqloom.models._trained import config_of, save_config
from seqloom.models._trained_on import TrainedOn
from seqloom.nn import Config, Module
from seqloom.train._batch_loss import BatchLoss
from seqloom.train._card import write_card_of_unfinished
from seqloom.train._checkpoint import State
from seqloom.train._checkpoints import Checkpoints, FolderSettings
from seqloom.train._compiling import is_to_compile, make_compiling
from seqloom.train._facts import spell_augment
from seqloom.train._parts import Arrays, LoaderBatches, Parts
from seqloom.train._precision import scale_of
from seqloom.train._ranks import Ranks
from seqloom.train._settings import Settings
from seqloom.train._step import StepMaker
from seqloom.train._task import describe, describe_conflicts
from seqloom.train._training import Training
from seqloom.train._update import make_accumulation, make_average, make_optimizer
from seqloom.train._validation import Validation
from seqloom.train._watchers import Watchers


def prepare(
    model: Config | Module,
    parts: Parts,
    settings: Settings,
) -> tuple[Trained, Parts]:
    """Makes the network and checks that the data fit it."""
    is_custom = settings.task == Custom.name
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
        if settings.class_weight is not None:
            raise ArgumentError("class_weight is for classes, but the task is custom")
        return _prepare_custom(model, parts, settings)
    _check_encoder(parts.train)
    described = describe(
        parts.train, task=settings.task, class_weight=settings.class_weight
    )
    network = _network(model, settings)
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
) -> tuple[Trained, Parts]:
    """Makes the network for a loss or a step that alone knows what the labels are."""
    if settings.loss is None and settings.step is None:
        raise ArgumentError(
            "a custom task needs objective=function(outputs, labels) or "
            "objective=Objective(step=function(model, batch, key)); or say what the labels "
            'are: objective="classify", "regress" or '
            '"multilabel"'
        )
    network = _network(model, settings)
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


def make_training(
    trained: Trained,
    parts: Parts,
    settings: Settings,
    *,
    folder: FolderSettings,
    watchers: Watchers,
    ranks: Ranks,
) -> Training:
    """Makes what trains, at the last checkpoint of the folder if there is one."""
    settings = settings.for_network(trained.model)
    state = _make_state(settings, trained.model)
    objective = BatchLoss(
        loss=settings.loss or trained.task.loss,
        step=settings.step,
        encoder=trained.encoder,
        task=trained.task if settings.loss is None else None,
        is_custom=isinstance(trained.task, Custom),
        precision=settings.precision,
    )
    is_compiled = is_to_compile(settings, trained, parts.train, folder=folder.path)
    checkpoints = Checkpoints(
        folder.path,
        _identity_of(trained, parts, settings, compiled=is_compiled),
        folder.interval,
        folder.keep,
        ranks,
        HeldSignals(waits=ranks.are_several),
    )
    steps = StepMaker(
        train=parts.train,
        task=trained.task,
        objective=objective,
        compiling=make_compiling(
            settings,
            trained,
            objective,
            is_compiled=is_compiled,
            is_alone=not ranks.are_several,
        ),
        settings=settings,
        ranks=ranks,
        folder=checkpoints.writable_folder,
    )
    validation = Validation(
        part=parts.valid,
        trained=trained,
        objective=objective,
        settings=settings,
        ranks=ranks,
    )
    checkpoints.resume(state)
    ranks.on_first(lambda: _write_begin(folder.path, state, trained))
    ranks.take_first(state.model)
    return Training(
        settings=settings,
        parts=parts,
        trained=trained,
        state=state,
        steps=steps,
        validation=validation,
        checkpoints=checkpoints,
        watchers=watchers,
        ranks=ranks,
    )


def _make_state(settings: Settings, model: Module) -> State:
    """Makes the state of a run before its first step."""
    decay = settings.weight_decay or 0.0
    state = State(model, settings.optimizer or make_optimizer(model, decay))
    state.others |= scale_of(settings.precision)
    state.others |= make_average(settings.weight_average)
    state.others |= make_accumulation(settings.accumulate)
    return state


def _write_begin(folder: Path | None, state: State, trained: Trained) -> None:
    """Writes the settings, and the history without the epochs after the checkpoint."""
    if folder is not None:
        save_config(folder, replace(trained, is_finished=False))
        write_history(folder, state.history)
        write_card_of_unfinished(folder)


def _identity_of(
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


def _network(model: Config | Module, settings: Settings) -> Module:
    """Makes the network, or takes the one that is given."""
    backend, key = settings.target, Key(settings.seed)
    if isinstance(model, Config):
        return model.init(backend, key)
    return model if _is_bound(model) else model.bind(backend, key)


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
