"""Checks of the arguments of `fit` that need no data."""

from collections.abc import Iterable
from difflib import get_close_matches

from seqloom import optim
from seqloom._arguments import quote
from seqloom.errors import ArgumentError
from seqloom.models import TorchModule
from seqloom.nn import Config, Module
from seqloom.train._schedule import check_schedule

LR = 1e-3  # the learning rate by default
# What other libraries call an argument of `fit`.
_NAMES = {
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


def check_known(given: Iterable[str], known: Iterable[str]) -> None:
    """Refuses an argument that `fit` does not have, and names the nearest one."""
    names = [*known]
    for name in given:
        near = [_NAMES[name]] if name in _NAMES else get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}=?" if near else f"it takes {', '.join(names)}"
        raise TypeError(f"fit() has no argument {name}=; {hint}")


def check_kinds(model: object, loss: object, *, resume: object, has_folder: bool) -> None:
    """Refuses arguments of the wrong kind."""
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


def check_optimizer(
    optimizer: object, schedule: object, *, lr: object, weight_decay: object
) -> None:
    """Refuses an optimiser or a schedule of another kind, and what they make useless."""
    if not (optimizer is None or isinstance(optimizer, optim.Optimizer)):
        raise ArgumentError(
            f"optimizer must be an optimiser such as sl.optim.SGD(momentum=0.9), got "
            f"{quote(optimizer)}{_instead_of(optimizer)}"
        )
    check_schedule(schedule)
    if optimizer is not None and weight_decay is not None:
        raise ArgumentError(
            "weight_decay is a setting of the default optimiser; give it to yours instead: "
            f"{type(optimizer).__name__}(weight_decay={weight_decay})"
        )
    if schedule is not None and lr != LR:
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


def check_step(step: object, loss: object) -> None:
    """Refuses a step that is no function, and a loss beside it."""
    if step is None:
        return
    if isinstance(step, type) or not callable(step):
        raise ArgumentError(
            f"step must be a function step(model, batch, key) -> loss, got {quote(step)}"
        )
    if loss is not None:
        raise ArgumentError("step computes the loss itself: leave out loss, or step")


def check_compiled_step(
    value: object, model: object, *, precision: str, processes: int
) -> None:
    """Refuses ``compile=True`` where the step cannot be compiled."""
    if value is not True:
        return
    if isinstance(model, TorchModule):
        raise ArgumentError(
            "compile=True compiles networks of ours; give torch.compile(module) instead"
        )
    if precision == "float16":
        raise ArgumentError(
            "compile=True: a step in float16 may be skipped; leave compile out, or take "
            'precision="bfloat16"'
        )
    if processes > 1:
        raise ArgumentError(
            f"compile=True: a compiled step cannot wait for the other {processes - 1} "
            "processes; leave compile out"
        )
