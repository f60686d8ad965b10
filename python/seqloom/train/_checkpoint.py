"""Where a run stands after a step, and the one file that brings it back there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Protocol, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from seqloom.errors import RecordError, RunFolderError
from seqloom.nn import Module
from seqloom.optim import Optimizer, WeightAverage
from seqloom.record import Record, load
from seqloom.train._progress import Step

# Version 1, which knew whole epochs only, is read too.
_VERSION = 2
_READ = (1, _VERSION)
STEPS = "epoch.steps"
# Columns of the table of steps that each has.
_COLUMNS = 3
_Count = Annotated[int, msgspec.Meta(ge=0)]
# What a run had before it could be chosen: its checkpoint does not name it.
_BEFORE = {"precision": "float32", "accumulate": 1, "drop_last": False}
# What no caller gives to a class.
_UNSAID = {"class", "version"}
# Where a caller says what a checkpoint names in words of its own.
_ARGUMENTS = {
    "augmentation": "augment=, --reverse-complement",
    "compiled": "compile=, --compile",
    "encoder": "the dataset's encoder=, --unknown, --case, --rare, --symbols",
    "model": "the model's settings, --width, --kernel-size, --dropout, --rank",
    "task": "class_weight=, --class-weight, and the labels",
    "training data": "files, labels and parts",
    "validation data": "files, labels and parts",
    "loss": "loss=",
    "step": "step=",
}


class _Facts(msgspec.Struct):
    """What a checkpoint says beside its arrays."""

    identity: dict[str, Any]
    history: list[dict[str, Any]]
    best_epoch: _Count
    best_step: _Count = 0
    lr: float = 0.0
    seconds: float = 0.0
    numbers: list[str] = []
    others: dict[str, dict[str, Any]] = {}


class Stateful(Protocol):
    """What else changes from step to step, such as an average of weights."""

    def to_record(self) -> Record:
        """Returns the state."""
        ...

    def load_record(self, record: Any) -> Any:
        """Sets the state."""
        ...


@dataclass(slots=True)
class State:
    """What changes from step to step."""

    model: Module
    optimizer: Optimizer
    history: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    best_epoch: int = 0
    best_step: int = 0  # the steps of the run until the end of that epoch
    best: Record = field(default_factory=lambda: Record({}))
    # Of the epoch that is under way: what its steps gave, their last learning rate and the
    # time that they took.
    steps: list[Step] = field(default_factory=list[Step])
    lr: float = 0.0
    seconds: float = 0.0
    others: dict[str, Stateful] = field(default_factory=dict[str, Stateful])
    # False while a step changes the parts one by one.
    is_whole: bool = True

    @property
    def epoch(self) -> int:
        """The number of finished epochs."""
        return len(self.history)

    def end_epoch(self, row: dict[str, Any], *, is_best: bool) -> None:
        """Takes up the row of an epoch, and the weights if they are the best so far."""
        self.history.append(row)
        self.steps, self.lr, self.seconds = [], 0.0, 0.0
        if is_best:
            self.best_epoch, self.best = self.epoch, self.averaged.to_record()
            self.best_step = self.optimizer.step_count

    @property
    def averaged(self) -> Module:
        """The network to evaluate and keep: the average of the weights, if there is one."""
        own = self.others.get("weight_average")
        if isinstance(own, WeightAverage) and own.update_count:
            return own.apply_average(self.model)
        # Some optimisers train at another point.
        average = getattr(self.optimizer, "apply_average", None)
        return self.model if average is None else average(self.model)


def save_checkpoint(path: Path, state: State, identity: Mapping[str, Any]) -> None:
    """Writes the state whole or not at all."""
    optimizer = state.optimizer.to_record()
    parts = state.model.to_record().with_prefix("model.")
    parts |= optimizer.with_prefix("optimizer.")
    others = {name: other.to_record() for name, other in state.others.items()}
    for name, record in others.items():
        parts |= record.with_prefix(f"{name}.")
    if state.steps:
        parts |= Record({STEPS: _to_table(state.steps)})
    # After a whole epoch that is the best so far the model's weights are the best ones.
    if state.best_epoch and (
        state.steps
        or state.best_epoch != state.epoch
        or hasattr(state.optimizer, "apply_average")
        or "weight_average" in state.others
    ):
        parts |= state.best.with_prefix("best.")
    facts = {"version": _VERSION, "identity": dict(identity), "history": state.history}
    facts |= {"best_epoch": state.best_epoch, "best_step": state.best_step}
    facts |= {"lr": state.lr, "seconds": state.seconds}
    facts |= {"numbers": [*state.steps[-1].numbers] if state.steps else []}
    facts |= {"others": {name: record.metadata for name, record in others.items()}}
    parts.metadata = {**optimizer.metadata, **facts}
    parts.save(path)


def load_checkpoint(path: Path, state: State, identity: Mapping[str, Any]) -> None:
    """Brings a state to where `save_checkpoint` wrote it."""
    record = load(path)
    facts = _read_facts(path, record.metadata)
    check_same(path, facts.identity, identity)
    state.model.load_record(record.under("model."))
    state.optimizer.load_record(record.under("optimizer."))
    for name, other in state.others.items():
        if name not in facts.others:
            raise RecordError(f"{path}: this run was begun without a state of {name}")
        own = Record(dict(record.under(f"{name}.")), metadata=facts.others[name])
        other.load_record(own)
    state.history, state.best_epoch = facts.history, facts.best_epoch
    state.best_step = facts.best_step
    table = _read_table(path, record, facts.numbers)
    state.steps = _from_table(table, facts.numbers, epoch=state.epoch + 1)
    state.lr, state.seconds = facts.lr, facts.seconds
    best = (record.under("best.") or state.model.to_record()).copy()
    best.metadata.clear()  # those of the checkpoint
    state.best = best


def _to_table(steps: list[Step]) -> NDArray[np.float64]:
    """Gives the steps of an epoch as rows; NaN stands for no accuracy."""
    rows = [
        (
            *(step.samples, step.loss, np.nan if step.accuracy is None else step.accuracy),
            *step.numbers.values(),
        )
        for step in steps
    ]
    return np.array(rows, np.float64)


def _read_facts(path: Path, metadata: dict[str, Any]) -> _Facts:
    """Returns what a checkpoint says; refuses what no version of this package wrote."""
    version = metadata.get("version")
    try:
        if type(version) is int and version in _READ:
            return msgspec.convert(metadata, _Facts)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise RecordError(f"{path}: not a whole checkpoint ({error})") from None
    raise RecordError(f"{path}: not a checkpoint that this version of seqloom reads")


def _read_table(path: Path, record: Record, numbers: list[str]) -> list[list[float]]:
    """Returns the rows of an epoch that is under way; refuses others than `_to_table`'s."""
    if STEPS not in record:
        return []
    table: NDArray[Any] = np.asarray(record[STEPS])
    is_table = table.dtype == np.float64 and table.shape[1:] == (_COLUMNS + len(numbers),)
    if not is_table or not np.isfinite(table[:, 0]).all():
        raise RecordError(f"{path}: its table of steps is not that of an epoch")
    return table.tolist()


def _from_table(table: list[list[float]], names: list[str], *, epoch: int) -> list[Step]:
    """Gives the steps that rows tell of."""
    return [
        Step(
            *(epoch, number, int(samples), loss, None if np.isnan(right) else right),
            numbers=dict(zip(names, numbers, strict=True)),
        )
        for number, (samples, loss, right, *numbers) in enumerate(table, 1)
    ]


def check_same(path: Path, saved: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuses to go on with something else than what was begun; names all differences."""
    found = [
        _spell_epochs(saved.get(name), value)
        if name == "epochs"
        else f"{_difference(name, saved, value)} ({_argument(name)})"
        for name, value in now.items()
        if _differs(name, saved.get(name, _BEFORE.get(name)), value)
    ]
    if found:
        raise RunFolderError(
            f"{path}: this run was begun with {'; '.join(found)}: resume with what it was "
            "begun with, or begin anew (overwrite=True, --overwrite)"
        )


def _differs(name: str, saved: Any, now: Any) -> bool:
    """Says whether a setting is another one; there may be more epochs, but not fewer."""
    # A number may follow epochs that were chosen by the run, not the reverse.
    if name == "epochs" and (saved is None or (type(saved) is int and now is not None)):
        return saved is not None and now < saved
    return name == "epochs" or saved != now


def _argument(name: str) -> str:
    """Names what a caller gives, in Python and on the command line."""
    return _ARGUMENTS.get(name, f"{name}=, --{name.replace('_', '-')}")


def _spell_epochs(saved: Any, now: Any) -> str:
    """Says how many epochs the run had."""
    found = "" if now is None else f", not {now}"
    return f"epochs {saved}{found}; as many or more are allowed (epochs=, --epochs)"


def _difference(name: str, saved: Mapping[str, Any], value: object) -> str:
    """Says what the run had; of data the fingerprints would tell nobody anything."""
    was: Any = saved.get(name, _BEFORE.get(name))
    if name.endswith("data") and value is not None and was is not None:
        return f"other {name}"
    if not (isinstance(was, Mapping) and isinstance(value, Mapping)):
        return f"{name} {_shorten(saved.get(name))}, not {_shorten(value)}"
    old, new = cast("tuple[Mapping[str, Any], Mapping[str, Any]]", (was, value))
    names = [each for each in {**old, **new} if old.get(each) != new.get(each)]
    return f"{name} " + " and ".join(
        _difference(each, old, new.get(each)) for each in names
    )


def _shorten(value: object) -> str:
    """Shortens a value for a message; what has a class is written as it is made."""
    text = str(value)
    if isinstance(value, Mapping) and "class" in value:
        facts = cast("Mapping[str, Any]", value)
        given = [f"{key}={it!r}" for key, it in facts.items() if key not in _UNSAID]
        text = f"{facts['class']}({', '.join(given)})"
    return text if len(text) < 60 else text[:57] + "..."  # noqa: PLR2004 - half a line
