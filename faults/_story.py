"""What is broken: a writer that replaces something, or a reader of files."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Step = Callable[[Path], object]
    Read = Callable[[Path], Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One fault to try."""

    place: str
    judge: Callable[[], Iterable[str]]  # tries it, and says what is wrong then


@dataclass(frozen=True, slots=True)
class Writer:
    """Something that is written into a folder, and read again."""

    name: str
    prepare: Step  # makes the folder before
    write: Step
    read: Read  # a value of JSON's types, another one before than after
    is_job: bool = False  # a stopped one leaves a part, with which the next goes on
    broken: Callable[[Path], list[str]] | None = None  # what of that part is not whole
    optional: tuple[str, ...] = ()  # files that a job which goes on may leave out
    step: int = 1  # of so many faults one is tried, where each takes long


@dataclass(frozen=True, slots=True)
class Reader:
    """Files that are read."""

    name: str
    prepare: Step
    read: Read
    is_checked: bool = False  # by checksums: a changed file is an error, or harmless


def do_nothing(place: Path) -> None:
    """Leave a folder empty."""


def digest(*paths: Path) -> str:
    """Hash files, or says that one is not there."""
    content = hashlib.sha256()
    for path in paths:
        content.update(path.read_bytes() if path.exists() else b"absent")
    return content.hexdigest()[:16]


def names(folder: Path) -> list[str]:
    """List all that is below a folder; an empty file for locks may be there or not."""
    found = (path for path in folder.rglob("*") if path.suffix != ".lock")
    return sorted(str(path.relative_to(folder)) for path in found)


def new_folder() -> Path:
    """Make a folder that goes with this process's temporary files."""
    return Path(tempfile.mkdtemp(prefix="case-"))
