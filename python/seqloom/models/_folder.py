"""The run folder: its files, and the lock of the run that writes to the folder."""

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
from seqloom._files import is_open_file_at, write_atomic
from seqloom._signals import delay_signals
from seqloom._system import NOFOLLOW, fsync, lock_file, open_handle, run_after_fork
from seqloom.errors import ArgumentError, FileError, RunFolderError
from seqloom.models._training_facts import ENCODER, HASHES_FILE

# Keys of every config.json.
CONFIG_KEYS = {"version", "model", "encoder", "task", "batch_size"}
WEIGHTS = "model.safetensors"
HISTORY = "metrics.jsonl"
RESULTS = "results.json"
# The model card; a card that a user has edited is never overwritten.
CARD = "README.md"
_CARD_MARK = b"<!-- Written by seqloom."
_CONFIG_FILE = "config.json"
# Command-line options of the run.
COMMAND = "command.json"
_CHECKPOINTS = "checkpoint"
_LAST_FILE = f"{_CHECKPOINTS}/last.safetensors"
_STEP_FILE = re.compile(r"step-(\d{8,})\.safetensors")
_FILES = (
    _CONFIG_FILE,
    COMMAND,
    _LAST_FILE,
    ENCODER,
    HASHES_FILE,
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
    """Prepare a folder for a run, and lock the folder inside the `with` block."""
    # The results of a run only change if the user requests resume or overwrite.
    if resume and overwrite:
        raise ArgumentError("resume continues a run and overwrite replaces it: choose one")
    _check_is_run(path)
    _make_folder(path)
    with folder_lock(path):
        if _has_other_files(path):
            _check_is_run(path)
            if resume:
                _prepare_resume(path)
            elif overwrite:
                _remove_run_files(path)
            else:
                raise RunFolderError(
                    f"{path}: already contains a run; choose another folder, "
                    "resume it (resume=True, --resume) or replace it "
                    "(RunFolder(..., overwrite=True), --overwrite)"
                )
        yield


def make_checkpoint_folder(path: Path) -> None:
    """Create the checkpoint folder of a run; return when the folder is on disk."""
    _make_folder(checkpoint_path(path).parent)


def _make_folder(path: Path) -> None:
    """Create a folder and its parents, and flush all new folders to disk."""
    try:
        missing = [it for it in (path, *path.parents) if not it.exists()]
        path.mkdir(parents=True, exist_ok=True)
        for folder in missing:
            fsync(folder.parent)
    except OSError as error:
        files = [it for it in (path, *path.parents) if it.is_file()]
        advice = "out (--out) needs the name of a new folder or a run folder"
        reason = f"{files[0]} is a file; {advice}" if files else error.strerror
        raise FileError(f"{path}: cannot create the run folder: {reason}") from None


def is_config(path: Path) -> bool:
    """Return whether a file is the ``config.json`` of a run of any version."""
    try:
        facts: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    if not is_dict(facts) or not facts.keys() >= CONFIG_KEYS:
        return False
    return is_dict(facts["task"]) and "class" in facts["task"]


def checkpoint_path(path: Path) -> Path:
    """Return the path of a run's newest checkpoint."""
    return path / _LAST_FILE


def step_path(path: Path, step: int) -> Path:
    """Return the path of the checkpoint of a step."""
    return path / _CHECKPOINTS / f"step-{step:08}.safetensors"


def list_steps(path: Path) -> dict[int, Path]:
    """Return the existing checkpoints by step."""
    files = (path / _CHECKPOINTS).glob("step-*.safetensors")
    return {
        int(match[1]): file for file in files if (match := _STEP_FILE.fullmatch(file.name))
    }


def is_own_card(path: Path) -> bool:
    """Return whether a run wrote this model card and no user has edited the card."""
    try:
        return _CARD_MARK in path.read_bytes()
    except FileNotFoundError:
        return False


def write_history(path: Path, history: list[dict[str, Any]]) -> None:
    """Write ``metrics.jsonl``, one line per epoch, atomically."""
    lines = "".join(json.dumps(row) + "\n" for row in history)
    write_atomic(path / HISTORY, lines.encode())


def _check_is_run(path: Path) -> None:
    """Raise if a folder contains files that are not from a run."""
    if _has_other_files(path) and not (is_config(path / _CONFIG_FILE) or _was_killed(path)):
        raise RunFolderError(f"{path}: contains other files; choose an empty folder")


def _has_other_files(path: Path) -> bool:
    """Return whether a folder contains anything except the lock of a run."""
    return path.is_dir() and any(each.name != LOCK for each in path.iterdir())


def _prepare_resume(path: Path) -> None:
    """Remove temporary files; raise if a run cannot resume for lack of a checkpoint."""
    if (path / WEIGHTS).exists() and not (path / _LAST_FILE).exists():
        raise RunFolderError(
            f"{path}: has a model but no checkpoint, so it cannot be resumed; choose "
            "another folder, or replace it (RunFolder(..., overwrite=True), --overwrite)"
        )
    for left in _list_temporary_files(path):
        left.unlink()


def _remove_run_files(path: Path) -> None:
    """Remove the files of a run, and keep all other files."""
    for file in [*(path / name for name in _FILES), *list_steps(path).values()]:
        file.unlink(missing_ok=True)
    if is_own_card(path / CARD):
        (path / CARD).unlink()
    for left in _list_temporary_files(path):
        left.unlink()


def _was_killed(path: Path) -> bool:
    """Return whether a run was killed in this folder before it wrote its settings."""
    begun = {path / name for name in (_CHECKPOINTS, ENCODER, HASHES_FILE, LOCK)}
    begun |= {*_list_temporary_files(path)}
    return (path / _CHECKPOINTS).is_dir() and begun.issuperset(path.rglob("*"))


def _list_temporary_files(path: Path) -> Iterator[Path]:
    """Yield the temporary files that a killed run left."""
    for file in (path / name for name in (*_FILES, CARD)):
        yield from file.parent.glob(f".{file.name}.????????.part")
    yield from (path / _CHECKPOINTS).glob(".step-*.safetensors.????????.part")


LOCK = ".run.lock"
# A process writes its id to the lock file shortly after locking the file.
_READ_ATTEMPTS, _PAUSE = 20, 0.01
_held: set[int] = set()


@contextmanager
def folder_lock(folder: Path) -> Generator[None]:
    """Prevent other runs from writing to a folder during the `with` block."""
    # The operating system releases the lock when the process ends for any reason, so a
    # killed run does not block the folder. The lock file remains, and the next run
    # locks it.
    path, handle = folder / LOCK, None
    try:
        with delay_signals():
            handle = _lock_folder(path)
        if handle is None:
            raise RunFolderError(
                f"{folder}: is in use by another run ({_describe_owner(path)}); wait "
                "until it has ended, stop it, or choose another folder (out=, --out)"
            )
        yield
    finally:
        if handle in _held:  # a forked process must not remove the lock
            with delay_signals():
                _unlock_folder(path, handle)


def _lock_folder(path: Path) -> int | None:
    """Lock the folder; return None if another run has locked it."""
    try:
        handle = _lock_file(path)
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"{path}: cannot lock the run folder: {reason}") from error
    if handle is not None:
        _held.add(handle)
        owner = {"pid": os.getpid(), "host": socket.gethostname()}
        with suppress(OSError):  # on a full disk, an empty file also works
            os.ftruncate(handle, 0)
            os.write(handle, json.dumps(owner).encode())
    return handle


def _lock_file(path: Path) -> int | None:
    """Open and lock a lock file; return None if another process has locked the file."""
    while True:
        handle = open_handle(path, os.O_RDWR | os.O_CREAT | NOFOLLOW)
        try:
            lock_file(handle, wait=False)
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError:
            pass  # on a file system without locks, continue unlocked
        if is_open_file_at(path, handle):
            return handle
        os.close(handle)  # the owner has removed the lock file


def _unlock_folder(path: Path, handle: int) -> None:
    """Remove the lock file and release the lock."""
    _held.discard(handle)
    with suppress(OSError):  # a remaining lock file is harmless
        if is_open_file_at(path, handle):
            path.unlink()
    with suppress(OSError):
        os.close(handle)


def _describe_owner(path: Path) -> str:
    """Return a description of the process that has locked the folder."""
    for _ in range(_READ_ATTEMPTS):
        with suppress(OSError, ValueError, KeyError, TypeError):
            facts: Any = json.loads(path.read_bytes())
            return f"process {int(facts['pid'])} on {facts['host']}"
        time.sleep(_PAUSE)
    return "a process with an unknown id"


def _close_inherited_locks() -> None:
    """Close inherited lock files in a forked process, which may outlive the run."""
    for handle in _held:
        os.close(handle)
    _held.clear()


run_after_fork(_close_inherited_locks)
