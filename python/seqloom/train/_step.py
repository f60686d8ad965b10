"""Makes training steps: computes loss and gradients of a batch, and updates the weights."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from traceback import clear_frames
from types import FunctionType
from typing import Any

import numpy as np

from seqloom._key import Key
from seqloom.errors import CaptureError
from seqloom.infer._forward import find_label_name
from seqloom.models import Classify, TorchModule
from seqloom.models._examples import count_positions
from seqloom.models._folder import checkpoint_path
from seqloom.nn import Buffer, Module, value_and_grad
from seqloom.optim import Optimizer
from seqloom.record import load
from seqloom.tensor import Gradients, compile as compile_step
from seqloom.tensor._compile._contents import list_objects
from seqloom.train._checkpoints import RunState
from seqloom.train._job import FitJob
from seqloom.train._loss import (
    BatchLoss,
    Inputs,
    as_array,
    count_records,
    differentiate,
    error_of_loss,
    numbers_of,
)
from seqloom.train._parts import Arrays, LoaderBatches, count_batches
from seqloom.train._progress import Step
from seqloom.train._ranks import Ranks
from seqloom.train._updates import Accumulation, Update, ends_of_rounds, unscale_gradients
from seqloom.train._values import DEFAULT_PRECISION

# With at least this number of steps, compiling saves more time than it takes. PyTorch
# is not listed, because its compiler takes a minute.
_MIN_COMPILED_STEPS = {"numpy": 200, "jax": 2}
_ACCURACY = "accuracy"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMaker:
    """Makes the training steps of a run, which update the weights."""

    job: FitJob
    objective: BatchLoss
    compiling: "CompiledStep"

    def make(self, state: RunState, batch: dict[str, Any]) -> Step:
        """Make the next training step with the learning rate from the state."""
        key = Key(self.job.settings.seed, state.epoch, len(state.steps))
        arrays = self.objective.prepare(state.model, batch)
        if self.job.ranks.are_several:
            return self._make_with_ranks(state, batch, arrays, key=key)
        records = count_records(batch)
        weight, sums = self._loss_weight(batch, records), state.accumulation
        compiled = self._run_compiled(state, arrays, weight=weight, key=key)
        if compiled is not None:
            # The compiled program has already updated the weights, or accumulated the
            # gradients.
            loss, extra = compiled
            value = self._require_finite(loss.item(), state, batch)
            if sums is not None:
                self._count_batch(state, sums, weight)
        else:
            loss, extra, grads = _differentiate(state, self.objective, arrays, key=key)
            value = self._require_finite(loss.item(), state, batch)
            self._apply_gradients(state, grads, weight)
        means = self._measure(extra, batch)
        return _describe(state, extra, means, records=records, loss=value)

    def finish_epoch(self, state: RunState) -> None:
        """Update the weights with the accumulated batches at the end of an epoch."""
        sums = state.accumulation
        if sums is not None and sums.batches:
            self._update(state, sums.take(state.model))

    def _make_with_ranks(
        self, state: RunState, batch: dict[str, Any], arrays: Inputs, *, key: Key
    ) -> Step:
        """Make a step in all processes that equals the step of a single process."""
        ranks, train = self.job.ranks, self.job.parts.train
        if isinstance(train, LoaderBatches):
            own = count_records(batch)
        else:
            # A process without records of the batch computes with another record of
            # weight 0, so the number of records may differ from the number of rows.
            size = self.job.settings.batches.batch_size
            own = ranks.count_local_records(min(size, len(train) - len(state.steps) * size))
        # The mean over all records is the weighted mean over the processes.
        weight = self._loss_weight(batch, own)
        (total,) = ranks.sum_numbers(weight)
        # Batch statistics (batch normalisation) are computed over the whole batch.
        with ranks.sharing(has_records=own > 0):
            loss, extra, grads = _differentiate(
                state,
                _scale_loss(self.objective, weight / total if total else math.nan),
                arrays,
                key=key.fold(ranks.number),  # each process has a different dropout mask
            )
        means, records = ranks.average(self._measure(extra, batch), own)
        value, grads = _sum_over_ranks(ranks, state.model, loss, grads=grads)
        self._require_finite(value, state, batch)
        self._apply_gradients(state, grads, total)
        return _describe(state, extra, means, records=records, loss=value)

    def _run_compiled(
        self, state: RunState, arrays: Inputs, *, weight: float, key: Key
    ) -> tuple[Any, Any] | None:
        """Run the compiled step; return None if there is no compiled step."""
        if not self.compiling.is_on:
            return None
        if state.accumulation is None:
            target, factor = self._get_optimizer(state), state.lr
        else:
            target, factor = state.accumulation, weight
        return self.compiling.run(state.model, target, factor, arrays=arrays, key=key)

    def _apply_gradients(self, state: RunState, grads: Gradients, weight: float) -> None:
        """Update the weights with gradients, or accumulate gradients for a later update."""
        found, sums = unscale_gradients(grads, state.loss_scale), state.accumulation
        if sums is None:
            self._update(state, found)
            return
        if found is not None:
            sums.step(weight, state.model, found)
        self._count_batch(state, sums, 0.0 if found is None else weight)

    def _count_batch(self, state: RunState, sums: Accumulation, weight: float) -> None:
        """Count an accumulated batch; after the last batch of a step, update weights."""
        sums.count(weight)
        if sums.is_full:
            self._update(state, sums.take(state.model))

    def _update(self, state: RunState, grads: Gradients | None) -> None:
        """Update the weights, or skip the step if gradients are None (float16 overflow)."""
        if grads is None:
            return
        self._get_optimizer(state).step(state.lr, state.model, grads)
        if isinstance(state.model, TorchModule):
            state.model.update_torch()

    def _get_optimizer(self, state: RunState) -> Optimizer | Update:
        """Return the optimiser, with clipping and weight averaging if requested."""
        average, limit = state.weight_average, self.job.settings.updates.clip_norm
        if average is None and limit is None:
            return state.optimizer
        return Update(state.optimizer, limit, average)

    def _loss_weight(self, batch: dict[str, Any], own: int) -> float:
        """Compute the weight of this process's loss in the mean loss of all processes."""
        task, name = self.objective.task, find_label_name(batch)
        if not own or name is None or not isinstance(task, Classify) or not task.weights:
            return float(own)
        # With class weights, the loss is a weighted mean over records, so the weight of
        # the loss is the sum of the record weights.
        return float(np.asarray(task.weights)[np.asarray(batch[name])].sum())

    def _require_finite(self, loss: float, state: RunState, batch: dict[str, Any]) -> float:
        """Return the loss as a number; raise if it is NaN or infinite."""
        # A compiled step has already changed the weights. The changed weights are not
        # saved, because the error leaves the state marked as incomplete.
        if not math.isfinite(loss):
            raise error_of_loss(
                loss,
                (state.epoch + 1, len(state.steps) + 1),
                train=self.job.parts.train,
                batch=batch,
                folder=self.job.writable_folder,
            )
        return float(loss)

    def _measure(self, extra: Any, batch: dict[str, Any]) -> dict[str, float]:
        """Return the numbers that a user's step returned, or the accuracy, by name."""
        found, name = numbers_of(extra), find_label_name(batch)
        if name is None or not hasattr(extra, "shape"):
            return found
        logits, task = as_array(extra), self.job.trained.task
        if self.job.settings.computation.precision != DEFAULT_PRECISION:
            logits = logits.astype("float32")
        decided = task.decide(task.activate(logits))
        if decided is not None:
            found[_ACCURACY] = float((decided == as_array(batch[name])).mean())
        return found


def _differentiate(
    state: RunState, objective: Callable[..., Any], arrays: Inputs, *, key: Key
) -> tuple[Any, Any, Gradients]:
    """Compute loss, outputs and gradients (multiplied by the loss scale in float16)."""
    if state.loss_scale is None:
        return differentiate(objective, state.model, arrays, key=key)
    factor = state.loss_scale.value
    objective = _scale_loss(objective, factor)
    loss, extra, grads = differentiate(objective, state.model, arrays, key=key)
    return loss / factor, extra, grads


def _scale_loss(objective: Callable[..., Any], factor: float) -> Callable[..., Any]:
    """Wrap an objective so that its loss is multiplied by a number."""

    def compute(model: Module, arrays: Inputs, key: Key) -> tuple[Any, Any]:
        loss, extra = objective(model, arrays, key)
        return loss * factor, extra

    return compute


def _sum_over_ranks(
    ranks: Ranks, model: Module, loss: Any, *, grads: Gradients
) -> tuple[float, Gradients]:
    """Sum loss and gradients over processes, and copy the buffers of the first process."""
    backend, params = grads.backend, [param for _, param in model.parameters()]
    has_gradient = (grads.get(param.id) is not None for param in params)
    value, *counts = ranks.sum_numbers(float(loss.item()), *has_gradient)
    # All processes must sum the same list of arrays. If a process lacks a gradient that
    # another process has, the process adds zeros.
    shared = [param for param, count in zip(params, counts, strict=True) if count]
    arrays: list[Any] = []
    for param in shared:
        own = grads.get(param.id)
        arrays.append(backend.zeros_like(param.value.raw) if own is None else own)
    buffers = [part for _, part in model.named(Buffer)]
    arrays += ranks.zeros_unless_first([it.value.raw for it in buffers], backend)
    summed = ranks.sum_arrays(arrays, backend)
    for buffer, array in zip(buffers, summed[len(shared) :], strict=True):
        buffer.put(array)
    ids = [param.id for param in shared]
    return value, Gradients(dict(zip(ids, summed, strict=False)), backend)


def _describe(
    state: RunState, extra: Any, means: dict[str, float], *, records: int, loss: float
) -> Step:
    """Return a `Step`, which describes a batch and its training step."""
    has_numbers = isinstance(extra, Mapping)
    sums = state.accumulation
    is_open = sums is not None and sums.batches > 0
    return Step(
        epoch=state.epoch + 1,
        batch=len(state.steps) + 1,
        samples=records,
        loss=loss,
        accuracy=None if has_numbers else means.get(_ACCURACY),
        number=state.optimizer.step_count + is_open,
        lr=state.lr,
        numbers=means if has_numbers else {},
    )


def should_compile(job: FitJob) -> bool:
    """Return whether to compile the step; a resumed run keeps its previous choice."""
    settings, train = job.settings, job.parts.train
    if isinstance(settings.computation.compile, bool):
        return settings.computation.compile
    folder = settings.folder.path
    if folder is not None and (path := checkpoint_path(folder)).exists():
        return bool(load(path).metadata.get("identity", {}).get("compiled"))
    is_users = settings.objective.step is not None or _describe_user_object(job)
    # The conditions below are the same when the run is resumed.
    if is_users or isinstance(train, LoaderBatches):
        return False
    count = count_batches(train, settings.batches)
    steps = count * ends_of_rounds(settings.epochs, [])[0]
    is_enough = steps >= _MIN_COMPILED_STEPS.get(
        settings.target.name.partition(":")[0], steps + 1
    )
    # Batches of different lengths would each need a program.
    return is_enough and (isinstance(train, Arrays) or not np.ptp(count_positions(train)))


def _describe_user_object(job: FitJob) -> str:
    """Return which custom object prevents automatic compilation; "" if none does."""
    loss, optimizer = job.settings.objective.loss, job.settings.updates.optimizer
    name = ""
    if loss is not None:
        name = f"the loss {getattr(loss, '__name__', type(loss).__name__)}"
    else:
        holders = (job.trained.model, *([] if optimizer is None else [optimizer]))
        static = tuple(holder.leaves()[0] for holder in holders)
        for _, part in list_objects(static):
            is_named = isinstance(part, (type, FunctionType))
            owner: Any = part if is_named else type(part)
            if owner.__module__.partition(".")[0] not in ("seqloom", "numpy", "builtins"):
                name = owner.__qualname__
                break
    advice = "Computation(compile=True) compiles the step"
    return f"{name} is not part of seqloom; {advice}" if name else ""


@dataclass(slots=True)
class CompiledStep:
    """A training step that is compiled at its first call."""

    objective: BatchLoss
    is_on: bool
    is_required: bool = False  # if True, a step that cannot be compiled is an error
    refusal: str = ""
    _step: Callable[..., Any] | None = None

    @classmethod
    def of(cls, job: FitJob, objective: BatchLoss, *, is_compiled: bool) -> "CompiledStep":
        """Decide whether to compile, and prepare the compiled step."""
        # A compiled step cannot exchange values with other processes.
        is_on, refusal = is_compiled and not job.ranks.are_several, ""
        computation = job.settings.computation
        if is_on and computation.precision == "float16":
            is_on, refusal = False, "a step in float16 may be skipped"
        if computation.compile == "auto" and not is_compiled:
            refusal = _describe_user_object(job)
        is_required = computation.compile is True
        return cls(objective, is_on, is_required=is_required, refusal=refusal)

    def run(
        self,
        model: Module,
        target: Optimizer | Update | Accumulation,
        factor: float,
        *,
        arrays: Inputs,
        key: Key,
    ) -> tuple[Any, Any] | None:
        """Run one step with its update; return None if the step cannot be compiled."""
        is_first, step = self._step is None, self._step or _compile(self.objective)
        try:
            found = step(model, target, float(factor), arrays, key)
        # Some networks contain operations that cannot be compiled. The steps of these
        # networks run uncompiled. A callback may also add such an operation during the
        # run.
        except Exception as error:
            if self.is_required or not (is_first or isinstance(error, CaptureError)):
                raise
            self.is_on, self.refusal = False, str(error).partition("\n")[0]
            # Clear the frames of the traceback, which would keep tensors alive.
            cause: BaseException | None = error
            while cause is not None:
                clear_frames(cause.__traceback__)
                cause.__traceback__, cause = None, cause.__cause__ or cause.__context__
            return None
        self._step = step
        return found

    def describe(self) -> str:
        """Describe for the report whether the step is compiled."""
        if self.refusal:
            return f"no: {self.refusal}"
        return "yes" if self.is_on else "no"


def _compile(objective: BatchLoss) -> Callable[..., Any]:
    """Compile forward, backward and update into one program."""
    # Use a local variable: `compile` then finds the user's function in the closure, and
    # compiles again if values that the function reads have changed.
    function = objective.function

    def step(  # noqa: PLR0917 - as compile takes them
        model: Module, target: Any, factor: float, arrays: Inputs, key: Key
    ) -> tuple[Any, Any]:
        def loss_of(model: Module, arrays: Inputs, key: Key) -> tuple[Any, Any]:
            return objective.compute(function, model, arrays, key=key)

        loss, extra, grads = value_and_grad(loss_of)(model, arrays, key)
        target.step(factor, model, grads)
        return loss, extra

    return compile_step(step)
