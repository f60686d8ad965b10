"""Whether the training step is compiled, and the compiled step."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from traceback import clear_frames
from types import FunctionType
from typing import Any

import numpy as np

from seqloom.errors import CaptureError
from seqloom.models import Trained
from seqloom.models._examples import count_positions
from seqloom.models._folder import checkpoint_path
from seqloom.nn import value_and_grad
from seqloom.record import load
from seqloom.tensor import compile as compile_step
from seqloom.tensor._compile._contents import list_objects
from seqloom.train._batch_loss import BatchLoss
from seqloom.train._parts import Arrays, LoaderBatches, count_batches
from seqloom.train._schedule import ends_of_rounds
from seqloom.train._settings import Settings

# From so many steps on, a compiled step saves more time than it takes to compile it. torch
# is missing: its compiler takes a minute, which a run seldom saves.
_ENOUGH = {"numpy": 200, "jax": 2}


def is_to_compile(
    settings: Settings, trained: Trained, train: Any, *, folder: Path | None
) -> bool:
    """Says whether the step is to be compiled; a resumed run does as it did before."""
    if isinstance(settings.compile, bool):
        return settings.compile
    if folder is not None and (path := checkpoint_path(folder)).exists():
        return bool(load(path).metadata.get("identity", {}).get("compiled"))
    if settings.step is not None or _explain_user_object(settings, trained):
        return False
    return _is_worth_compiling(train, settings)


def _is_worth_compiling(train: Any, settings: Settings) -> bool:
    """Returns True if compiling the step saves more time than it takes."""
    # The answer depends on nothing that may differ when the run is resumed.
    if isinstance(train, LoaderBatches):
        return False
    batches = count_batches(train, settings.batch_size, drop_last=settings.drop_last)
    steps = batches * ends_of_rounds(settings.epochs, [])[0]
    is_enough = steps >= _ENOUGH.get(settings.target.name.partition(":")[0], steps + 1)
    # Batches of many lengths would make many programs.
    return is_enough and (isinstance(train, Arrays) or not np.ptp(count_positions(train)))


def make_compiling(
    settings: Settings,
    trained: Trained,
    objective: BatchLoss,
    *,
    is_compiled: bool,
    is_alone: bool,
) -> "Compiling":
    """Makes what compiles the step, turned off where the step cannot be compiled."""
    # A compiled step cannot wait for other processes.
    is_on, refusal = is_compiled and is_alone, ""
    if is_on and settings.precision == "float16":
        is_on, refusal = False, "a step in float16 may be skipped"
    if settings.compile == "auto" and not is_compiled:
        refusal = _explain_user_object(settings, trained)
    is_asked = settings.compile is True
    return Compiling(objective, is_on, is_asked=is_asked, refusal=refusal)


def _explain_user_object(settings: Settings, trained: Trained) -> str:
    """Names the user's object in the step, which is then compiled on request only."""
    name = _find_user_object(trained.model, settings.optimizer, settings.loss)
    return f"{name} is no part of seqloom; compile=True compiles the step" if name else ""


def _find_user_object(model: Any, optimizer: Any, loss: object) -> str:
    """Names a loss, a class or a function of the step that is no part of seqloom."""
    if loss is not None:
        return f"the loss {getattr(loss, '__name__', type(loss).__name__)}"
    holders = [holder for holder in (model, optimizer) if holder is not None]
    static = tuple(holder.leaves()[0] for holder in holders)
    return next((name for _, part in list_objects(static) if (name := _name(part))), "")


def _name(part: Any) -> str:
    """Returns the name of a class, function or object that is no part of seqloom."""
    kind = part if isinstance(part, type) else type(part)
    owner = part if isinstance(part, FunctionType) else kind
    is_known = owner.__module__.partition(".")[0] in ("seqloom", "numpy", "builtins")
    return "" if is_known else owner.__qualname__


@dataclass(slots=True)
class Compiling:
    """Compiles the step of a run when it is first needed, and runs it."""

    objective: BatchLoss
    is_on: bool
    is_asked: bool = False  # whether the user insists
    refusal: str = ""
    _step: Callable[..., Any] | None = None

    def run(
        self, model: Any, optimizer: Any, lr: float, *, arrays: Any, key: Any
    ) -> tuple[Any, Any] | None:
        """Makes one step, update included; None if it is not compiled."""
        if not self.is_on:
            return None
        is_first, step = self._step is None, self._step or _compile(self.objective)
        try:
            found = step(model, optimizer, float(lr), arrays, key)
        # Whatever the network does that cannot be compiled, it may do uncompiled. Later a
        # callback may have put something into the network that cannot.
        except Exception as error:
            if self.is_asked or not (is_first or isinstance(error, CaptureError)):
                raise
            self.is_on, self.refusal = False, str(error).partition("\n")[0]
            _forget_tensors(error)
            return None
        self._step = step
        return found

    def describe(self) -> str:
        """Says whether the step is compiled, for the report."""
        if self.refusal:
            return f"no: {self.refusal}"
        return "yes" if self.is_on else "no"


def _forget_tensors(error: BaseException | None) -> None:
    """Empties the frames of an error, which would hold tensors beyond their scope."""
    while error is not None:
        clear_frames(error.__traceback__)
        error.__traceback__, error = None, error.__cause__ or error.__context__


def _compile(objective: BatchLoss) -> Callable[..., Any]:
    """Compiles forward, backward and update as one program."""
    # A variable of its own, so that `compile` finds the user's function, and compiles again
    # when a value that the function reads has changed.
    function = objective.function

    def step(model: Any, optimizer: Any, lr: float, arrays: Any, key: Any) -> Any:  # noqa: PLR0917 - as compile takes them
        def loss_of(model: Any, arrays: Any, key: Any) -> Any:
            return objective.compute(function, model, arrays, key=key)

        loss, extra, grads = value_and_grad(loss_of)(model, arrays, key)
        optimizer.step(lr, model, grads)
        return loss, extra

    return compile_step(step)
