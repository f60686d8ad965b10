"""Whether a run may go on from a checkpoint: what must be as it was begun."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from seqloom.errors import RunFolderError

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
