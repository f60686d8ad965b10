"""One plan for all processes of a job: the first writes it, the others compare."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from seqloom.data._path import expand
from seqloom.errors import ConfigError, FileError, FormatError, MissingFileError, RunFolderError
from seqloom.infer.embed._plan import Plan, check_records, make_plan
from seqloom.io import SequenceIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.infer.embed._folder import OutputFolder
    from seqloom.infer.embed._plan import Rules
    from seqloom.infer.embed._settings import Settings

PLAN = "plan.json"


def agree(
    folder: OutputFolder, files: Any, rules: Rules, settings: Settings, *, width: int
) -> tuple[Plan, str]:
    """Finds the plan of the folder, or makes it; returns it with the hash of its text."""
    indexes = [*_open(files)]
    most = None if settings.pool == "model" else settings.letters
    check_records(indexes, most=most, max_length=settings.max_length)
    plan = make_plan(indexes, rules, shard_size=settings.shard_size, width=width)
    text = plan.to_json().encode()
    if not folder.create(PLAN, [text]):
        text = folder.read(PLAN)
        _compare(folder, Plan.from_json(text.decode()), plan, resume=settings.resume)
    return plan, hashlib.sha256(text).hexdigest()


def read_plan(folder: OutputFolder) -> tuple[Plan, str]:
    """Reads the plan of a folder that a job has begun."""
    try:
        text = folder.read(PLAN)
    except MissingFileError as error:
        raise MissingFileError(
            f"{folder.path}: no embeddings: there is no {PLAN}, which `embed` writes"
        ) from error
    return Plan.from_json(text.decode()), hashlib.sha256(text).hexdigest()


def _open(files: Any) -> Iterator[SequenceIndex]:
    """Opens the index of each file; what has none cannot be divided."""
    for path in expand(files):
        try:
            yield SequenceIndex(path)
        except FormatError as error:
            if "compress" not in str(error):
                raise
            raise FileError(f"{error}; or unpack it first") from error


def _compare(folder: OutputFolder, there: Plan, now: Plan, *, resume: bool) -> None:
    """Refuses to go on with another job's folder."""
    if not resume:
        raise RunFolderError(
            f"{folder.path}: holds embeddings already; leave out resume=False (--no-resume) "
            "to go on with them, or give another folder"
        )
    if differences := now.differences(there):
        listed = "; ".join(differences[:5])
        raise ConfigError(
            f"{folder.path}: holds embeddings of another plan: {listed}. Give the same "
            "settings and files, or another folder"
        )
