"""Whether a run may go on from a checkpoint: what must be as it was begun."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from seqloom.errors import RunFolderError

# What a run had before it could be chosen: its checkpoint does not name it.
_BEFORE = {"precision": "float32"}
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
    """Refuses to go on with something else than what was begun."""
    for name, value in now.items():
        if name == "epochs":
            _check_epochs(path, saved.get(name), value)
        elif saved.get(name, _BEFORE.get(name)) != value:
            raise RunFolderError(
                f"{path}: this run was begun with {_difference(name, saved, value)}; "
                f"resume with the same ({_argument(name)}), or begin anew (overwrite=True, "
                "--overwrite)"
            )


def _argument(name: str) -> str:
    """Names what a caller gives, in Python and on the command line."""
    return _ARGUMENTS.get(name, f"{name}=, --{name.replace('_', '-')}")


def _check_epochs(path: Path, saved: Any, now: Any) -> None:
    """Lets a run have more epochs than it was begun with, but not fewer."""
    # A number may follow epochs that were chosen by the run, not the reverse.
    is_number = type(saved) is int
    if saved is not None and (not is_number or now is None or now < saved):
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
    """Shortens a value for a message; what has a class is written as it is made."""
    text = str(value)
    if isinstance(value, Mapping) and "class" in value:
        facts = cast("Mapping[str, Any]", value)
        given = [f"{key}={it!r}" for key, it in facts.items() if key not in _UNSAID]
        text = f"{facts['class']}({', '.join(given)})"
    return text if len(text) < 60 else text[:57] + "..."  # noqa: PLR2004 - half a line
