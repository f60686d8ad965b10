"""Weight updates: learning rates, loss scale, clipping, accumulation and averaging."""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from statistics import mean
from typing import Any, Self

from seqloom.errors import GradientError, RecordError
from seqloom.models import Ensemble, TorchModule
from seqloom.models._ensemble import list_members
from seqloom.nn import GroupNorm, LayerNorm, Module, Param, RMSNorm
from seqloom.nn._batch_norm import BatchNorm
from seqloom.optim import (
    AdamW,
    GradientsAccumulator,
    LossScale,
    Optimizer,
    WarmupCosine,
    WeightAverage,
)
from seqloom.record import Record
from seqloom.tensor import Gradients, Tensor
from seqloom.train._settings import FitSettings, find_weight_decay
from seqloom.train._values import Epochs

# The fraction of steps in which the learning rate rises.
_WARMUP_SHARE = 0.1
# Epochs of the first round, and maximum number of rounds. Each further round doubles the
# number of epochs.
FIRST_ROUND = 20
_MAX_ROUNDS = 4
# Another round follows if the best epoch is in the last quarter of all epochs. The last
# round must also have lowered the validation loss by at least 2 % of the loss after epoch
# 1, because a smaller decrease changes few predictions.
_LATE_EPOCH_SHARE = 0.75
_MIN_FALL = 0.02
# If float16 overflows at a smaller loss scale than this, the network has diverged.
_MIN_LOSS_SCALE = 1.0
_NORM_LAYERS = (BatchNorm, GroupNorm, LayerNorm, RMSNorm)
# Matches the names of normalisation classes, such as LlamaRMSNorm and BatchNorm3d.
# PreNorm is not matched, because PreNorm is a block and not a normalisation layer.
_NORM_NAME = re.compile(r"Norm([123]d)?$")
# PyTorch has biases such as bias_k, in_proj_bias and bias_ih_l0.
_BIAS_NAME = re.compile(r"(^|_)bias(_|$)")


@dataclass(frozen=True, slots=True)
class Round:
    """Epochs from `start` to `end` - 1, in which the learning rate rises and falls once.

    A run has one round if the user or the network sets the number of epochs, or if there is
    no validation set (`ends_of_rounds`).
    """

    start: int
    end: int

    @classmethod
    def of(cls, epoch: int, ends: list[int]) -> "Round | None":
        """Return the round that contains an epoch; None after the last round."""
        rounds = (cls(start, end) for start, end in pairwise([0, *ends]))
        return next((found for found in rounds if epoch < found.end), None)


def make_rates(
    settings: FitSettings,
    current: Round,
    *,
    count_steps: Callable[[], int],
    history: list[dict[str, Any]],
) -> Callable[[int], float]:
    """Return the learning rates of the next epoch, as a function of the step in the run."""
    schedule: Any = settings.schedule
    if schedule is None:
        # Only the default schedule counts batches, which fails for a loader without a
        # length.
        count = count_steps()  # steps per epoch
        start, steps = current.start * count, (current.end - current.start) * count
        rates = WarmupCosine(settings.lr, round(_WARMUP_SHARE * steps), steps)
        # An epoch that was ended early, and skipped steps, make fewer steps than planned.
        return lambda step: rates(max(step - start, 0))
    # A schedule such as `Plateau` observes all losses in the history. Checkpoints
    # contain the history, so a resumed run has the same learning rates.
    if hasattr(schedule, "observe"):
        for row in history:
            schedule = schedule.observe(row.get("valid_loss", row["train_loss"]))
    return schedule


def ends_of_rounds(epochs: Epochs, history: list[dict[str, Any]]) -> list[int]:
    """Return the last epoch of each round so far; a budget may change them during a run."""
    most = _count_affordable(epochs.seconds, history)
    ends = [min(epochs.epochs or FIRST_ROUND, most)]
    if epochs.epochs is not None:
        return ends
    while (
        len(history) >= ends[-1]
        and len(ends) < _MAX_ROUNDS
        and 2 * ends[-1] <= most
        and _is_improving(history, ends)
    ):
        ends.append(2 * ends[-1])
    return ends


def _count_affordable(budget: float | None, history: list[dict[str, Any]]) -> int:
    """Return the number of epochs that fit into a budget of seconds, at least 1."""
    if budget is None or not history:
        return sys.maxsize
    # The first epoch is slower than the others, because the step is compiled.
    first, *others = (float(row["seconds"]) for row in history)
    each = max(mean(others) if others else first, 0.001)
    return 1 + int(max(budget - first, 0.0) / each)


def _is_improving(history: list[dict[str, Any]], ends: list[int]) -> bool:
    """Return whether the best epoch is late, and the last round lowered the loss enough."""
    if "valid_loss" not in history[0]:
        return False
    losses = [float(row["valid_loss"]) for row in history[: ends[-1]]]
    before = losses[: ends[-2] if len(ends) > 1 else 0]
    is_late = losses.index(min(losses)) + 1 > _LATE_EPOCH_SHARE * ends[-1]
    return is_late and min(before, default=inf) - min(losses) > _MIN_FALL * abs(losses[0])


def count_max_epochs(epochs: int | None, *, has_valid: bool) -> int:
    """Return the maximum number of epochs of a run."""
    if epochs is not None:
        return epochs
    return FIRST_ROUND * 2 ** (_MAX_ROUNDS - 1) if has_valid else FIRST_ROUND


def unscale_gradients(gradients: Gradients, scale: LossScale | None) -> Gradients | None:
    """Divide gradients by the loss scale; return None if the step must be skipped."""
    found = gradients if scale is None else scale.unscale(gradients)
    if found is None and scale is not None and scale.value < _MIN_LOSS_SCALE:
        raise GradientError(
            "the gradients are not finite in float16, even with a small loss scale; a "
            'lower lr (--lr) or precision="bfloat16" may help'
        )
    return found


@dataclass(frozen=True, slots=True)
class Update:
    """Wraps an optimiser to clip gradients and average weights.

    This class has all optimiser methods that a compiled step calls.
    """

    optimizer: Optimizer
    clip_norm: float | None
    average: WeightAverage | None

    def step(self, lr: float | Tensor, model: Module, grads: Gradients) -> None:
        if self.clip_norm is not None:
            grads = grads.clip(self.clip_norm)
        self.optimizer.step(lr, model, grads)
        if self.average is not None:
            self.average.update(model)

    def leaves(self) -> tuple[Any, list[Any]]:
        """Return a cache key for compiled programs, and the arrays that a step changes."""
        static, leaves = self.optimizer.leaves()
        if self.average is None:
            return (self.clip_norm, static), leaves
        other, more = self.average.leaves()
        return (self.clip_norm, static, other), [*leaves, *more]


class Accumulation:
    """Accumulates the gradients of batches to their weighted mean."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.batches = 0  # batches since the last step, including skipped ones
        self._weight = 0.0
        self._sums = GradientsAccumulator()

    @property
    def is_full(self) -> bool:
        """True if enough batches are accumulated for a step."""
        return self.batches >= self.size

    def step(self, weight: float | Tensor, model: Module, grads: Gradients) -> None:
        """Add gradients; compiled steps call this method like that of an optimiser."""
        b = grads.backend
        scaled = dict[int, Any]()
        for number in grads:
            array = Tensor(grads.get(number), b)
            # In a compiled step, the weight of a batch is also a tensor.
            is_tensor = isinstance(weight, Tensor)
            factor = weight.astype(array.dtype) if is_tensor else weight
            scaled[number] = (array * factor).raw
        self._sums.accumulate(model, Gradients(scaled, b))

    def leaves(self) -> tuple[Any, list[Any]]:
        """Return a cache key for compiled programs, and the arrays that a step changes."""
        return self._sums.leaves()

    def count(self, weight: float) -> None:
        """Count a batch; the weight of a skipped batch is 0."""
        self.batches += 1
        self._weight += weight

    def take(self, model: Module) -> Gradients | None:
        """Return the weighted mean and reset the sums; None if all batches were skipped."""
        added, weight = self._sums.weight, self._weight
        self.batches, self._weight = 0, 0.0
        return self._sums.take(model).multiply(added / weight) if added else None

    def to_record(self) -> Record:
        """Return the sums of gradients and the counts of batches, for a checkpoint."""
        record = self._sums.to_record()
        record.metadata |= {"batches": self.batches, "weight": self._weight}
        return record

    def load_record(self, record: Record) -> Self:
        """Restore the sums of gradients and the counts of batches from a checkpoint."""
        batches, weight = (record.metadata.get(name) for name in ("batches", "weight"))
        if type(batches) is not int or not isinstance(weight, (int, float)):
            raise RecordError("the checkpoint lacks the counts of accumulated batches")
        self._sums.load_record(record)
        self.batches, self._weight = batches, float(weight)
        return self


def make_optimizer(model: Module, decay: float | None) -> AdamW:
    """Return AdamW without weight decay of biases and normalisation layers.

    If `decay` is None, each member of an ensemble has its own default weight decay.
    """
    norms = {id(part) for part in _list_norm_parameters(model)}
    undecayed = tuple(
        path
        for path, param in model.parameters()
        if len(param.shape) <= 1
        or _BIAS_NAME.search(path.rpartition(".")[2])
        or id(param) in norms
    )
    optimizer, prefixes = AdamW(weight_decay=decay or 0.0), [""]
    if isinstance(model, Ensemble):
        prefixes = [f"members.{number}." for number in range(len(model.members))]
    parts = [
        (prefix, member, find_weight_decay(member) if decay is None else decay)
        for prefix, member in zip(prefixes, list_members(model), strict=True)
    ]
    # If several groups match a parameter, the last group applies.
    for prefix, _, own in parts if decay is None else ():
        optimizer = optimizer.group(f"{prefix}*", weight_decay=own)
    optimizer = optimizer.group(undecayed, weight_decay=0.0)
    for prefix, member, own in parts:
        scaled = tuple(f"{prefix}{it}" for it in getattr(member, "one_scale", ()))
        optimizer = optimizer.group(scaled, weight_decay=own, one_scale=True)
    return optimizer


def _list_norm_parameters(model: Module) -> Iterator[Any]:
    """Yield the parameters of normalisation layers."""
    if isinstance(model, TorchModule):
        # Modules that wrap PyTorch modules list their parameters under PyTorch's names.
        for prefix, module in model.module.named_modules():
            if _NORM_NAME.search(type(module).__name__):
                names = (name for name, _ in module.named_parameters(recurse=False))
                paths = (f"{prefix}.{name}" if prefix else name for name in names)
                yield from (part for path in paths if (part := model.stored.get(path)))
        return
    for _, part in [("", model), *model.named(Module)]:
        if isinstance(part, _NORM_LAYERS) or _NORM_NAME.search(type(part).__name__):
            yield from (value for value in vars(part).values() if isinstance(value, Param))
