"""Classes that combine arguments of `fit` and check their values."""

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
from seqloom._arguments import as_bool, as_choice, as_integer, as_number, as_path, quote
from seqloom._threads import check_threads
from seqloom.errors import ArgumentError
from seqloom.optim import Optimizer
from seqloom.tensor import Backend
from seqloom.tensor._dispatch import find_entry_point

Array: TypeAlias = NDArray[np.generic]
Metric: TypeAlias = "Callable[[Array, Array], float] | MetricObject"
Metrics: TypeAlias = Mapping[str, Metric] | Sequence[Metric] | None
ClassWeight: TypeAlias = Literal["balanced"] | Mapping[str, float] | Sequence[float] | None

DEFAULT_LR = 1e-3
LOSS_NAME = "loss"  # the name of the loss in the history of a run
DEFAULT_PRECISION = "float32"
_TASK_NAMES = ("auto", "classify", "regress", "multilabel", "profile", "custom")
PRECISIONS = (DEFAULT_PRECISION, "bfloat16", "float16")
EQUAL_AVERAGE = "equal"  # the weights of all updates are averaged equally


@runtime_checkable
class MetricObject(Protocol):
    """Interface of a metric that accumulates labels and scores."""

    def update(self, labels: Array, scores: Array) -> Any:
        """Add the labels and scores of some records."""

    def compute(self) -> Any:
        """Return the metric of all records added so far, as one number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """The task and the loss of a network, for the argument ``objective`` of `fit`.

    Args:
        task: ``"classify"``, ``"regress"``, ``"multilabel"``, ``"profile"`` for tracks,
            or ``"custom"``, which accepts labels of any kind and needs a `loss` or
            `step`. ``"auto"`` infers the task from the labels of a dataset; for arrays,
            for loaders and with a `step`, the task is ``"custom"``.
        loss: A function ``loss(logits, labels)`` that replaces the loss of the task. The
            labels are the array ``label``, ``labels``, ``y`` or ``target`` of the batch.
        step: A function ``step(model, batch, key)`` that calls the network and computes the
            loss. The batch is a dict of tensors (or a tuple, if the data are tuples),
            and ``key`` is the seed of random numbers. The function returns the loss,
            ``(loss, outputs)`` with the outputs for `metrics`, or ``(loss, numbers)``.
            ``numbers`` is a dict from name to number; the mean of each number is added to
            the history.
        metrics: Further metrics of the validation and test sets, by name: functions
            ``(labels, scores) -> number``, or objects with ``update(labels, scores)`` and
            ``compute()``. Scores are predictions, not logits. In a list, metrics have
            the names of the functions.
        class_weight: The weight of each class: a dict by name, a sequence of numbers, or
            ``"balanced"`` for equal total weights.
        count_weight: The weight of the count loss of tracks (see `profile_loss`). By
            default, a tenth of the median count of the training regions, at least 1.
        baselines: If True, also fit simple models on the training set after the network,
            and compare the network with them on the validation and test sets. See
            `Baseline`.
        stranded: True if the strand of DNA matters, as for splice sites. ``fit("auto")``
            then trains no network that reads both strands.

    Examples:
        >>> import seqloom as sl
        >>> objective = sl.train.Objective(class_weight="balanced")
    """

    task: str = "auto"
    loss: Callable[[Any, Any], Any] | None = None
    step: Callable[..., Any] | None = None
    metrics: Metrics = None
    class_weight: ClassWeight = None
    count_weight: float | None = None
    baselines: bool = True
    stranded: bool = False

    def __post_init__(self) -> None:
        as_bool("baselines", self.baselines)
        as_bool("stranded", self.stranded)
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
            raise ArgumentError("step computes the loss itself; leave out loss or step")
        as_choice("task", self.task, _TASK_NAMES)
        if isinstance(self.class_weight, str) and self.class_weight != "balanced":
            raise ArgumentError(
                'class_weight must be "balanced", a dict from class to number, or one '
                f"number for each class, got {quote(self.class_weight)}"
            )
        if self.count_weight is not None:
            as_number("count_weight", self.count_weight, expected="0 or more", least=0.0)
        list_metrics(self.metrics)


@dataclass(frozen=True, slots=True)
class Epochs:
    """The number of epochs of a run, for the argument ``epochs`` of `fit`.

    Args:
        epochs: The number of passes over the training set. If None, the network's default
            is used. A network without a default is trained for 20 epochs. With a
            validation set, rounds of 20, 40 and 80 further epochs follow while the
            validation loss still falls.
        early_stop: Stop after this number of epochs without a lower validation loss.
        budget: The maximum duration of training in seconds, or a text such as ``"90s"``,
            ``"2m"`` or ``"1h"``. The number of epochs is reduced so that training ends in
            time; at least one epoch is trained. With a budget, another machine may train
            another number of epochs.

    Examples:
        >>> import seqloom as sl
        >>> epochs = sl.train.Epochs(100, early_stop=10)
        >>> sl.train.Epochs(budget="2m").seconds
        120.0
    """

    epochs: int | None = None
    _: KW_ONLY
    early_stop: int | None = None
    budget: float | str | None = None

    def __post_init__(self) -> None:
        # Convert NumPy integers, because a checkpoint saves the fields as JSON.
        for name in ("epochs", "early_stop"):
            if (count := getattr(self, name)) is not None:
                count = as_integer(format_option(name), count, least=1)
                object.__setattr__(self, name, count)
        if isinstance(self.budget, str):
            if not self.seconds:
                raise ArgumentError(
                    'budget (--budget) must be a time such as "90s", "2m" or "1h", got '
                    f"{quote(self.budget)}"
                )
        elif self.budget is not None:
            object.__setattr__(self, "budget", as_positive("budget", self.budget))

    @property
    def seconds(self) -> float | None:
        """The budget in seconds, or None."""
        return _parse_time(self.budget) if isinstance(self.budget, str) else self.budget


@dataclass(frozen=True, slots=True)
class Batches:
    """The number of records in a step, for the argument ``batch_size`` of `fit`.

    Args:
        batch_size: The number of records in a batch.
        drop_last: If True, skip the last batch of an epoch if it is not full.
        accumulate: The number of batches whose gradients are summed into one step. A step
            of several batches equals the step of one large batch, except that batch
            normalisation uses the statistics of each batch. The last step of an epoch may
            have fewer batches.

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
            count = as_integer(format_option(name), getattr(self, name), least=1)
            object.__setattr__(self, name, count)
        object.__setattr__(self, "drop_last", as_bool("drop_last", self.drop_last))


@dataclass(frozen=True, slots=True)
class Updates:
    """Settings of the weight update, for the argument ``optimizer`` of `fit`.

    Args:
        optimizer: An optimiser of `seqloom.optim`; if None, AdamW. If the optimiser
            averages the weights (``ScheduleFreeAdamW``), the average is evaluated and
            saved.
        weight_decay: The weight decay of the default optimiser. If None, the network's
            default is used; the weight decay of a network without a default is 0.01.
            Biases and normalisation layers have no weight decay.
        clip_norm: The maximum norm of all gradients of a step taken together; gradients
            with a larger norm are scaled down. If `clip_norm` is None, the norm has no
            limit.
        weight_average: The decay of a running average of the weights, such as 0.999 (EMA),
            or ``"equal"`` for the mean over all steps (SWA). The average is evaluated and
            saved. Buffers (batch normalisation) are not averaged.

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
            spelled, expected = format_option("weight_decay"), "a number from 0"
            decay = as_number(spelled, self.weight_decay, expected=expected, least=0)
            object.__setattr__(self, "weight_decay", decay)
        if self.weight_average is not None:
            object.__setattr__(self, "weight_average", _as_average(self.weight_average))
        if self.optimizer is not None:
            self._check_optimizer(self.optimizer)

    def _check_optimizer(self, optimizer: Optimizer) -> None:
        """Raise if the optimiser is not from seqloom, or conflicts with another setting."""
        if not isinstance(optimizer, Optimizer):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                "optimizer must be an optimiser such as sl.optim.SGD(momentum=0.9), got "
                f"{quote(optimizer)}{_optimizer_advice(optimizer)}"
            )
        if self.weight_decay is not None:
            raise ArgumentError(
                "weight_decay is a setting of the default optimiser; set it in your "
                f"optimiser: {type(optimizer).__name__}(weight_decay={self.weight_decay})"
            )
        if self.weight_average is not None and hasattr(optimizer, "apply_average"):
            raise ArgumentError(
                f"{type(optimizer).__name__} averages the weights itself: leave out "
                "weight_average (--weight-average), or use another optimizer"
            )


@dataclass(frozen=True, slots=True)
class Computation:
    """The backend and its precision, for the argument ``backend`` of `fit`.

    Args:
        backend: A backend, or its name with a device, such as ``torch:cuda``.
        precision: The dtype of matrix products in a training step. Not all backends and
            processors support half precision. As with `seqloom.tensor.autocast`,
            weights, gradients, sums and validation remain float32. With float16,
            training uses a `LossScale`, and steps cannot be compiled.
        compile: If True, compile forward, backward and update into one program.
            ``"auto"`` compiles on JAX, and on NumPy if a run has at least 200 steps.
            Automatic compilation requires records of one length. Custom networks,
            optimisers, losses and steps disable automatic compilation, because their
            Python code would run only once. The last bits of the weights may change. A
            resumed run keeps its previous choice.
        num_threads: The number of threads; by default (None or 0) all available CPU
            cores.

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
            find_entry_point(self.backend.partition(":")[0])
        if self.num_threads is not None:
            object.__setattr__(self, "num_threads", check_threads(self.num_threads))


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of a run and its checkpoints, for the argument ``out`` of `fit`.

    Args:
        out: The run folder; if None, no files are written.
        overwrite: If True, replace the run in the folder, but no other files.
        checkpoint_every: The interval between checkpoints within an epoch: a number of
            steps, or a time such as ``"90s"``, ``"10min"`` or ``"2h"``. ``"epoch"`` writes
            checkpoints only at the end of epochs. The default is one minute, or longer if
            writing checkpoints takes more than 2 % of the time. A checkpoint is also
            written after each epoch, and on Ctrl-C and SIGTERM.
        keep: The number of checkpoints to keep. With 2 or more, the folder contains files
            such as ``checkpoint/step-00000120.safetensors``; the checkpoint of the best
            epoch is always kept.
        report: If True, write ``report.html`` and its pictures into the folder.

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
            object.__setattr__(self, name, as_bool(name, getattr(self, name)))

    @property
    def path(self) -> Path | None:
        """The run folder; if None, no files are written."""
        return None if self.out is None else Path(self.out)


@dataclass(frozen=True, slots=True)
class Interval:
    """The number of steps, or the time, between two checkpoints of an epoch."""

    steps: int | None = None
    seconds: float | None = None
    share: float | None = None  # maximum fraction of the time spent writing checkpoints

    @classmethod
    def of(cls, every: int | str | None) -> Self:
        """Parse `checkpoint_every`."""
        if every is None:
            return cls(seconds=60.0, share=0.02)
        if every == "epoch":
            return cls()
        if isinstance(every, str):
            if seconds := _parse_time(every):
                return cls(seconds=seconds)
        else:
            with suppress(ArgumentError):
                return cls(steps=as_integer("checkpoint_every", every, least=1))
        raise ArgumentError(
            "checkpoint_every (--checkpoint-every) must be a number of steps (500), a time "
            '("90s", "10min", "2h") or "epoch" (at the end of epochs only), got '
            f"{quote(every)}"
        )

    def is_over(self, step: int, elapsed: float, cost: float) -> bool:
        """Return whether to write a checkpoint, given that the last took `cost` seconds."""
        if self.steps is not None:
            return step % self.steps == 0
        if self.seconds is None:
            return False
        rest = cost / self.share if self.share else 0.0
        return elapsed >= max(self.seconds, rest)


def _parse_time(text: str) -> float:
    """Return the seconds of a time such as "90s" or "2m"; 0 if the text is not a time."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(s|m|min|h)", text.strip())
    if match is None:
        return 0.0
    return float(match[1]) * {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}[match[2]]


def format_option(name: str) -> str:
    """Return the name of an argument in Python and on the command line."""
    return f"{name} (--{name.replace('_', '-')})"


def as_positive(name: str, value: float) -> float:
    """Return a number; raise if it is not above 0."""
    number = as_number(format_option(name), value, expected="a number above 0")
    if not number > 0:
        raise ArgumentError(f"{format_option(name)} must be a number above 0, got {number}")
    return number


def _as_average(value: float | str) -> float | str:
    """Return the decay of the weight average; raise if the decay is invalid."""
    spelled = format_option("weight_average")
    expected, found = f"a number from 0 to below 1, or {EQUAL_AVERAGE!r}", quote(value)
    if value == EQUAL_AVERAGE:
        return EQUAL_AVERAGE
    if not isinstance(value, str):
        decay = as_number(spelled, value, expected=expected, least=0)
        if decay < 1:
            return decay
        found = f"{decay}"
    raise ArgumentError(f"{spelled} must be {expected}, got {found}")


def _optimizer_advice(optimizer: object) -> str:
    """Return advice if the optimiser is a PyTorch optimiser, or a class."""
    kind = optimizer if isinstance(optimizer, type) else type(optimizer)
    is_ours = issubclass(kind, optim.Optimizer)
    if not (is_ours or any(it.__module__.startswith("torch.optim") for it in kind.__mro__)):
        return ""
    name = {"RMSprop": "RMSProp", "Adagrad": "AdaGrad"}.get(kind.__name__, kind.__name__)
    made = f"sl.optim.{name}()" if hasattr(optim, name) else "one of seqloom.optim"
    return f"; pass optimizer={made} with its settings, and the learning rate as lr= of fit"


def list_metrics(metrics: Metrics) -> dict[str, Metric]:
    """Return metrics by name; for a list, by the names of the functions."""
    if metrics is None or isinstance(metrics, Mapping):
        found = dict(metrics or {})
    elif isinstance(metrics, (list, tuple)):
        found = {getattr(it, "__name__", type(it).__name__): it for it in metrics}
        if len(found) < len(metrics):
            raise ArgumentError(
                "two metrics have the same name; pass a dict from name to metric"
            )
    else:
        raise ArgumentError(
            'metrics must be a dict such as {"f1": function}, or a list of functions, '
            f"got {quote(metrics)}"
        )
    if any(re.fullmatch(rf"{LOSS_NAME}(_\d+)?", name) for name in found):
        raise ArgumentError(
            "a metric cannot be named 'loss' or 'loss_1', because the history uses these "
            "names for the losses of the networks; rename the metric"
        )
    for name, metric in found.items():
        is_metric = isinstance(metric, MetricObject) or callable(metric)
        if isinstance(metric, type) or not is_metric:
            raise ArgumentError(
                f"the metric {name!r} must be a function (labels, scores) -> number, or an "
                f"object with update(labels, scores) and compute(), got {quote(metric)}"
            )
    return found
