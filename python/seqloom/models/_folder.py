"""The run folder: what it may be, and what stands in it."""

import json
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from seqloom._files import write_atomic
from seqloom._system import sync
from seqloom.errors import ArgumentError, FileError, RunFolderError
from seqloom.models._run_lock import NAME, writing_alone
from seqloom.models._training_facts import ENCODER, LETTERS

# What every config.json holds.
ENTRIES = {"version", "model", "encoder", "task", "batch_size"}
WEIGHTS = "model.safetensors"
HISTORY = "metrics.jsonl"
RESULTS = "results.json"
# The model card; a person may write one of their own, which then stays.
CARD = "README.md"
_OWN = b"<!-- Written by seqloom."
_CONFIG = "config.json"
# The options that the command line began a run with.
COMMAND = "command.json"
_CHECKPOINTS = "checkpoint"
_LAST = f"{_CHECKPOINTS}/last.safetensors"
_STEP = re.compile(r"step-(\d{8,})\.safetensors")
_FILES = (
    _CONFIG,
    COMMAND,
    _LAST,
    ENCODER,
    LETTERS,
    WEIGHTS,
    HISTORY,
    RESULTS,
    "scores-valid.tsv",
    "scores-test.tsv",
    "labels-valid.tsv",
    "labels-test.tsv",
    "learning-curve.svg",
    "confusion.svg",
    "scatter.svg",
    "report.html",
)


@contextmanager
def opened_folder(path: Path, *, resume: bool, overwrite: bool) -> Generator[None]:
    """Makes the folder ready for a run, and keeps others out while the block runs."""
    # What must not be lost is never touched.
    if resume and overwrite:
        raise ArgumentError("resume keeps a run and overwrite replaces it: choose one")
    _check_is_run(path)
    _make(path)
    with writing_alone(path):
        if _holds_something(path):
            _enter(path, resume=resume, overwrite=overwrite)
        yield


def make_checkpoint_folder(path: Path) -> None:
    """Makes the folder of a run's checkpoints, and waits until the disk has it."""
    _make(checkpoint_path(path).parent)


def _make(path: Path) -> None:
    """Makes a folder and those above it; each stays if the machine stops."""
    try:
        missing = [it for it in (path, *path.parents) if not it.exists()]
        path.mkdir(parents=True, exist_ok=True)
        for folder in missing:
            sync(folder.parent)
    except OSError as error:
        reason = _find_file(path) or error.strerror
        raise FileError(f"{path}: cannot make the run folder: {reason}") from None


def _find_file(path: Path) -> str:
    """Says which file is where a folder is to be, if one is."""
    files = [it for it in (path, *path.parents) if it.is_file()]
    advice = "out (--out) needs the name of a folder, new or with a run in it"
    return f"{files[0]} is a file; {advice}" if files else ""


def is_config(path: Path) -> bool:
    """Says whether a file is the ``config.json`` of a run, of whatever version."""
    try:
        facts: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(facts, dict) or not facts.keys() >= ENTRIES:
        return False
    task = cast("dict[str, Any]", facts)["task"]
    return isinstance(task, dict) and "class" in task


def checkpoint_path(path: Path) -> Path:
    """Gives the newest checkpoint of a run."""
    return path / _LAST


def step_path(path: Path, step: int) -> Path:
    """Gives the checkpoint of a step, of a run that keeps several."""
    return path / _CHECKPOINTS / f"step-{step:08}.safetensors"


def list_steps(path: Path) -> dict[int, Path]:
    """Finds the checkpoints of steps."""
    files = (path / _CHECKPOINTS).glob("step-*.safetensors")
    return {int(match[1]): file for file in files if (match := _STEP.fullmatch(file.name))}


def is_own_card(path: Path) -> bool:
    """Says whether a run wrote this card, and no person has taken it over."""
    try:
        return _OWN in path.read_bytes()
    except FileNotFoundError:
        return False


def write_history(path: Path, history: list[dict[str, Any]]) -> None:
    """Writes ``metrics.jsonl``, a line an epoch, in one go: no line is ever cut."""
    lines = "".join(json.dumps(row) + "\n" for row in history)
    write_atomic(path / HISTORY, lines.encode())


def _enter(path: Path, *, resume: bool, overwrite: bool) -> None:
    """Goes into a folder that holds something already."""
    _check_is_run(path)
    if resume:
        _check_goes_on(path)
        for left in _list_temporary_files(path):
            left.unlink()
    elif overwrite:
        _remove(path)
    else:
        raise RunFolderError(
            f"{path}: holds a run already; choose another folder, "
            "resume it (resume=True, --resume) or replace it (overwrite=True, --overwrite)"
        )


def _check_is_run(path: Path) -> None:
    """Refuses a folder of other things."""
    if _holds_something(path) and not (is_config(path / _CONFIG) or _is_bare(path)):
        raise RunFolderError(f"{path}: holds files that are no run; choose an empty folder")


def _holds_something(path: Path) -> bool:
    """Says whether there is anything but the lock of a run."""
    return path.is_dir() and any(each.name != NAME for each in path.iterdir())


def _check_goes_on(path: Path) -> None:
    """Refuses a model that was saved without a checkpoint, rather than to replace it."""
    if (path / WEIGHTS).exists() and not (path / _LAST).exists():
        raise RunFolderError(
            f"{path}: holds a model without a checkpoint, which cannot go on; choose "
            "another folder, or replace it (overwrite=True, --overwrite)"
        )


def _remove(path: Path) -> None:
    """Removes a run's own files and no others."""
    for file in [*(path / name for name in _FILES), *list_steps(path).values()]:
        file.unlink(missing_ok=True)
    if is_own_card(path / CARD):
        (path / CARD).unlink()
    for left in _list_temporary_files(path):
        left.unlink()


def _is_bare(path: Path) -> bool:
    """Says whether a run was killed here before it wrote its settings."""
    begun = {path / name for name in (_CHECKPOINTS, ENCODER, LETTERS, NAME)}
    begun |= {*_list_temporary_files(path)}
    return (path / _CHECKPOINTS).is_dir() and begun.issuperset(path.rglob("*"))


def _list_temporary_files(path: Path) -> Iterator[Path]:
    """Finds what a killed writer of a run's file left under a temporary name."""
    for file in (path / name for name in (*_FILES, CARD)):
        yield from file.parent.glob(f".{file.name}.????????.part")
    yield from (path / _CHECKPOINTS).glob(".step-*.safetensors.????????.part")
