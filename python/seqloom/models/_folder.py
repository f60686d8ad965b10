"""The run folder: what it may be, what is in it, and the lock of the run that writes it."""

import json
import os
import re
import socket
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from seqloom._arguments import is_dict
from seqloom._files import is_at, write_atomic
from seqloom._signals import signals_waiting
from seqloom._system import NOFOLLOW, after_fork, lock, open_handle, sync
from seqloom.errors import ArgumentError, FileError, RunFolderError
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
    """Make the folder ready for a run, and keeps others out while the block runs."""
    # What must not be lost is never touched.
    if resume and overwrite:
        raise ArgumentError("resume keeps a run and overwrite replaces it: choose one")
    _check_is_run(path)
    _make_folder(path)
    with writing_alone(path):
        if _holds_something(path):
            _check_is_run(path)
            if resume:
                _prepare_resume(path)
            elif overwrite:
                _remove(path)
            else:
                raise RunFolderError(
                    f"{path}: holds a run already; choose another folder, "
                    "resume it (resume=True, --resume) or replace it "
                    "(RunFolder(..., overwrite=True), --overwrite)"
                )
        yield


def make_checkpoint_folder(path: Path) -> None:
    """Make the folder of a run's checkpoints, and waits until the disk has it."""
    _make_folder(checkpoint_path(path).parent)


def _make_folder(path: Path) -> None:
    """Make a folder and those above it; each stays if the machine stops."""
    try:
        missing = [it for it in (path, *path.parents) if not it.exists()]
        path.mkdir(parents=True, exist_ok=True)
        for folder in missing:
            sync(folder.parent)
    except OSError as error:
        files = [it for it in (path, *path.parents) if it.is_file()]
        advice = "out (--out) needs the name of a folder, new or with a run in it"
        reason = f"{files[0]} is a file; {advice}" if files else error.strerror
        raise FileError(f"{path}: cannot make the run folder: {reason}") from None


def is_config(path: Path) -> bool:
    """Return whether a file is the ``config.json`` of a run, of whatever version."""
    try:
        facts: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    if not is_dict(facts) or not facts.keys() >= ENTRIES:
        return False
    return is_dict(facts["task"]) and "class" in facts["task"]


def checkpoint_path(path: Path) -> Path:
    """Return the newest checkpoint of a run."""
    return path / _LAST


def step_path(path: Path, step: int) -> Path:
    """Return the checkpoint of a step, of a run that keeps several."""
    return path / _CHECKPOINTS / f"step-{step:08}.safetensors"


def list_steps(path: Path) -> dict[int, Path]:
    """Find the checkpoints of steps."""
    files = (path / _CHECKPOINTS).glob("step-*.safetensors")
    return {int(match[1]): file for file in files if (match := _STEP.fullmatch(file.name))}


def is_own_card(path: Path) -> bool:
    """Return whether a run wrote this card, and no person has taken it over."""
    try:
        return _OWN in path.read_bytes()
    except FileNotFoundError:
        return False


def write_history(path: Path, history: list[dict[str, Any]]) -> None:
    """Write ``metrics.jsonl``, a line an epoch, in one go: no line is ever cut."""
    lines = "".join(json.dumps(row) + "\n" for row in history)
    write_atomic(path / HISTORY, lines.encode())


def _check_is_run(path: Path) -> None:
    """Refuse a folder of other things."""
    if _holds_something(path) and not (is_config(path / _CONFIG) or _is_bare(path)):
        raise RunFolderError(f"{path}: holds files that are no run; choose an empty folder")


def _holds_something(path: Path) -> bool:
    """Return whether there is anything but the lock of a run."""
    return path.is_dir() and any(each.name != LOCK for each in path.iterdir())


def _prepare_resume(path: Path) -> None:
    """Refuse a model that was saved without a checkpoint, rather than to replace it."""
    if (path / WEIGHTS).exists() and not (path / _LAST).exists():
        raise RunFolderError(
            f"{path}: holds a model without a checkpoint, which cannot go on; choose "
            "another folder, or replace it (RunFolder(..., overwrite=True), --overwrite)"
        )
    for left in _list_temporary_files(path):
        left.unlink()


def _remove(path: Path) -> None:
    """Remove a run's own files and no others."""
    for file in [*(path / name for name in _FILES), *list_steps(path).values()]:
        file.unlink(missing_ok=True)
    if is_own_card(path / CARD):
        (path / CARD).unlink()
    for left in _list_temporary_files(path):
        left.unlink()


def _is_bare(path: Path) -> bool:
    """Return whether a run was killed here before it wrote its settings."""
    begun = {path / name for name in (_CHECKPOINTS, ENCODER, LETTERS, LOCK)}
    begun |= {*_list_temporary_files(path)}
    return (path / _CHECKPOINTS).is_dir() and begun.issuperset(path.rglob("*"))


def _list_temporary_files(path: Path) -> Iterator[Path]:
    """Find what a killed writer of a run's file left under a temporary name."""
    for file in (path / name for name in (*_FILES, CARD)):
        yield from file.parent.glob(f".{file.name}.????????.part")
    yield from (path / _CHECKPOINTS).glob(".step-*.safetensors.????????.part")


LOCK = ".run.lock"
# Who holds a lock says so a moment after it has it.
_LOOKS, _PAUSE = 20, 0.01
_held: set[int] = set()


@contextmanager
def writing_alone(folder: Path) -> Generator[None]:
    """Keep every other run out of a folder while the block runs."""
    # The system takes a lock back when its process ends, however it ends: a run that was
    # killed stops nobody. Its file stays, and is the next run's.
    path, handle = folder / LOCK, None
    try:
        with signals_waiting():
            handle = _take(path)
        if handle is None:
            raise RunFolderError(
                f"{folder}: is being written by another run ({_owner_of(path)}); wait "
                "until it has ended, stop it, or choose another folder (out=, --out)"
            )
        yield
    finally:
        if handle in _held:  # not in a forked process
            with signals_waiting():
                _release(path, handle)


def _take(path: Path) -> int | None:
    """Take the lock; None where another run has it."""
    try:
        handle = _lock(path)
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"{path}: cannot lock the run folder: {reason}") from error
    if handle is not None:
        _held.add(handle)
        owner = {"pid": os.getpid(), "host": socket.gethostname()}
        with suppress(OSError):  # a full disk; the lock holds without
            os.ftruncate(handle, 0)
            os.write(handle, json.dumps(owner).encode())
    return handle


def _lock(path: Path) -> int | None:
    """Open the file and lock it."""
    while True:
        handle = open_handle(path, os.O_RDWR | os.O_CREAT | NOFOLLOW)
        try:
            lock(handle, wait=False)
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError:
            pass  # a file system without locks
        if is_at(path, handle):
            return handle
        os.close(handle)  # removed by the run that had it


def _release(path: Path, handle: int) -> None:
    """Remove the file and give the lock back."""
    _held.discard(handle)
    with suppress(OSError):  # the folder itself may be gone; a file that stays is harmless
        if is_at(path, handle):
            path.unlink()
    with suppress(OSError):
        os.close(handle)


def _owner_of(path: Path) -> str:
    """Name the process that has a lock."""
    for _ in range(_LOOKS):
        with suppress(OSError, ValueError, KeyError, TypeError):
            facts: Any = json.loads(path.read_bytes())
            return f"process {int(facts['pid'])} on {facts['host']}"
        time.sleep(_PAUSE)
    return "a process that has not said its number"


def _forget() -> None:
    """Let a forked process hold no lock: it may outlive the run."""
    for handle in _held:
        os.close(handle)
    _held.clear()


after_fork(_forget)
