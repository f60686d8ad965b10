"""Updates of the weights: clipping, accumulation, the weight average and weight decay."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from seqloom.errors import ArgumentError, RecordError
from seqloom.models import TorchModule
from seqloom.nn import GroupNorm, LayerNorm, Module, Param, RMSNorm
from seqloom.nn._batch_norm import BatchNorm
from seqloom.optim import AdamW, GradientsAccumulator, Optimizer, WeightAverage
from seqloom.record import Record
from seqloom.tensor import Gradients, Tensor

# The weight average in which all updates count the same.
EQUAL = "equal"
_NORMS = (BatchNorm, GroupNorm, LayerNorm, RMSNorm)
# Names of classes such as LlamaRMSNorm and BatchNorm3d; not of PreNorm, whose parameters
# belong to its parts.
_NORM_NAME = re.compile(r"Norm([123]d)?$")
# Torch names biases of attention and of recurrent layers bias_k, in_proj_bias, bias_ih_l0.
_BIAS_NAME = re.compile(r"(^|_)bias(_|$)")


@dataclass(frozen=True, slots=True)
class Update:
    """An optimiser that clips gradients first, and averages the weights afterwards.

    It has the methods of an optimiser that a compiled step needs.
    """

    optimizer: Optimizer
    clip_norm: float | None
    average: WeightAverage | None

    def step(self, lr: Any, model: Module, grads: Gradients) -> None:
        """Updates the weights and their average."""
        if self.clip_norm is not None:
            grads = grads.clip(self.clip_norm)
        self.optimizer.step(lr, model, grads)
        if self.average is not None:
            self.average.update(model)

    def leaves(self) -> tuple[Any, list[Any]]:
        """Returns what selects the program of a compiled step, and the arrays it writes."""
        static, leaves = self.optimizer.leaves()
        if self.average is None:
            return (self.clip_norm, static), leaves
        other, more = self.average.leaves()
        return (self.clip_norm, static, other), [*leaves, *more]


class Accumulation:
    """Weighted gradients of the batches since the last step, which takes their mean."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.batches = 0  # since the last step; those that overflowed in float16 count too
        self._weight = 0.0
        self._sums = GradientsAccumulator()

    @property
    def is_full(self) -> bool:
        """Whether the next step is due."""
        return self.batches >= self.size

    def step(self, weight: Any, model: Module, grads: Gradients) -> None:
        """Adds gradients; a compiled step calls this in place of an optimiser's step."""
        b = grads.backend
        arrays = {number: Tensor(grads.get(number), b) for number in grads}
        scaled = {n: it * _as_weight(weight, it) for n, it in arrays.items()}
        self._sums.accumulate(model, Gradients({n: t.raw for n, t in scaled.items()}, b))

    def leaves(self) -> tuple[Any, list[Any]]:
        """Returns what selects the program of a compiled step, and the arrays it writes."""
        return self._sums.leaves()

    def count(self, weight: float) -> None:
        """Counts a batch; one that was skipped has the weight 0."""
        self.batches += 1
        self._weight += weight

    def take(self, model: Module) -> Gradients | None:
        """Returns the weighted mean and resets the sums; None if all were skipped."""
        added, weight = self._sums.weight, self._weight
        self.batches, self._weight = 0, 0.0
        return self._sums.take(model).multiply(added / weight) if added else None

    def to_record(self) -> Record:
        """Returns the sums and the counts."""
        record = self._sums.to_record()
        record.metadata |= {"batches": self.batches, "weight": self._weight}
        return record

    def load_record(self, record: Any) -> Self:
        """Sets the sums and the counts."""
        batches, weight = (record.metadata.get(name) for name in ("batches", "weight"))
        if type(batches) is not int or not isinstance(weight, (int, float)):
            raise RecordError("the checkpoint lacks the counts of accumulated batches")
        self._sums.load_record(record)
        self.batches, self._weight = batches, float(weight)
        return self


def _as_weight(weight: Any, like: Tensor) -> Any:
    """Returns a weight as a number, or in a compiled step as a tensor of the same type."""
    return weight.astype(like.dtype) if isinstance(weight, Tensor) else weight


def check_average(optimizer: object, weight_average: object) -> None:
    """Refuses a weight average for an optimiser that averages already."""
    if weight_average is not None and hasattr(optimizer, "apply_average"):
        raise ArgumentError(
            f"{type(optimizer).__name__} averages the weights itself: leave out "
            "weight_average (--weight-average), or take another optimizer"
        )


def make_optimizer(model: Module, weight_decay: float) -> AdamW:
    """Makes the default optimiser; biases and normalisation have no weight decay."""
    with_one_scale: tuple[str, ...] = getattr(model, "one_scale", ())
    optimizer = AdamW(weight_decay=weight_decay)
    optimizer = optimizer.group(_list_undecayed(model), weight_decay=0.0)
    return optimizer.group(with_one_scale, one_scale=True)


def make_average(weight_average: float | str | None) -> dict[str, WeightAverage]:
    """Makes the weight average as an entry of the training state; empty without one."""
    if weight_average is None:
        return {}
    decay = None if isinstance(weight_average, str) else weight_average
    return {"weight_average": WeightAverage(decay)}


def make_accumulation(size: int) -> dict[str, Accumulation]:
    """Makes the sums of gradients, if a step uses several batches."""
    return {"accumulation": Accumulation(size)} if size > 1 else {}


def _list_undecayed(model: Module) -> tuple[str, ...]:
    """Lists vectors, biases and the parameters of normalisation layers, by path."""
    norms = {id(part) for part in _list_norm_parts(model)}
    return tuple(
        path
        for path, param in model.parameters()
        if len(param.shape) <= 1
        or _BIAS_NAME.search(path.rpartition(".")[2])
        or id(param) in norms
    )


def _list_norm_parts(model: Module) -> Iterator[Any]:
    """Yields the parameters that belong to a normalisation layer itself."""
    if isinstance(model, TorchModule):
        # The parameters of ours, by torch's names.
        for prefix, module in model.module.named_modules():
            if _NORM_NAME.search(type(module).__name__):
                names = (name for name, _ in module.named_parameters(recurse=False))
                paths = (f"{prefix}.{name}" if prefix else name for name in names)
                yield from (part for path in paths if (part := model.stored.get(path)))
        return
    for _, part in [("", model), *model.named(Module)]:
        if isinstance(part, _NORMS) or _NORM_NAME.search(type(part).__name__):
            yield from (value for value in vars(part).values() if isinstance(value, Param))
