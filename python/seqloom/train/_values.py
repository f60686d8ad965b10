"""Arguments of `fit` that belong together, as values, and its older keywords."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from difflib import get_close_matches
from typing import Any, TypeAlias

from seqloom._warning import warn_user
from seqloom.errors import ArgumentError
from seqloom.optim import Optimizer
from seqloom.tensor import Backend
from seqloom.train._judged import Metrics

ClassWeight: TypeAlias = str | Mapping[str, float] | Sequence[float] | None

LR = 1e-3  # the learning rate by default
# What other libraries call an argument of `fit`, or a field of one.
_NAMES = {
    "accumulate_grad_batches": "accumulate",
    "ema_decay": "weight_average",
    "gradient_accumulation_steps": "accumulate",
    "gradient_clip_val": "clip_norm",
    "max_grad_norm": "clip_norm",
    "criterion": "loss",
    "device": "backend",
    "learning_rate": "lr",
    "loss_fn": "loss",
    "max_epochs": "epochs",
    "num_epochs": "epochs",
    "output_dir": "out",
    "patience": "early_stop",
    "random_state": "seed",
    "threads": "num_threads",
    "val": "valid",
    "validation_data": "valid",
    "verbose": "progress",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What a network learns, for the argument ``objective`` of `fit`.

    Args:
        task: ``"classify"``, ``"regress"``, ``"multilabel"``, or ``"custom"``: the labels
            are of any kind, and `loss` or `step` knows what they mean. ``"auto"``: what
            the labels of a dataset are; custom for arrays, loaders and where there is a
            `step`.
        loss: ``loss(logits, labels)`` instead of the task's own. Labels are the array
            ``label``, ``labels``, ``y`` or ``target``.
        step: ``step(model, batch, key)`` instead of the network's method and a loss. It
            gets the network, all arrays of the batch as tensors by name (a tuple where the
            data are tuples), and a random key. It returns the loss; or a tuple of the loss
            and the outputs, of which `metrics` are computed; or of the loss and a dict of
            further numbers, whose means stand in the history. In validation the network is
            in evaluation mode.
        metrics: Further measures of the validation and the test part, by name: functions
            ``(labels, scores) -> number``, or objects with ``update(labels, scores)`` and
            ``compute()``. Scores are what the task makes of logits. A list of functions
            takes their own names.
        class_weight: What a record of each class counts: ``"balanced"``, a dict by name,
            or one number a class.

    Examples:
        >>> import seqloom as sl
        >>> objective = sl.train.Objective(class_weight="balanced")
    """

    task: str = "auto"
    loss: Callable[[Any, Any], Any] | None = None
    step: Callable[..., Any] | None = None
    metrics: Metrics = None
    class_weight: ClassWeight = None


@dataclass(frozen=True, slots=True)
class Epochs:
    """How long a run is, for the argument ``epochs`` of `fit`.

    Args:
        epochs: How often every record is seen. None: what the network chooses, or 20
            times; then, with a validation part, rounds of 40 and 80 epochs follow while its
            loss still falls.
        early_stop: Stop after this number of epochs without a lower validation loss.

    Examples:
        >>> import seqloom as sl
        >>> epochs = sl.train.Epochs(100, early_stop=10)
    """

    epochs: int | None = None
    _: KW_ONLY
    early_stop: int | None = None


@dataclass(frozen=True, slots=True)
class Batches:
    """The records of a step, for the argument ``batch_size`` of `fit`.

    Args:
        batch_size: The number of records in a batch.
        drop_last: Leave out the last batch of an epoch if it is smaller than the others.
        accumulate: The number of batches whose gradients make one step. The step is that
            of one batch of all their records, but for batch normalisation, whose statistics
            are those of each batch. The last step of an epoch may take fewer batches.

    Examples:
        >>> import seqloom as sl
        >>> batches = sl.train.Batches(16, accumulate=4)
    """

    batch_size: int = 64
    _: KW_ONLY
    drop_last: bool = False
    accumulate: int = 1


@dataclass(frozen=True, slots=True)
class Updates:
    """How gradients change the weights, for the argument ``optimizer`` of `fit`.

    Args:
        optimizer: An optimiser of `seqloom.optim`; None: AdamW. One that averages weights,
            as ``ScheduleFreeAdamW`` does, is judged and kept at its average.
        weight_decay: The weight decay; biases and normalisation have none. None: what the
            network chooses, or 0.01. An optimiser of yours has its own.
        clip_norm: The largest norm of all gradients of a step together; larger ones are
            scaled down to it. None: any norm.
        weight_average: The decay of a running average of the weights, such as 0.999 (EMA),
            or ``"equal"``, an average in which all steps count the same (SWA). The average
            is evaluated after each epoch and kept; buffers, as of batch normalisation, are
            those of the last weights. None: the weights themselves.

    Examples:
        >>> import seqloom as sl
        >>> updates = sl.train.Updates(sl.optim.SGD(momentum=0.9), clip_norm=1.0)
    """

    optimizer: Optimizer | None = None
    _: KW_ONLY
    weight_decay: float | None = None
    clip_norm: float | None = None
    weight_average: float | str | None = None


@dataclass(frozen=True, slots=True)
class Computation:
    """What computes a run, for the argument ``backend`` of `fit`.

    Args:
        backend: The array library that computes, and its device: a name or a backend.
        precision: ``"bfloat16"`` or ``"float16"`` computes products of a training step in
            half precision, as `seqloom.tensor.autocast` does: weights, gradients, sums and
            validation stay in float32. float16 multiplies the loss by a `LossScale`, which
            is in the checkpoint, and does not compile the step, because it may be skipped.
        compile: Whether forward, backward and update are one program, as
            ``seqloom.tensor.compile`` makes it. ``"auto"``: where the run is then shorter,
            on NumPy from 200 steps on and on JAX; for records of one length, and not for a
            network, optimiser, loss or `step` of the user's, whose Python code would run
            once only. The last bits of the weights may
            differ; a run that is resumed does as it did before.
        num_threads: The threads to use; default: what the machine allows.

    Examples:
        >>> import seqloom as sl
        >>> computation = sl.train.Computation("torch:cuda", precision="bfloat16")
    """

    backend: str | Backend = "numpy"
    _: KW_ONLY
    precision: str = "float32"
    compile: bool | str = "auto"
    num_threads: int | None = None


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where a run is written, for the argument ``out`` of `fit`.

    Args:
        out: The run folder; None keeps everything in memory.
        overwrite: Replace the run in ``out``.
        checkpoint_every: When checkpoints are written within an epoch: a number of steps
            of the run, a time such as ``"90s"``, ``"10min"`` or ``"2h"``, or ``"epoch"``
            for none. None: a minute after the last one, later where writing would take
            more than 2 % of the time. Each epoch ends with one, and so does a run that is
            stopped by Ctrl-C or SIGTERM.
        keep: How many checkpoints stay in ``out``. With 2 or more each is also
            ``checkpoint/step-00000120.safetensors``, and that of the best epoch stays too.
        report: Draw the pictures and ``report.html``. Without, the run's ``report`` can be
            changed first and written by ``seqloom.report.write_report``.

    Examples:
        >>> import seqloom as sl
        >>> folder = sl.train.RunFolder("runs/splice", checkpoint_every="10min", keep=3)
    """

    out: str | os.PathLike[str] | None = None
    _: KW_ONLY
    overwrite: bool = False
    checkpoint_every: int | str | None = None
    keep: int = 1
    report: bool = True


# The arguments that may be given as one of these values.
_KINDS: dict[str, type[Any]] = {
    "objective": Objective,
    "epochs": Epochs,
    "batch_size": Batches,
    "optimizer": Updates,
    "backend": Computation,
    "out": RunFolder,
}
# The fields that were arguments of `fit` before, with the argument that has them now.
_MOVED = {
    field.name: argument
    for argument, kind in _KINDS.items()
    for field in fields(kind)
    if field.name != argument
}


def read_arguments(plain: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """Returns all settings by name: of the arguments of `fit`, and of older keywords."""
    _check_known(old, plain)
    found: dict[str, Any] = {"schedule": None}
    for argument, given in plain.items():
        if (kind := _KINDS.get(argument)) is None:
            found[argument] = given
            continue
        value = given if isinstance(given, kind) else _as_value(kind, given)
        found |= {field.name: getattr(value, field.name) for field in fields(kind)}
    if callable(found["lr"]):
        found |= {"lr": LR, "schedule": found["lr"]}
    for name, value in old.items():
        argument = _MOVED.get(name, "lr")
        if isinstance(plain[argument], _KINDS.get(argument, Callable)):
            raise ArgumentError(
                f"{argument}= and {name}= contradict each other: write {_spell(name)} alone"
            )
        warn_user(
            f"fit({name}=...) will go with the next version; write {_spell(name)}",
            DeprecationWarning,
        )
        found[name] = value
    return found


def _as_value(kind: type[Any], plain: Any) -> Any:
    """Makes the value of its plain form, such as a number of epochs."""
    if kind is not Objective:
        return kind(plain)
    return Objective(loss=plain) if callable(plain) else Objective(task=plain)


def _spell(name: str) -> str:
    """Spells an older keyword as it is given now."""
    if name == "schedule":
        return "lr=schedule"
    argument = _MOVED[name]
    return f"{argument}=sl.train.{_KINDS[argument].__name__}({name}=...)"


def _check_known(old: Mapping[str, Any], plain: Mapping[str, Any]) -> None:
    """Refuses an argument that `fit` never had, and names the nearest one."""
    names = ["model", "train", "valid", *plain, *_MOVED]
    for name in old:
        if name in _MOVED or name == "schedule":
            continue
        near = [_NAMES[name]] if name in _NAMES else get_close_matches(name, names, n=1)
        if not near:
            hint = f"it takes {', '.join(['model', 'train', 'valid', *plain])}"
        elif near[0] in _MOVED:
            hint = f"did you mean {_spell(near[0])}?"
        else:
            hint = f"did you mean {near[0]}=?"
        raise TypeError(f"fit() has no argument {name}=; {hint}")
