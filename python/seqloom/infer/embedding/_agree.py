"""One plan for all processes of a job: the first writes it, the others compare."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from seqloom.errors import ConfigError, FormatError, MissingFileError, RunFolderError
from seqloom.infer.embedding._plan import Plan, Source, check_records, make_plan
from seqloom.io import SequenceIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.infer.embedding._folder import OutputFolder
    from seqloom.infer.embedding._plan import Rules
    from seqloom.infer.embedding._settings import Settings

PLAN = "plan.json"


def agree(
    folder: OutputFolder,
    paths: Sequence[str],
    *,
    rules: Rules,
    settings: Settings,
    width: int,
) -> tuple[Plan, str]:
    """Finds the plan of the folder, or makes it; returns it with the hash of its text."""
    sources = [Source.of(path) for path in paths]
    if PLAN not in (names := folder.names()):
        _check_free(folder, names)
        plan = _make(paths, sources, rules=rules, settings=settings, width=width)
        if folder.create(PLAN, [plan.to_json().encode()]):
            return read_plan(folder)
    elif not settings.resume:
        raise RunFolderError(
            f"{folder.path}: holds embeddings already; leave out resume=False "
            "(--no-resume) to go on with them, or give another folder"
        )
    plan, digest = read_plan(folder)
    if differences := plan.differences(rules, sources):
        listed = "; ".join(differences[:5])
        raise ConfigError(
            f"{folder.path}: holds embeddings of another plan: {listed}. Give the same "
            "settings and files, or another folder"
        )
    return plan, digest


def _check_free(folder: OutputFolder, names: set[str]) -> None:
    """Refuses a folder that holds other things, such as the model."""
    others = sorted(it for it in names if it.endswith((".json", ".safetensors")))
    # Another process may have begun this job since.
    if others and PLAN not in folder.names():
        raise RunFolderError(
            f"{folder.path}: holds {others[0]}, but no {PLAN}: it is no folder of "
            "embeddings; give another one as out"
        )


def _make(
    paths: Sequence[str],
    sources: Sequence[Source],
    *,
    rules: Rules,
    settings: Settings,
    width: int,
) -> Plan:
    """Divides the records of files, after a check that each fits into a batch."""
    indexes = [*map(SequenceIndex, paths)]
    most = None if settings.pool == "model" else settings.letters
    check_records(indexes, most=most, max_length=settings.max_length)
    return make_plan(rules, sources, indexes, width=width)


def read_plan(folder: OutputFolder) -> tuple[Plan, str]:
    """Reads the plan of a folder that a job has begun."""
    try:
        text = folder.read(PLAN)
    except MissingFileError as error:
        raise MissingFileError(
            f"{folder.path}: no embeddings: there is no {PLAN}, which `embed` writes"
        ) from error
    path = folder.where(PLAN)
    try:
        plan = Plan.from_json(text)
    except FormatError as error:
        raise FormatError(f"{path}: cannot be read: {error}", path=path) from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return plan, hashlib.sha256(text).hexdigest()
