"""Compute the loss of a batch and its gradients, by a loss function or a user's step."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from seqloom._key import Key
from seqloom.errors import ArgumentError, GradientError, ShapeError
from seqloom.infer._forward import Forward, find_label_name, to_tensor, to_tensors
from seqloom.models import Ensemble, Task, TorchModule
from seqloom.models._ensemble import is_trainable, mean_of
from seqloom.models._examples import to_float32
from seqloom.models._torch_module import to_torch
from seqloom.nn import Module, value_and_grad
from seqloom.tensor import Gradients, Tensor, autocast
from seqloom.train._parts import Arrays, Data, read_in_order
from seqloom.train._values import DEFAULT_PRECISION, LOSS_NAME, PRECISIONS

Loss: TypeAlias = Callable[[Any, Any], Any]
UserStep: TypeAlias = Callable[..., Any]
# The arrays of a batch by name, on the network's backend.
Inputs: TypeAlias = dict[str, Tensor | NDArray[np.generic]]

_MATRIX_AXES = 2
# Maximum number of rows of a set that are read at a time.
_READ_ROWS = 256
# The name of the labels among the prepared arrays of a batch. The name contains spaces,
# so that no parameter can have the same name.
_LABELS_KEY = "labels of the loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLoss:
    """Computes the loss of a batch, together with the network's outputs or further numbers.

    A call returns the loss and a second value: the network's outputs, the dict of
    further numbers that a user's step returned, or None.
    """

    loss: Loss
    step: UserStep | None = None
    encoder: Any = None
    task: Task | None = None  # None if the user passed a loss
    is_custom: bool = False  # labels are passed only to the user's loss or step
    precision: str = DEFAULT_PRECISION  # precision of training; validation uses float32

    def prepare(self, model: Module, batch: Mapping[str, Any]) -> Inputs:
        """Copy the arrays for the loss to the network's backend, by name."""
        if self.step is not None:
            return to_tensors(model, batch, encoder=self.encoder, names=None)
        found = Forward.of(model).tensors(model, batch, self.encoder)
        name = find_label_name(batch)
        if name is None:
            raise ArgumentError(
                f"a batch has no labels among {', '.join(batch)}; name the array label, "
                "labels, y or target, or give objective=Objective(step=function(model, "
                "batch, key))"
            )
        labels: Any = batch[name]
        if self.task is not None:
            labels = self.task.targets(np.asarray(labels))
        elif self.is_custom:
            labels = to_tensor(model, as_array(labels))
        return found | {_LABELS_KEY: labels}

    @property
    def function(self) -> Callable[..., Any]:
        """The function that computes the loss: a user's step or a loss function."""
        if self.step is not None or self.task is None:
            return self.step or self.loss
        return self.task.loss_of_targets

    def __call__(self, model: Module, arrays: Inputs, key: Key | None) -> tuple[Any, Any]:
        """Compute the loss, and outputs or further numbers, from prepared arrays."""
        return self.compute(self.function, model, arrays, key=key)

    def compute(
        self,
        function: Callable[..., Any],
        model: Module,
        arrays: Inputs,
        *,
        key: Key | None,
    ) -> tuple[Any, Any]:
        """Compute the loss, and outputs or further numbers, by a given function."""
        if isinstance(model, TorchModule):
            return self._compute_torch(function, model, arrays, key=key)
        is_half = self.precision != DEFAULT_PRECISION and model.training
        with autocast(self.precision) if is_half else nullcontext():
            if self.step is not None:
                loss, extra = _call_step(function, model, arrays, key=key)
            else:
                loss, extra = self._compute_members(function, model, arrays, key=key)
        # The loss is float32, because the loss scale 65536 is infinite in float16.
        is_widened = is_half and loss.dtype.name in PRECISIONS
        return loss.astype("float32") if is_widened else loss, extra

    def _compute_members(
        self,
        function: Callable[..., Any],
        model: Module,
        arrays: Inputs,
        *,
        key: Key | None,
    ) -> tuple[Any, Any]:
        """Compute the mean loss of the members of an ensemble, or the loss of a network."""
        # In training, each member of an ensemble learns from its own outputs. The
        # validation loss is computed from the mean outputs of all members.
        inputs, labels = _without_labels(arrays), arrays[_LABELS_KEY]
        pairs = [(model, key)]
        if isinstance(model, Ensemble) and model.training:
            pairs = list(zip(model.members, model.split_key(key), strict=True))
            # Members that are frozen do not learn, so their outputs are not needed.
            pairs = [it for it in pairs if is_trainable(it[0])] or pairs
        outputs = [Forward.of(member).call(member, inputs, own) for member, own in pairs]
        for found in outputs:
            self._check_outputs(found)
        losses = [function(found, labels) for found in outputs]
        loss = mean_of(losses)
        if len(losses) > 1:
            # The loss is the mean, but the gradient is that of the sum, so that a member
            # learns as fast as a single network.
            total = sum(losses[1:], losses[0])
            loss = total - (total - loss).detach()
        return loss, mean_of(outputs)

    def _compute_torch(
        self,
        function: Callable[..., Any],
        model: TorchModule,
        arrays: Inputs,
        *,
        key: Key | None,
    ) -> tuple[Any, Any]:
        """Compute the loss of a PyTorch network; user functions get PyTorch tensors."""
        if self.step is not None:
            raws = {name: to_torch(arrays[name]) for name in arrays}
            return _call_step(function, model.module, raws, key=key)
        # Call `compute`, because `TorchModule.forward` records no gradients.
        forward, tensors = Forward.of(model), _without_labels(arrays)
        try:
            outputs = forward.call(model, tensors, key, name="compute")
        except ValueError as error:
            # PyTorch raises ValueError if a batch is too small for batch normalisation.
            if extract_tb(error.__traceback__)[-1].name != "_verify_batch_size":
                raise
            raise ShapeError(
                f"PyTorch batch norm: {error}; use larger batches, or leave a smaller "
                "last batch out (Batches(..., drop_last=True), --drop-last)"
            ) from error
        self._check_outputs(outputs)
        if self.task is not None:
            # The backend calls torch functions, so PyTorch also differentiates the
            # loss.
            loss = function(Tensor(outputs, model.backend), arrays[_LABELS_KEY])
            return to_torch(loss), outputs
        labels = to_torch(to_tensor(model, as_array(arrays[_LABELS_KEY])))
        return function(outputs, labels), outputs

    def _check_outputs(self, outputs: Any) -> None:
        """Raise unless the network returns an output for each class, label or value."""
        if self.task is None:
            return
        shape: tuple[int, ...] = tuple(getattr(outputs, "shape", ()))
        names = self.task.columns
        if len(shape) == _MATRIX_AXES and shape[1] != len(names):
            raise ArgumentError(
                f"the network returns {shape[1]} outputs for each record, but the "
                f"{self.task.name} task needs {len(names)}: {', '.join(names)}; change its "
                f"last layer to {len(names)} outputs"
            )
        if self.loss == self.task.loss and names and len(shape) == 1:
            raise ArgumentError(
                f"the network returns outputs of shape {shape}, but the {self.task.name} "
                f"task needs a column for each of {', '.join(names)}; return "
                "outputs[:, None]"
            )

    def loss_of(self, model: Module, logits: NDArray[np.float32], labels: Any) -> float:
        """Compute the loss of a set from the network's outputs for all its records."""
        outputs = model.backend.tensor(logits)
        if isinstance(model, TorchModule) and self.task is None:
            outputs, labels = outputs.raw, to_torch(to_tensor(model, as_array(labels)))
        return float(self.loss(outputs, labels).item())


def _without_labels(arrays: Inputs) -> Inputs:
    """Return the arrays of a batch without the labels."""
    return {name: arrays[name] for name in arrays if name != _LABELS_KEY}


def _call_step(step: UserStep, model: Any, arrays: Inputs, *, key: Any) -> tuple[Any, Any]:
    """Call a user's step; return its loss, and its outputs or numbers, or None."""
    # In a tuple, the names of the arrays are their indices: "0", "1" and so on.
    is_tuple = [*arrays] == [str(position) for position in range(len(arrays))]
    batch = tuple(arrays.values()) if is_tuple else arrays
    found: Any = step(model, batch, key) if takes_key(step) else step(model, batch)
    pair = cast("tuple[Any, Any]", found if isinstance(found, tuple) else (found, None))
    loss, extra = pair
    if not hasattr(loss, "shape"):
        raise GradientError(
            f"step must return the loss (a tensor of one number) or (loss, outputs), got "
            f"{type(loss).__name__}"
        )
    if isinstance(extra, Mapping):  # reported numbers need no gradients
        named = cast("Mapping[str, Any]", extra)
        extra = {name: _detach(named[name]) for name in named}
    return loss, extra


def takes_key(step: UserStep) -> bool:
    """Return whether a user's step has a third parameter, the random key."""
    try:
        parameters = inspect.signature(step).parameters.values()
    except (TypeError, ValueError):  # Python cannot read the signature of some functions
        return True
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(parameter.kind in kinds for parameter in parameters)
    takes_any = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    return count >= 3 or takes_any  # noqa: PLR2004


def differentiate(
    objective: Callable[..., tuple[Any, Any]], model: Module, arrays: Inputs, *, key: Key
) -> tuple[Any, Any, Gradients]:
    """Compute loss, outputs or numbers, and gradients, by seqloom or PyTorch autograd."""
    if not isinstance(model, TorchModule):
        loss, extra, grads = value_and_grad(objective)(model, arrays, key)
        return loss, extra, grads
    with model.seeded(key):
        loss, extra = objective(model, arrays, key)
        return loss.detach(), _detach(extra), model.gradients_of(loss)


def _detach(value: Any) -> Any:
    """Return a tensor without gradients, or any other value unchanged."""
    return value.detach() if hasattr(value, "detach") else value


def count_records(batch: Mapping[str, Any]) -> int:
    """Count the records of a batch, which are the rows of its labels or its first array."""
    name = find_label_name(batch)
    values = [batch[name]] if name else [*batch.values()]
    return next((len(value) for value in values if hasattr(value, "__len__")), 1)


def numbers_of(extra: Any) -> dict[str, float]:
    """Return the numbers that a user's step reports; empty if the step returned outputs."""
    if not isinstance(extra, Mapping):
        return {}
    found = cast("Mapping[str, Any]", extra)
    if LOSS_NAME in found:
        raise ArgumentError(
            "step returned a number named 'loss', but the history uses this name for the "
            "loss itself; rename the number, or leave it out"
        )
    return {name: float(as_array(found[name])) for name in found}


def as_array(value: Any) -> Any:
    """Convert a seqloom or PyTorch tensor to a NumPy array."""
    if hasattr(value, "detach") and not isinstance(value, Tensor):
        value = to_float32(value.detach().cpu())
    return np.asarray(value)


def error_of_loss(
    loss: float,
    place: tuple[int, int],
    *,
    train: Data,
    batch: Mapping[str, Any],
    folder: Path | None,
) -> GradientError:
    """Return an error for a batch whose loss is NaN or infinite."""
    epoch, number = place
    if any(np.shape(to_float32(array))[:1] == (0,) for array in batch.values()):
        cause = "the batch has no records: leave empty batches out of the loader"
    else:
        # Shuffled arrays are searched in their original order, so that the error names
        # the row in the user's array. The named row may be in another batch than the
        # batch with the invalid loss.
        cause = _describe_bad_row(train.columns if isinstance(train, Arrays) else batch)
    advice = _advice_after_divergence(epoch, folder, cause)
    return GradientError(f"epoch {epoch}, batch {number}: the loss is {loss}; {advice}")


def check_finite_epoch(
    model: Module, row: dict[str, Any], valid: Data | None, *, folder: Path | None
) -> None:
    """Raise if the weights or the validation loss of a network are not finite."""
    weights, epoch = model.to_record().values(), row["epoch"]
    cause, what = "", "the weights are"
    if all(np.isfinite(array).all() for array in weights):
        if row.get("valid_loss", 0.0) is not None:
            return
        what = "the validation loss is"
        cause = "" if valid is None else describe_part(valid)
        cause = cause and f"in the validation set {cause}"
    raise GradientError(
        f"epoch {epoch}: {what} not finite; "
        f"{_advice_after_divergence(epoch, folder, cause)}"
    )


def _advice_after_divergence(epoch: int, folder: Path | None, cause: str) -> str:
    """Return advice for a run that diverged, with the last valid checkpoint."""
    saved = "nothing was saved"
    if folder is not None and epoch > 1:
        saved = f"the checkpoint of epoch {epoch - 1} is still valid"
    return f"{saved}; {cause or 'a lower lr (--lr) may help'}"


def describe_part(part: Data) -> str:
    """Describe the first record of a set with NaN or infinity; "" if all are finite."""
    if isinstance(part, Arrays):
        return _describe_bad_row(part.columns)
    descriptions = (_describe_bad_row(batch) for batch in read_in_order(part, _READ_ROWS))
    return next(filter(None, descriptions), "")


def _describe_bad_row(arrays: Mapping[str, Any]) -> str:
    """Describe the first row of an array with NaN or infinity; "" if all are finite."""
    for name, value in arrays.items():
        values = _as_floats(value)
        if values is None or np.isfinite(values).all():
            continue
        rows = values.reshape(len(values), -1)
        wrong = ~np.isfinite(rows)
        count, row = int(wrong.any(axis=1).sum()), int(wrong.any(axis=1).argmax())
        ids = arrays.get("id")
        record = f"row {row:,}" if ids is None else f"the record {str(ids[row])!r}"
        more = f" and in {count - 1:,} more" if count > 1 else ""
        return (
            f"the array {name} contains {rows[row][wrong[row]][0]} in {record}{more}; "
            "replace such values, or leave these records out"
        )
    return ""


def _as_floats(value: Any) -> NDArray[Any] | None:
    """Return the value if it is an array of floats, otherwise None."""
    if hasattr(value, "detach"):
        value = to_float32(value.detach().cpu()) if hasattr(value, "cpu") else value
    if not hasattr(value, "dtype") or not len(getattr(value, "shape", ())):
        return None
    array = np.asarray(value)
    is_float = array.dtype.kind in "fc" or "float" in str(array.dtype)
    return array if is_float and len(array) else None
