"""Reads the arguments of `fit`, including deprecated keywords, into one settings object."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Self, TypeAlias

from seqloom._arguments import as_seed, quote
from seqloom._warning import warn_user
from seqloom.errors import ArgumentError, BackendError
from seqloom.models import TorchModule
from seqloom.models._ensemble import list_members
from seqloom.nn import Config, Module
from seqloom.optim import Optimizer, Schedule
from seqloom.tensor import Backend, backend as find_backend
from seqloom.tensor._autocast import explain_slowdown
from seqloom.train._ranks import choose_device
from seqloom.train._values import (
    DEFAULT_LR,
    DEFAULT_PRECISION,
    Batches,
    Computation,
    Epochs,
    Objective,
    RunFolder,
    Updates,
    as_positive,
    format_option,
)

ScheduleLike: TypeAlias = Schedule | Callable[[int], float]

# The default weight decay of networks that do not define a weight decay.
_DEFAULT_WEIGHT_DECAY = 0.01
# Argument of `fit` -> the settings class that it also accepts.
_SETTING_CLASSES: dict[str, type[Any]] = {
    "objective": Objective,
    "epochs": Epochs,
    "batch_size": Batches,
    "optimizer": Updates,
    "backend": Computation,
    "out": RunFolder,
}
# Deprecated argument of `fit` -> its replacement.
_MOVED_FIELDS = {
    field.name: argument
    for argument, kind in _SETTING_CLASSES.items()
    for field in fields(kind)
    if field.name != argument
}
# Name of an argument in other libraries -> argument of `fit` that an error suggests.
_OTHER_LIBRARIES_NAMES = {
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
class FitSettings:
    """The settings of a run."""

    objective: Objective
    epochs: Epochs
    batches: Batches
    updates: Updates
    computation: Computation
    folder: RunFolder
    target: Backend
    lr: float
    schedule: ScheduleLike | None
    weight_decay: float | None
    seed: int
    resume: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", as_seed(self.seed, format_option("seed")))
        object.__setattr__(self, "lr", as_positive("lr", self.lr))
        has_folder, schedule = self.folder.out is not None, self.schedule
        if self.resume and not (self.resume is True and has_folder):
            raise ArgumentError(
                "resume must be True, together with out= (the folder of the run to "
                f"resume), got resume={quote(self.resume)}"
                + ("" if has_folder else " without out=")
            )
        if schedule is None:
            return
        if isinstance(schedule, type) or not callable(schedule):
            raise ArgumentError(
                "schedule must be an object such as sl.optim.CosineDecay(1e-3, "
                f"total=1000), or a function of the step, got {quote(schedule)}"
            )
        if self.lr != DEFAULT_LR:
            raise ArgumentError(
                "lr and schedule both set the learning rate: leave out lr (--lr), or "
                "schedule"
            )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Create the settings from the result of `read_arguments`."""
        computation: Computation = given["backend"]
        device = choose_device(computation.backend)
        return cls(
            objective=given["objective"],
            epochs=given["epochs"],
            batches=given["batch_size"],
            updates=given["optimizer"],
            computation=computation,
            folder=given["out"],
            target=find_backend(device, num_threads=computation.num_threads),
            lr=given["lr"],
            schedule=given["schedule"],
            weight_decay=given["optimizer"].weight_decay,
            seed=given["seed"],
            resume=given["resume"],
        )

    @property
    def backend(self) -> str:
        """The name of the backend that the user requested."""
        given = self.computation.backend
        return given if isinstance(given, str) else given.name

    def check(self, model: Module | Config, *, processes: int) -> None:
        """Raise if a setting conflicts with the network, backend or number of processes."""
        precision, is_torch = self.computation.precision, isinstance(model, TorchModule)
        if precision != DEFAULT_PRECISION:
            if is_torch:
                raise ArgumentError(
                    f"precision={quote(precision)} needs a seqloom network; put "
                    "torch.autocast into the forward of a torch.nn.Module"
                )
            if reason := explain_slowdown(self.target, precision):
                raise BackendError(
                    f"precision={quote(precision)}: {reason}, so training would be slower "
                    "than in float32; leave precision out (--precision), or choose a "
                    "backend and device with fast half precision"
                )
        if processes > 1:
            self._check_processes(processes)
        if self.computation.compile is not True:
            return
        if is_torch:
            raise ArgumentError(
                "Computation(compile=True) compiles seqloom networks; use "
                "torch.compile(module) instead"
            )
        if precision == "float16":
            raise ArgumentError(
                "Computation(compile=True): a step in float16 may be skipped; leave "
                'compile out, or use precision="bfloat16"'
            )

    def _check_processes(self, processes: int) -> None:
        """Raise if a setting needs a single process."""
        if self.epochs.budget is not None:
            # The processes would measure different times, and stop at different epochs.
            raise ArgumentError(
                f"budget (--budget) needs one process, got {processes}; set the number of "
                "epochs instead (--epochs)"
            )
        if self.computation.compile is True:
            raise ArgumentError(
                "Computation(compile=True): a compiled step cannot wait for the other "
                f"{processes - 1} processes; leave compile out"
            )

    def for_network(self, network: Module) -> Self:
        """Return the settings, with the network's defaults for settings that are None."""
        epochs, decay = self.epochs, self.weight_decay
        if epochs.epochs is None:
            epochs = replace(epochs, epochs=getattr(network, "epochs", None))
        if decay is None:
            decays = {find_weight_decay(it) for it in list_members(network)}
            # None: each member of the ensemble has its own weight decay.
            decay = decays.pop() if len(decays) == 1 else None
        return replace(self, epochs=epochs, weight_decay=decay)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values, to compare with a resumed run."""
        objective, updates = self.objective, self.updates
        # The report shows the settings in this order.
        return {
            "epochs": self.epochs.epochs,
            "batch_size": self.batches.batch_size,
            "lr": self.lr,
            "weight_decay": self.weight_decay,
            "early_stop": self.epochs.early_stop,
            "seed": self.seed,
            "backend": self.backend,
            "loss": _describe(objective.loss),
            "optimizer": _describe(updates.optimizer),
            "schedule": _describe(self.schedule),
            "step": _describe(objective.step),
            "precision": self.computation.precision,
            "clip_norm": updates.clip_norm,
            "accumulate": self.batches.accumulate,
            "weight_average": updates.weight_average,
            "drop_last": self.batches.drop_last,
        }


def find_weight_decay(network: Module) -> float:
    """Return the weight decay of a network if the user sets none."""
    decay: float | None = getattr(network, "weight_decay", None)
    return _DEFAULT_WEIGHT_DECAY if decay is None else decay


def _describe(value: Optimizer | Callable[..., Any] | None) -> Any:
    """Convert an optimiser or schedule to JSON values, and another object to its name."""
    if value is None:
        return None
    if isinstance(value, (Optimizer, Schedule)):
        return value.to_dict()
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return f"{value.__module__}.{name}"


def read_arguments(plain: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `fit` as setting classes, including deprecated keywords."""
    _check_names(old, plain)
    found: dict[str, Any] = {"schedule": None}
    for argument, given in plain.items():
        found[argument] = _to_setting_class(_SETTING_CLASSES.get(argument), given)
    if callable(found["lr"]):
        found |= {"lr": DEFAULT_LR, "schedule": found["lr"]}
    for name, value in old.items():
        argument = _MOVED_FIELDS.get(name, "lr")
        if isinstance(plain[argument], _SETTING_CLASSES.get(argument, Callable)):
            raise ArgumentError(
                f"{argument}= and {name}= contradict each other: pass {_replacement(name)}"
            )
        warn_user(
            f"fit({name}=...) will be removed in the next version; use "
            f"{_replacement(name)}",
            DeprecationWarning,
        )
        if name == "schedule":
            found["schedule"] = value
        else:
            found[argument] = replace(found[argument], **{name: value})
    return found


def _to_setting_class(kind: type[Any] | None, given: Any) -> Any:
    """Convert a simple value, such as a number of epochs, to its setting class."""
    if kind is None or isinstance(given, kind):
        return given
    if kind is not Objective:
        return kind(given)
    return Objective(loss=given) if callable(given) else Objective(task=given)


def _replacement(name: str) -> str:
    """Return the replacement of a deprecated keyword."""
    if name == "schedule":
        return "lr=schedule"
    argument = _MOVED_FIELDS[name]
    return f"{argument}=sl.train.{_SETTING_CLASSES[argument].__name__}({name}=...)"


def _check_names(old: Mapping[str, Any], plain: Mapping[str, Any]) -> None:
    """Raise if `fit` does not have an argument, and suggest the most similar name."""
    names = ["model", "train", "valid", *plain, *_MOVED_FIELDS]
    for name in old:
        if name in _MOVED_FIELDS or name == "schedule":
            continue
        near = (
            [_OTHER_LIBRARIES_NAMES[name]]
            if name in _OTHER_LIBRARIES_NAMES
            else get_close_matches(name, names, n=1)
        )
        if not near:
            hint = f"it takes {', '.join(['model', 'train', 'valid', *plain])}"
        elif near[0] in _MOVED_FIELDS:
            hint = f"did you mean {_replacement(near[0])}?"
        else:
            hint = f"did you mean {near[0]}=?"
        raise TypeError(f"fit() has no argument {name}=; {hint}")
