"""Where a run stands after an epoch, and the one file that brings it back there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from seqloom.errors import RecordError, RunFolderError
from seqloom.nn import Module
from seqloom.optim import Optimizer
from seqloom.record import Record, load

_VERSION = 1


@dataclass(slots=True)
class State:
    """What changes from epoch to epoch."""

    model: Module
    optimizer: Optimizer
    history: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    best_epoch: int = 0
    best: Record = field(default_factory=lambda: Record({}))

    @property
    def epoch(self) -> int:
        """The number of finished epochs."""
        return len(self.history)


def save_checkpoint(path: Path, state: State, identity: Mapping[str, Any]) -> None:
    """Writes the state whole or not at all."""
    parts = state.model.to_record().with_prefix("model.")
    parts |= state.optimizer.to_record().with_prefix("optimizer.")
    if state.best_epoch != state.epoch:
        parts |= state.best.with_prefix("best.")
    facts = {"version": _VERSION, "identity": dict(identity), "history": state.history}
    facts |= {"best_epoch": state.best_epoch}
    Record(parts, metadata={**parts.metadata, **facts}).save(path)


def load_checkpoint(path: Path, state: State, identity: Mapping[str, Any]) -> None:
    """Brings a state to where `save_checkpoint` wrote it."""
    record = load(path)
    facts = record.metadata
    known = {"identity", "history", "best_epoch"} <= facts.keys()
    if facts.get("version") != _VERSION or not known:
        raise RecordError(f"{path}: not a checkpoint that this version of seqloom reads")
    _check_same(path, facts["identity"], identity)
    state.model.load_record(record.under("model."))
    state.optimizer.load_record(record.under("optimizer."))
    state.history, state.best_epoch = facts["history"], facts["best_epoch"]
    state.best = _in_memory(record.under("best.")) or state.model.to_record()


def _check_same(path: Path, saved: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuses to go on with something else than what was begun."""
    for name, value in now.items():
        if name == "epochs":
            _check_epochs(path, saved.get(name), value)
        elif saved.get(name) != value:
            raise RunFolderError(
                f"{path}: this run was begun with {_difference(name, saved, value)}; "
                "resume with the same, or begin anew (overwrite=True, --overwrite)"
            )


def _check_epochs(path: Path, saved: Any, now: Any) -> None:
    """Lets a run have more epochs than it was begun with, but not fewer."""
    # A number may follow epochs that were chosen by the run, not the reverse.
    if saved is not None and (now is None or now < saved):
        found = "" if now is None else f", not {now}"
        raise RunFolderError(
            f"{path}: this run was begun with epochs {saved}{found}; resume with as many "
            "or more (epochs=, --epochs), or begin anew (overwrite=True, --overwrite)"
        )


def _difference(name: str, saved: Mapping[str, Any], value: object) -> str:
    """Says what the run had; of data the fingerprints would tell nobody anything."""
    if name.endswith("data") and value is not None and saved.get(name) is not None:
        return f"other {name}"
    inner = _first_difference(saved.get(name), value)
    return f"{name} {inner or f'{_shorten(saved.get(name))}, not {_shorten(value)}'}"


def _first_difference(saved: Any, now: Any) -> str:
    """Says which entry of two descriptions differs first; nothing of other values."""
    if not (isinstance(saved, Mapping) and isinstance(now, Mapping)):
        return ""
    was, wanted = cast("tuple[Mapping[str, Any], Mapping[str, Any]]", (saved, now))
    names = [name for name in {**was, **wanted} if was.get(name) != wanted.get(name)]
    return _difference(names[0], was, wanted.get(names[0])) if names else ""


def _shorten(value: object) -> str:
    """Shortens a value for a message."""
    text = str(value)
    return text if len(text) < 60 else text[:57] + "..."  # noqa: PLR2004 - half a line


def _in_memory(record: Record) -> Record:
    """Reads all arrays now, because the file will be replaced."""
    return Record({path: np.asarray(array) for path, array in record.items()})
