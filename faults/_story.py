"""Writers that replace files, and readers of files, for fault tests."""

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
    """A fault to try."""

    place: str
    check: Callable[[], Iterable[str]]  # Tries the fault and yields the errors.


@dataclass(frozen=True, slots=True)
class Writer:
    """A function that writes into a folder, and a function that reads the result."""

    name: str
    prepare: Step  # Creates the initial folder.
    write: Step
    read: Read  # Returns a JSON value that the write changes.
    is_job: bool = False  # If True, the next call resumes a stopped write.
    broken: Callable[[Path], list[str]] | None = None  # Returns incomplete parts.
    optional: tuple[str, ...] = ()  # Files that a resumed job may leave out.
    step: int = 1  # Try every n-th fault only, for slow writers.


@dataclass(frozen=True, slots=True)
class Reader:
    """A function that reads files."""

    name: str
    prepare: Step
    read: Read
    is_checked: bool = False  # If True, checksums reveal every change.


def do_nothing(place: Path) -> None:
    """Do nothing, so that the folder remains empty."""


def digest(*paths: Path) -> str:
    """Return one hash of the contents of several files, which may be missing."""
    content = hashlib.sha256()
    for path in paths:
        content.update(path.read_bytes() if path.exists() else b"absent")
    return content.hexdigest()[:16]


def names(folder: Path) -> list[str]:
    """Return all names below a folder, except lock files."""
    found = (path for path in folder.rglob("*") if path.suffix != ".lock")
    return sorted(str(path.relative_to(folder)) for path in found)


def new_folder() -> Path:
    """Create a folder that is removed with the temporary files of this process."""
    return Path(tempfile.mkdtemp(prefix="case-"))
