"""Arguments of `fit` that belong together, as values that check themselves."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from seqloom import optim
from seqloom._arguments import as_choice, as_flag, as_integer, as_number, as_path, quote
from seqloom._threads import check_threads
from seqloom.errors import ArgumentError
from seqloom.optim import Optimizer
from seqloom.tensor import Backend
from seqloom.tensor._dispatch import find_entry

Array: TypeAlias = NDArray[np.generic]
Metric: TypeAlias = "Callable[[Array, Array], float] | MetricObject"
Metrics: TypeAlias = Mapping[str, Metric] | Sequence[Metric] | None
ClassWeight: TypeAlias = Literal["balanced"] | Mapping[str, float] | Sequence[float] | None

LR = 1e-3  # by default
LOSS = "loss"  # the name of the loss in the history
FULL = "float32"
_TASKS = ("auto", "classify", "regress", "multilabel", "custom")
PRECISIONS = (FULL, "bfloat16", "float16")
EQUAL = "equal"  # the weight average in which all updates count the same


@runtime_checkable
class MetricObject(Protocol):
    """A metric that adds up what it is shown."""

    def update(self, labels: Array, scores: Array) -> Any:
        """Add the labels and scores of some records."""

    def compute(self) -> Any:
        """Return the metric of all records so far, one number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What a network learns, for the argument ``objective`` of `fit`.

    Args:
        task: ``"classify"``, ``"regress"``, ``"multilabel"``, or ``"custom"``: the labels
            are of any kind, and `loss` or `step` knows what they mean. ``"auto"``: what the
            labels of a dataset are; custom for arrays, loaders and where there is a `step`.
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
        class_weight: How much a record of each class counts: ``"balanced"`` gives every
            class the same sum. Or a dict by name, or one number a class.

    Examples:
        >>> import seqloom as sl
        >>> objective = sl.train.Objective(class_weight="balanced")
    """

    task: str = "auto"
    loss: Callable[[Any, Any], Any] | None = None
    step: Callable[..., Any] | None = None
    metrics: Metrics = None
    class_weight: ClassWeight = None

    def __post_init__(self) -> None:
        loss, step = self.loss, self.step
        if not (loss is None or callable(loss)):
            raise ArgumentError(
                f"loss must be a function loss(logits, labels), got {quote(loss)}; omit it "
                "to use the loss of the task"
            )
        if step is not None and (isinstance(step, type) or not callable(step)):
            raise ArgumentError(
                "step must be a function step(model, batch, key) -> loss, got "
                f"{quote(step)}"
            )
        if step is not None and loss is not None:
            raise ArgumentError("step computes the loss itself: leave out loss, or step")
        as_choice("task", self.task, _TASKS)
        if isinstance(self.class_weight, str) and self.class_weight != "balanced":
            raise ArgumentError(
                'class_weight must be "balanced", a dict from class to number, or one '
                f"number for each class, got {quote(self.class_weight)}"
            )
        list_metrics(self.metrics)


@dataclass(frozen=True, slots=True)
class Epochs:
    """How long a run is, for the argument ``epochs`` of `fit`.

    Args:
        epochs: How often every record is seen; by default what the network chooses, or 20
            times, and then rounds of 40 and 80 epochs while the validation loss still
            falls. Without a validation part there are no further rounds.
        early_stop: Stop after this number of epochs without a lower validation loss.

    Examples:
        >>> import seqloom as sl
        >>> epochs = sl.train.Epochs(100, early_stop=10)
    """

    epochs: int | None = None
    _: KW_ONLY
    early_stop: int | None = None

    def __post_init__(self) -> None:
        # NumPy's numbers become Python's, because a checkpoint holds them as JSON.
        for name in ("epochs", "early_stop"):
            if (count := getattr(self, name)) is not None:
                count = as_integer(spell_option(name), count, least=1)
                object.__setattr__(self, name, count)


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

    def __post_init__(self) -> None:
        for name in ("batch_size", "accumulate"):
            count = as_integer(spell_option(name), getattr(self, name), least=1)
            object.__setattr__(self, name, count)
        object.__setattr__(self, "drop_last", as_flag("drop_last", self.drop_last))


@dataclass(frozen=True, slots=True)
class Updates:
    """How gradients change the weights, for the argument ``optimizer`` of `fit`.

    Args:
        optimizer: An optimiser of `seqloom.optim`; None: AdamW. One that averages weights,
            as ``ScheduleFreeAdamW`` does, is judged and kept at its average.
        weight_decay: How much weights shrink, by default what the network chooses, or 0.01;
            biases and normalisation do not shrink. An optimiser of yours has its own.
        clip_norm: The largest norm of all gradients of a step together; larger ones are
            scaled down to it. None: any norm.
        weight_average: The decay of a running average of the weights, such as 0.999 (EMA),
            or ``"equal"`` for an average in which all steps count the same (SWA); the
            average is evaluated after each epoch and kept. Buffers, as of batch
            normalisation, are those of the last weights. None: the weights themselves.

    Examples:
        >>> import seqloom as sl
        >>> updates = sl.train.Updates(sl.optim.SGD(momentum=0.9), clip_norm=1.0)
    """

    optimizer: Optimizer | None = None
    _: KW_ONLY
    weight_decay: float | None = None
    clip_norm: float | None = None
    weight_average: float | Literal["equal"] | None = None

    def __post_init__(self) -> None:
        if self.clip_norm is not None:
            object.__setattr__(self, "clip_norm", as_positive("clip_norm", self.clip_norm))
        if self.weight_decay is not None:
            spelled, expected = spell_option("weight_decay"), "a number from 0"
            decay = as_number(spelled, self.weight_decay, expected=expected, least=0)
            object.__setattr__(self, "weight_decay", decay)
        if self.weight_average is not None:
            object.__setattr__(self, "weight_average", _as_average(self.weight_average))
        if self.optimizer is not None:
            self._check_optimizer(self.optimizer)

    def _check_optimizer(self, optimizer: Optimizer) -> None:
        """Refuse an optimiser of another kind, and settings that it makes useless."""
        if not isinstance(optimizer, Optimizer):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                "optimizer must be an optimiser such as sl.optim.SGD(momentum=0.9), got "
                f"{quote(optimizer)}{_instead_of(optimizer)}"
            )
        if self.weight_decay is not None:
            raise ArgumentError(
                "weight_decay is a setting of the default optimiser; give it to yours "
                f"instead: {type(optimizer).__name__}(weight_decay={self.weight_decay})"
            )
        if self.weight_average is not None and hasattr(optimizer, "apply_average"):
            raise ArgumentError(
                f"{type(optimizer).__name__} averages the weights itself: leave out "
                "weight_average (--weight-average), or take another optimizer"
            )


@dataclass(frozen=True, slots=True)
class Computation:
    """What computes a run, for the argument ``backend`` of `fit`.

    Args:
        backend: The array library that computes, and its device, such as ``torch:cuda``. A
            name or a backend.
        precision: The type in which a training step computes products; half precision
            needs a backend and a processor with instructions for it. As with
            `seqloom.tensor.autocast`, weights, gradients, sums and validation stay float32.
            float16 multiplies the loss by a `LossScale`, which is in the checkpoint, and
            does not compile the step, because it may be skipped.
        compile: Make one program of forward, backward and update, or do not; by default
            where the run is then shorter. ``"auto"`` compiles on NumPy from 200 steps on,
            and on JAX: for records of one length, and not for a network, optimiser, loss
            or `step` of the user's, whose Python code would run once only. The last bits
            of the weights may differ; a run that is resumed does as it did before.
        num_threads: Threads to use; None or 0: as many as the machine allows.

    Examples:
        >>> import seqloom as sl
        >>> computation = sl.train.Computation("torch:cuda", precision="bfloat16")
    """

    backend: str | Backend = "numpy"
    _: KW_ONLY
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    compile: bool | Literal["auto"] = "auto"
    num_threads: int | None = None

    def __post_init__(self) -> None:
        if self.compile != "auto" and type(self.compile) is not bool:
            raise ArgumentError(
                f'compile must be True, False or "auto", got {quote(self.compile)}'
            )
        as_choice("precision", self.precision, PRECISIONS)
        if isinstance(self.backend, str):
            find_entry(self.backend.partition(":")[0])
        if self.num_threads is not None:
            object.__setattr__(self, "num_threads", check_threads(self.num_threads))


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where a run is written, for the argument ``out`` of `fit`.

    Args:
        out: The run folder; None keeps everything in memory.
        overwrite: Replace the run that the folder holds; files that are no run's stay.
        checkpoint_every: When checkpoints are written within an epoch: a number of steps
            of the run, a time such as ``"90s"``, ``"10min"`` or ``"2h"``, or ``"epoch"``
            for none; by default a minute after the last one. It is later where writing
            would take more than 2 % of the time. Each epoch ends with one, and so does a
            run that is stopped by Ctrl-C or SIGTERM.
        keep: The number of checkpoints that stay. With 2 or more each is also
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

    def __post_init__(self) -> None:
        if self.out is not None:
            path = as_path("out", self.out, expected="a folder's path")
            object.__setattr__(self, "out", path)
        Interval.of(self.checkpoint_every)
        object.__setattr__(self, "keep", as_integer("keep (--keep)", self.keep, least=1))
        for name in ("overwrite", "report"):
            object.__setattr__(self, name, as_flag(name, getattr(self, name)))

    @property
    def path(self) -> Path | None:
        """The run folder; None keeps everything in memory."""
        return None if self.out is None else Path(self.out)


@dataclass(frozen=True, slots=True)
class Interval:
    """How many steps, or how much time, lie between two checkpoints of an epoch."""

    steps: int | None = None
    seconds: float | None = None
    share: float | None = None  # of the time that writing may take

    @classmethod
    def of(cls, every: int | str | None) -> Self:
        """Read the field ``checkpoint_every`` of a `RunFolder`."""
        if every is None:
            return cls(seconds=60.0, share=0.02)
        if every == "epoch":
            return cls()
        if isinstance(every, str):
            match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(s|min|h)", every.strip())
            if match is not None and float(match[1]):
                unit = {"s": 1.0, "min": 60.0, "h": 3600.0}[match[2]]
                return cls(seconds=float(match[1]) * unit)
        else:
            with suppress(ArgumentError):
                return cls(steps=as_integer("checkpoint_every", every, least=1))
        raise ArgumentError(
            "checkpoint_every (--checkpoint-every) must be a number of steps (500), a time "
            '("90s", "10min", "2h") or "epoch" (at the end of epochs only), got '
            f"{quote(every)}"
        )

    def is_over(self, step: int, elapsed: float, cost: float) -> bool:
        """Return whether the next checkpoint is due; `cost` is what the last one took."""
        if self.steps is not None:
            return step % self.steps == 0
        if self.seconds is None:
            return False
        rest = cost / self.share if self.share else 0.0
        return elapsed >= max(self.seconds, rest)


def spell_option(name: str) -> str:
    """Name an argument as Python and the command line know it."""
    return f"{name} (--{name.replace('_', '-')})"


def as_positive(name: str, value: float) -> float:
    """Check a number that must be above 0."""
    number = as_number(spell_option(name), value, expected="a number above 0")
    if not number > 0:
        raise ArgumentError(f"{spell_option(name)} must be a number above 0, got {number}")
    return number


def _as_average(value: float | str) -> float | str:
    """Check the decay of the weight average."""
    spelled = spell_option("weight_average")
    expected, found = f"a number from 0 to below 1, or {EQUAL!r}", quote(value)
    if value == EQUAL:
        return EQUAL
    if not isinstance(value, str):
        decay = as_number(spelled, value, expected=expected, least=0)
        if decay < 1:
            return decay
        found = f"{decay}"
    raise ArgumentError(f"{spelled} must be {expected}, got {found}")


def _instead_of(optimizer: object) -> str:
    """Say what to pass instead of an optimiser of torch, and of a class."""
    kind = optimizer if isinstance(optimizer, type) else type(optimizer)
    is_ours = issubclass(kind, optim.Optimizer)
    if not (is_ours or any(it.__module__.startswith("torch.optim") for it in kind.__mro__)):
        return ""
    name = {"RMSprop": "RMSProp", "Adagrad": "AdaGrad"}.get(kind.__name__, kind.__name__)
    made = f"sl.optim.{name}()" if hasattr(optim, name) else "one of seqloom.optim"
    return f"; pass optimizer={made} with its settings, and the learning rate as lr= of fit"


def list_metrics(metrics: Metrics) -> dict[str, Metric]:
    """List metrics by name; those of a list have their own names."""
    if metrics is None or isinstance(metrics, Mapping):
        found = dict(metrics or {})
    elif isinstance(metrics, (list, tuple)):
        found = {getattr(it, "__name__", type(it).__name__): it for it in metrics}
        if len(found) < len(metrics):
            raise ArgumentError(
                "two of metrics have the same name; give a dict from name to metric"
            )
    else:
        raise ArgumentError(
            'metrics must be a dict such as {"f1": function}, or a list of functions, '
            f"got {quote(metrics)}"
        )
    if LOSS in found:
        raise ArgumentError(
            "a metric cannot be named 'loss': the history holds the loss of the network "
            "under this name, and it chooses the best epoch; give the metric another name"
        )
    for name, metric in found.items():
        is_metric = isinstance(metric, MetricObject) or callable(metric)
        if isinstance(metric, type) or not is_metric:
            raise ArgumentError(
                f"the metric {name!r} must be a function (labels, scores) -> number, or an "
                f"object with update(labels, scores) and compute(), got {quote(metric)}"
            )
    return found
