"""The loss of a batch, by a loss function or a user's step, and its gradients."""

import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from traceback import extract_tb
from typing import Any, TypeAlias, cast

import numpy as np

from seqloom._key import Key
from seqloom.errors import ArgumentError, GradientError, ShapeError
from seqloom.infer._forward import Forward, label_name, tensors_of, to_tensor
from seqloom.models import Task, TorchModule
from seqloom.models._reads import as_plain
from seqloom.models._torch_module import to_torch
from seqloom.nn import value_and_grad
from seqloom.tensor import Tensor, autocast
from seqloom.train._judged import LOSS
from seqloom.train._precision import FULL, widen

Loss: TypeAlias = Callable[[Any, Any], Any]
OwnStep: TypeAlias = Callable[..., Any]

_MATRIX = 2  # axes
# The name that the labels have among the prepared arrays of a batch. It has blanks, so that
# no parameter of a network has the same name.
_LABELS = "labels of the loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLoss:
    """Computes the loss of a batch, and what else there is to report of it.

    A call returns the loss and an extra value: the network's outputs, or the dict of
    further numbers that a user's step returned, or None.
    """

    loss: Loss
    step: OwnStep | None = None
    encoder: Any = None
    task: Task | None = None  # the task whose loss this is; None for a user's loss
    is_custom: bool = False  # whether only the user's loss or step understands the labels
    precision: str = FULL  # of a training step; validation computes in full precision

    def prepare(self, model: Any, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Puts the arrays that the loss needs on the network's backend, by name."""
        if self.step is not None:
            return tensors_of(model, batch, encoder=self.encoder, names=None)
        found = Forward.of(model).tensors(model, batch, self.encoder)
        name = label_name(batch)
        if name is None:
            raise ArgumentError(
                f"a batch has no labels among {', '.join(batch)}; name the array label, "
                "labels, y or target, or give objective=Objective(step=function(model, "
                "batch, key))"
            )
        return found | {_LABELS: self._labels(model, batch[name])}

    def _labels(self, model: Any, labels: Any) -> Any:
        """Converts labels to the form that the loss takes."""
        if self.task is not None:
            return self.task.targets(np.asarray(labels))
        return to_tensor(model, as_array(labels)) if self.is_custom else labels

    @property
    def function(self) -> Callable[..., Any]:
        """What gives the loss: a user's step, or a function of outputs and labels."""
        if self.step is not None or self.task is None:
            return self.step or self.loss
        return self.task.loss_of_targets

    def __call__(self, model: Any, arrays: dict[str, Any], key: Any) -> tuple[Any, Any]:
        """Computes the loss and the extra value of prepared arrays."""
        return self.compute(self.function, model, arrays, key=key)

    def compute(
        self, function: Callable[..., Any], model: Any, arrays: dict[str, Any], *, key: Any
    ) -> tuple[Any, Any]:
        """Does the same with the `function` of this objective, which a caller holds."""
        if isinstance(model, TorchModule):
            return self._compute_torch(function, model, arrays, key=key)
        if self.precision == FULL or not model.training:
            return self._compute(function, model, arrays, key=key)
        with autocast(self.precision):
            loss, extra = self._compute(function, model, arrays, key=key)
        return widen(loss), extra

    def _compute(
        self, function: Callable[..., Any], model: Any, arrays: dict[str, Any], *, key: Any
    ) -> tuple[Any, Any]:
        """Computes the loss of a seqloom network, in the element type of its outputs."""
        if self.step is not None:
            return _call_step(function, model, arrays, key=key)
        outputs = Forward.of(model).call(model, _without_labels(arrays), key)
        self._check_outputs(outputs)
        return function(outputs, arrays[_LABELS]), outputs

    def _compute_torch(
        self,
        function: Callable[..., Any],
        model: TorchModule,
        arrays: dict[str, Any],
        *,
        key: Any,
    ) -> tuple[Any, Any]:
        """Computes the loss of a torch network; a user's functions get torch's tensors."""
        if self.step is not None:
            raws = {name: to_torch(arrays[name]) for name in arrays}
            return _call_step(function, model.module, raws, key=key)
        # `compute`, because `forward` of a TorchModule records no gradients.
        forward = Forward.of(model)
        with _explaining_batch_norm():
            outputs = forward.call(model, _without_labels(arrays), key, name="compute")
        self._check_outputs(outputs)
        if self.task is not None:
            # The backend calls torch's functions, so torch records the loss too.
            loss = function(Tensor(outputs, model.backend), arrays[_LABELS])
            return to_torch(loss), outputs
        labels = to_torch(to_tensor(model, as_array(arrays[_LABELS])))
        return function(outputs, labels), outputs

    def _check_outputs(self, outputs: Any) -> None:
        """Refuses rows of outputs that are not one for each class, label or value."""
        shape: tuple[int, ...] = tuple(getattr(outputs, "shape", ()))
        names = () if self.task is None else self.task.columns
        if self.task is not None and len(shape) == _MATRIX and shape[1] != len(names):
            raise ArgumentError(
                f"the network gives {shape[1]} outputs for each record, the "
                f"{self.task.name} task needs {len(names)}: {', '.join(names)}; let its "
                f"last layer give {len(names)}"
            )
        is_own_loss = self.task is not None and self.loss == self.task.loss
        if is_own_loss and names and len(shape) == 1:
            raise ArgumentError(
                f"the network gives outputs of shape {shape}, the {self.task.name} task "
                f"needs a column for each of {', '.join(names)}: let it return "
                "outputs[:, None] or the outputs of its last layer"
            )

    def loss_of(self, model: Any, logits: Any, labels: Any) -> float:
        """Computes the loss from the outputs for all records of a part."""
        outputs = model.backend.tensor(logits)
        if isinstance(model, TorchModule) and self.task is None:
            outputs, labels = outputs.raw, to_torch(to_tensor(model, as_array(labels)))
        return float(self.loss(outputs, labels).item())


@contextmanager
def _explaining_batch_norm() -> Generator[None]:
    """Adds a remedy to torch's error of a batch with one value for each channel."""
    try:
        yield
    except ValueError as error:
        # The function of torch that checks the size of a batch has no error of its own.
        if extract_tb(error.__traceback__)[-1].name != "_verify_batch_size":
            raise
        raise ShapeError(
            f"batch norm of torch: {error}; use larger batches, or leave a smaller last "
            "batch out (drop_last=True, --drop-last)"
        ) from error


def _without_labels(arrays: dict[str, Any]) -> dict[str, Any]:
    """Returns the arrays that the network may ask for."""
    return {name: arrays[name] for name in arrays if name != _LABELS}


def _call_step(
    step: OwnStep, model: Any, arrays: dict[str, Any], *, key: Any
) -> tuple[Any, Any]:
    """Calls a user's step, which returns a loss, or a loss and something else."""
    # `names_for` has named the arrays of a tuple by their positions: "0", "1" and so on.
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
    if isinstance(extra, Mapping):  # numbers to report, which need no gradients
        named = cast("Mapping[str, Any]", extra)
        extra = {name: _detach(named[name]) for name in named}
    return loss, extra


def takes_key(step: OwnStep) -> bool:
    """Says whether a step has a third parameter."""
    try:
        parameters = inspect.signature(step).parameters.values()
    except (TypeError, ValueError):  # a function without a signature
        return True
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(parameter.kind in kinds for parameter in parameters)
    takes_any = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    return count >= 3 or takes_any  # noqa: PLR2004


def differentiate(
    objective: Callable[..., tuple[Any, Any]],
    model: Any,
    arrays: dict[str, Any],
    *,
    key: Key,
) -> tuple[Any, Any, Any]:
    """Computes loss, extra value and gradients, by our tape or by torch's."""
    if not isinstance(model, TorchModule):
        loss, extra, grads = value_and_grad(objective)(model, arrays, key)
        return loss, extra, grads
    with model.seeded(key):
        loss, extra = objective(model, arrays, key)
        return loss.detach(), _detach(extra), model.gradients_of(loss)


def _detach(value: Any) -> Any:
    """Returns a tensor that needs no gradients; any other value as it is."""
    return value.detach() if hasattr(value, "detach") else value


def count_records(batch: Mapping[str, Any]) -> int:
    """Counts the records of a batch: the rows of its labels, or of its first array."""
    name = label_name(batch)
    values = [batch[name]] if name else [*batch.values()]
    return next((len(value) for value in values if hasattr(value, "__len__")), 1)


def numbers_of(extra: Any) -> dict[str, float]:
    """Returns the further numbers of a user's step by name; none of outputs."""
    if not isinstance(extra, Mapping):
        return {}
    found = cast("Mapping[str, Any]", extra)
    if LOSS in found:
        raise ArgumentError(
            "step returned a number named 'loss' after the loss: the history holds the "
            "loss itself under this name; give the number another name, or leave it out"
        )
    return {name: float(as_array(found[name])) for name in found}


def as_array(value: Any) -> Any:
    """Converts a tensor of seqloom or of torch to an array of NumPy."""
    if hasattr(value, "detach") and not isinstance(value, Tensor):
        value = as_plain(value.detach().cpu())
    return np.asarray(value)
