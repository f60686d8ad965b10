"""The settings of a run and the arguments of `fit`, checked before any work."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from seqloom import optim
from seqloom._arguments import as_flag, as_integer, as_number, as_seed, quote
from seqloom.errors import ArgumentError
from seqloom.models import TorchModule
from seqloom.nn import Config, Module
from seqloom.optim import Optimizer
from seqloom.tensor import Backend, backend as find_backend
from seqloom.train._judged import Metric, list_metrics
from seqloom.train._precision import check_precision
from seqloom.train._ranks import choose_device
from seqloom.train._schedule import ScheduleLike, check_schedule, describe_schedule, name_of
from seqloom.train._update import EQUAL, check_average
from seqloom.train._values import LR, ClassWeight

_NEEDED = {"batch_size", "lr", "accumulate"}
# The weight decay of a network that has no wish of its own.
_DECAY = 0.01
# What a checkpoint names by plain values, in the order in which a report lists it.
_PLAIN = (
    *("epochs", "batch_size", "lr", "weight_decay", "early_stop", "seed", "backend"),
    *("loss", "optimizer", "schedule", "step", "precision", "clip_norm", "accumulate"),
    *("weight_average", "drop_last"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `fit` was asked for: numbers, and the objects that compute."""

    epochs: int | None
    batch_size: int
    lr: float
    weight_decay: float | None
    early_stop: int | None
    seed: int
    backend: str
    target: Backend  # the backend of that name
    task: str
    loss: Callable[[Any, Any], Any] | None
    optimizer: Optimizer | None
    schedule: ScheduleLike | None
    step: Callable[..., Any] | None
    precision: str
    compile: bool | str
    clip_norm: float | None
    accumulate: int
    weight_average: float | str | None
    drop_last: bool
    class_weight: ClassWeight
    metrics: Mapping[str, Metric]

    def __post_init__(self) -> None:
        # NumPy's numbers become Python's, because a checkpoint holds them as JSON.
        for name in ("epochs", "batch_size", "early_stop", "accumulate"):
            if name in _NEEDED or getattr(self, name) is not None:
                self._set(name, as_integer(_spell(name), getattr(self, name), least=1))
        self._set("seed", as_seed(self.seed, _spell("seed")))
        self._set("drop_last", as_flag("drop_last", self.drop_last))
        for name in ("lr", "clip_norm"):
            if name in _NEEDED or getattr(self, name) is not None:
                self._set(name, self._above_0(name))
        if self.weight_average is not None:
            self._set("weight_average", self._average())
        if self.weight_decay is not None:
            self._set("weight_decay", self._shrinks())

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Makes the settings of the arguments of `fit` and the fields of its values."""
        backend = given["backend"]
        target = find_backend(choose_device(backend), num_threads=given["num_threads"])
        made: dict[str, Any] = {
            "backend": backend if isinstance(backend, str) else backend.name,
            "target": target,
            "metrics": list_metrics(given["metrics"]),
        }
        found: dict[str, Any] = {**given, **made}
        return cls(**{each.name: found[each.name] for each in fields(cls)})

    def _above_0(self, name: str) -> float:
        """Checks a number that must be positive."""
        above = "a number above 0"
        value = as_number(_spell(name), getattr(self, name), expected=above)
        if not value > 0:
            raise ArgumentError(f"{_spell(name)} must be {above}, got {value}")
        return value

    def _average(self) -> float | str:
        """Checks the decay of the weight average."""
        value, expected = self.weight_average, f"a number from 0 to below 1, or {EQUAL!r}"
        if value == EQUAL:
            return EQUAL
        if isinstance(value, str):
            raise ArgumentError(
                f"{_spell('weight_average')} must be {expected}, got {quote(value)}"
            )
        decay = as_number(_spell("weight_average"), value, expected=expected, least=0)
        if decay >= 1:
            raise ArgumentError(
                f"{_spell('weight_average')} must be {expected}, got {decay}"
            )
        return decay

    def _shrinks(self) -> float:
        """Checks the weight decay."""
        expected = "a number from 0"
        return as_number(
            _spell("weight_decay"), self.weight_decay, expected=expected, least=0
        )

    def for_network(self, network: Any) -> Self:
        """Gives the settings with what the network chooses where nothing was asked for."""
        chosen = self
        if self.epochs is None:
            chosen = replace(chosen, epochs=getattr(network, "epochs", None))
        if self.weight_decay is None:
            own: float | None = getattr(network, "weight_decay", None)
            chosen = replace(chosen, weight_decay=_DECAY if own is None else own)
        return chosen

    def to_dict(self) -> dict[str, Any]:
        """Describes the settings by plain values, for a resumed run to compare."""
        objects = {
            "loss": None if self.loss is None else name_of(self.loss),
            "step": None if self.step is None else name_of(self.step),
            "optimizer": None if self.optimizer is None else self.optimizer.to_dict(),
            "schedule": describe_schedule(self.schedule),
        }
        return {
            name: objects[name] if name in objects else getattr(self, name)
            for name in _PLAIN
        }

    def _set(self, name: str, value: float | str) -> None:
        """Replaces a field while the settings are made."""
        object.__setattr__(self, name, value)


def _spell(name: str) -> str:
    """Names an argument as Python and the command line know it."""
    return f"{name} (--{name.replace('_', '-')})"


def check_kinds(model: object, given: Mapping[str, Any]) -> None:
    """Refuses arguments of the wrong kind."""
    loss, resume, has_folder = given["loss"], given["resume"], given["out"] is not None
    if not isinstance(model, (Config, Module)):
        raise ArgumentError(
            f"model must be a Config or a Module, got {quote(model)}; "
            "SequenceCNNConfig.for_data(train) makes one, and run.model is a trained one"
        )
    if not (loss is None or callable(loss)):
        raise ArgumentError(
            f"loss must be a function loss(logits, labels), got {quote(loss)}; "
            "omit it to use the loss of the task"
        )
    if resume and not (resume is True and has_folder):
        raise ArgumentError(
            f"resume must be True, together with out= (the folder of the run to resume), "
            f"got resume={quote(resume)}" + ("" if has_folder else " without out=")
        )


def check_settings(settings: Settings, model: Config | Module) -> None:
    """Refuses settings that do not go together, or do not fit the network."""
    _check_optimizer(settings)
    check_average(settings.optimizer, settings.weight_average)
    _check_step(settings.step, settings.loss)
    if not (settings.compile == "auto" or isinstance(settings.compile, bool)):
        raise ArgumentError(
            f'compile must be True, False or "auto", got {quote(settings.compile)}'
        )
    check_precision(settings.precision, model, settings.target)


def _check_optimizer(settings: Settings) -> None:
    """Refuses an optimiser or a schedule of another kind, and what they make useless."""
    optimizer: Any = settings.optimizer
    weight_decay = settings.weight_decay
    if not (optimizer is None or isinstance(optimizer, optim.Optimizer)):
        raise ArgumentError(
            f"optimizer must be an optimiser such as sl.optim.SGD(momentum=0.9), got "
            f"{quote(optimizer)}{_instead_of(optimizer)}"
        )
    check_schedule(settings.schedule)
    if optimizer is not None and weight_decay is not None:
        raise ArgumentError(
            "weight_decay is a setting of the default optimiser; give it to yours instead: "
            f"{type(optimizer).__name__}(weight_decay={weight_decay})"
        )
    if settings.schedule is not None and settings.lr != LR:
        raise ArgumentError(
            "lr and schedule both give the learning rate: leave out lr (--lr), or schedule"
        )


def _instead_of(optimizer: object) -> str:
    """Says what to pass instead of an optimiser of torch, and of a class."""
    kind = optimizer if isinstance(optimizer, type) else type(optimizer)
    is_ours = issubclass(kind, optim.Optimizer)
    if not (is_ours or any(it.__module__.startswith("torch.optim") for it in kind.__mro__)):
        return ""
    name = {"RMSprop": "RMSProp", "Adagrad": "AdaGrad"}.get(kind.__name__, kind.__name__)
    made = f"sl.optim.{name}()" if hasattr(optim, name) else "one of seqloom.optim"
    return f"; pass optimizer={made} with its settings, and the learning rate as lr= of fit"


def _check_step(step: object, loss: object) -> None:
    """Refuses a step that is no function, and a loss beside it."""
    if step is None:
        return
    if isinstance(step, type) or not callable(step):
        raise ArgumentError(
            f"step must be a function step(model, batch, key) -> loss, got {quote(step)}"
        )
    if loss is not None:
        raise ArgumentError("step computes the loss itself: leave out loss, or step")


def check_compiled_step(settings: Settings, model: object, *, processes: int) -> None:
    """Refuses ``compile=True`` where the step cannot be compiled."""
    if settings.compile is not True:
        return
    if isinstance(model, TorchModule):
        raise ArgumentError(
            "compile=True compiles networks of ours; give torch.compile(module) instead"
        )
    if settings.precision == "float16":
        raise ArgumentError(
            "compile=True: a step in float16 may be skipped; leave compile out, or take "
            'precision="bfloat16"'
        )
    if processes > 1:
        raise ArgumentError(
            f"compile=True: a compiled step cannot wait for the other {processes - 1} "
            "processes; leave compile out"
        )
