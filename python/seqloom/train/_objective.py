"""What a step makes small: a loss of outputs and labels, or what a user's step returns."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np

from seqloom._key import Key
from seqloom.errors import ArgumentError, GradientError
from seqloom.infer._forward import Forward, label_name, tensors_of, to_tensor
from seqloom.models import Task, TorchModule
from seqloom.models._reads import as_plain
from seqloom.models._torch_module import to_torch
from seqloom.nn import value_and_grad
from seqloom.tensor import Tensor, scope
from seqloom.train._metrics import Metric, measure_all
from seqloom.train._precision import FULL, computing, widen

Loss: TypeAlias = Callable[[Any, Any], Any]
OwnStep: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """The loss of a batch: by the network's method and a loss, or by a user's step."""

    loss: Loss
    step: OwnStep | None = None
    encoder: Any = None
    task: Task | None = None  # whose loss it is; None if it is a user's
    is_custom: bool = False  # whether labels are no classes or values that we know
    precision: str = FULL  # of a step; validation computes in full precision

    def prepare(self, model: Any, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Puts what the loss needs of a batch on the network's backend, by name."""
        if self.step is not None:
            return tensors_of(model, batch, encoder=self.encoder, names=None)
        found = Forward.of(model).tensors(model, batch, self.encoder)
        name = label_name(batch)
        if name is None:
            raise ArgumentError(
                f"a batch has no labels among {', '.join(batch)}; name the array label, "
                "labels, y or target, or give step=function(model, batch, key)"
            )
        return found | {_LABELS: self._labels(model, batch[name])}

    def _labels(self, model: Any, labels: Any) -> Any:
        """Gives labels as the loss takes them."""
        if self.task is not None:
            return self.task.targets(np.asarray(labels))
        return to_tensor(model, as_array(labels)) if self.is_custom else labels

    @property
    def own(self) -> Callable[..., Any]:
        """The function that computes the loss: the step, or the loss of outputs."""
        if self.step is not None or self.task is None:
            return self.step or self.loss
        return self.task.loss_of_targets

    def __call__(self, model: Any, arrays: dict[str, Any], key: Any) -> tuple[Any, Any]:
        """Computes the loss, and the outputs or further numbers."""
        return self.compute(self.own, model, arrays, key=key)

    def compute(
        self, own: Callable[..., Any], model: Any, arrays: dict[str, Any], *, key: Any
    ) -> tuple[Any, Any]:
        """Computes the loss by the step or the loss of this objective."""
        if isinstance(model, TorchModule):
            return self._compute_torch(own, model, arrays, key=key)
        precision = self.precision if model.training else FULL
        with computing(precision):
            loss, extra = self._compute(own, model, arrays, key=key)
        return (loss if precision == FULL else widen(loss)), extra

    def _compute(
        self, own: Callable[..., Any], model: Any, arrays: dict[str, Any], *, key: Any
    ) -> tuple[Any, Any]:
        """Computes the loss of a network of ours, in whatever type it has."""
        if self.step is not None:
            return _call_step(own, model, arrays, key=key)
        inputs = {name: arrays[name] for name in arrays if name != _LABELS}
        outputs = Forward.of(model).call(model, inputs, key)
        return own(outputs, arrays[_LABELS]), outputs

    def _compute_torch(
        self,
        own: Callable[..., Any],
        model: TorchModule,
        arrays: dict[str, Any],
        *,
        key: Any,
    ) -> tuple[Any, Any]:
        """Computes the loss as torch does: a user's functions get torch's own objects."""
        if self.step is not None:
            raws = {name: to_torch(arrays[name]) for name in arrays}
            return _call_step(own, model.module, raws, key=key)
        inputs = {name: arrays[name] for name in arrays if name != _LABELS}
        outputs = Forward.of(model).call(model, inputs, key, name="compute")
        if self.task is not None:
            return to_torch(own(model.watch(outputs), arrays[_LABELS])), outputs
        labels = to_torch(to_tensor(model, as_array(arrays[_LABELS])))
        return own(outputs, labels), outputs

    def loss_of(self, model: Any, logits: Any, labels: Any) -> float:
        """Computes the loss of outputs of all records."""
        outputs = model.backend.tensor(logits)
        if isinstance(model, TorchModule) and self.task is None:
            outputs, labels = outputs.raw, to_torch(to_tensor(model, as_array(labels)))
        return float(self.loss(outputs, labels).item())


def _call_step(
    step: OwnStep, model: Any, arrays: dict[str, Any], *, key: Any
) -> tuple[Any, Any]:
    """Calls a user's step, which returns a loss, or a loss and something else."""
    is_tuple = [*arrays] == [str(position) for position in range(len(arrays))]
    batch = tuple(arrays.values()) if is_tuple else arrays
    found: Any = step(model, batch, key) if takes_key(step) else step(model, batch)
    pair = cast("tuple[Any, Any]", found if isinstance(found, tuple) else (found, None))
    loss, extra = pair
    if not hasattr(loss, "shape"):
        raise GradientError(
            f"step must return a loss, a tensor of one number, or (loss, outputs), got "
            f"{type(loss).__name__}"
        )
    if isinstance(extra, Mapping):  # numbers to look at, not to differentiate
        named = cast("Mapping[str, Any]", extra)
        extra = {name: _detach(named[name]) for name in named}
    return loss, extra


# Under this name labels go with the arrays that the network asks for.
_LABELS = "labels of the loss"


def _detach(value: Any) -> Any:
    """Gives the values of a tensor without what it was computed from."""
    return value.detach() if hasattr(value, "detach") else value


def takes_key(step: OwnStep) -> bool:
    """Says whether a step has a third parameter."""
    try:
        parameters = inspect.signature(step).parameters.values()
    except (TypeError, ValueError):  # of a function without a signature
        return True
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(it.kind in kinds for it in parameters)
    return count >= 3 or any(it.kind is it.VAR_POSITIONAL for it in parameters)  # noqa: PLR2004


def count_records(batch: Mapping[str, Any]) -> int:
    """Counts the records of a batch: the rows of its first array."""
    name = label_name(batch)
    values = [batch[name]] if name else [*batch.values()]
    return next((len(it) for it in values if hasattr(it, "__len__")), 1)


def numbers_of(extra: Any) -> dict[str, float]:
    """Gives the further numbers that a step returned by name; none of outputs."""
    if not isinstance(extra, Mapping):
        return {}
    found = cast("Mapping[str, Any]", extra)
    return {name: float(as_array(found[name])) for name in found}


def differentiate(
    objective: Callable[..., tuple[Any, Any]],
    model: Any,
    arrays: dict[str, Any],
    *,
    key: Key,
) -> tuple[Any, Any, Any]:
    """Computes loss, outputs and gradients, by our tape or by torch's."""
    if not isinstance(model, TorchModule):
        loss, extra, grads = value_and_grad(objective)(model, arrays, key)
        return loss, extra, grads
    with model.seeded(key):
        loss, extra = objective(model, arrays, key)
        return loss.detach(), _detach(extra), model.gradients_of(loss)


@dataclass(slots=True, kw_only=True)
class Judgement:
    """Measures a network batch by batch, as a user's loss or step sees it."""

    objective: Objective
    model: Any
    key: Key
    metrics: Mapping[str, Metric]
    records: int = 0
    _labels: list[Any] = field(default_factory=list[Any])
    _outputs: list[Any] = field(default_factory=list[Any])

    def measure(self, batches: Iterator[dict[str, Any]]) -> dict[str, float]:
        """Gives the mean loss and numbers over all records, and the metrics of outputs."""
        sums: dict[str, float] = {}
        for number, batch in enumerate(batches):
            count = count_records(batch)
            self.records += count
            with scope():
                found = self._measure_batch(batch, number)
            for name, value in found.items():
                sums[name] = sums.get(name, 0.0) + value * count
        means = {name: value / max(self.records, 1) for name, value in sums.items()}
        if not self.metrics:
            return means
        pair = np.concatenate(self._labels), np.concatenate(self._outputs)
        return means | measure_all(self.metrics, *pair)

    def _measure_batch(self, batch: dict[str, Any], number: int) -> dict[str, float]:
        """Gives the loss and the numbers of one batch; keeps what metrics need."""
        arrays = self.objective.prepare(self.model, batch)
        key = self.key.fold(number) if self.objective.step else None
        if isinstance(self.model, TorchModule):
            with self.model.evaluating(self.key.fold(number)):
                loss, extra = self.objective(self.model, arrays, key)
        else:
            loss, extra = self.objective(self.model, arrays, key)
        if self.metrics:
            self._outputs.append(_outputs_of(extra))
            self._labels.append(_labels_of(batch))
        return {"loss": float(as_array(loss)), **numbers_of(extra)}


def _outputs_of(extra: Any) -> Any:
    """Gives the outputs that metrics are computed of."""
    if extra is None or isinstance(extra, (Mapping, tuple)):
        raise ArgumentError(
            "metrics need the outputs of the network: let step return (loss, outputs)"
        )
    return as_array(extra)


def _labels_of(batch: Mapping[str, Any]) -> Any:
    """Gives the labels that metrics are computed of."""
    name = label_name(batch)
    if name is None:
        raise ArgumentError(
            f"metrics need labels, but the arrays of a batch are {', '.join(batch)}; name "
            "one label, labels, y or target"
        )
    return as_array(batch[name])


def as_array(value: Any) -> Any:
    """Gives a tensor of ours or of torch as NumPy's array."""
    if hasattr(value, "detach") and not isinstance(value, Tensor):
        value = as_plain(value.detach().cpu())
    return np.asarray(value)
