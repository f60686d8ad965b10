"""The scores of a stopped job, from which a later call continues."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom import record
from seqloom._files import atomic_path
from seqloom.errors import RecordError, RunFolderError

if TYPE_CHECKING:
    from pathlib import Path

    from seqloom.infer._variant_scores import Columns

UNFINISHED_ENDING = ".unfinished"
_PLAN_FILE = "plan.json"
_SAVE_SECONDS = 10
# Facts that a plan stores as hashes.
_HASHED = ("model", "file of variants", "genome", "table of genes", "file of regions")


class ScoreStore:
    """The scores of the finished batches of a job, in a folder next to its output.

    Args:
        folder: The folder; it is created when scores are saved.
        plan: Inputs and settings of the job; those of a continued job must be equal.
    """

    def __init__(self, folder: Path, plan: dict[str, str]) -> None:
        self._folder, self._plan = folder, plan
        self._pending: dict[int, Columns] = {}
        self._saved_at = time.monotonic()
        if folder.exists():
            _check_plan(folder, _read_plan(folder), plan)
        self._files = {
            number: path
            for path in sorted(folder.glob("*-*.safetensors"))
            for number in range(*map(int, path.stem.split("-")))
        }
        self._loaded: tuple[Path, record.Record] | None = None

    def read(self, batch: int, names: list[str]) -> Columns | None:
        """Return the stored columns of a batch by name; None if it is not stored."""
        path = self._files.get(batch)
        if path is None:
            return None
        if self._loaded is None or self._loaded[0] != path:
            try:
                self._loaded = path, record.load(path)
            except RecordError as error:
                raise RecordError(
                    f"{error}; delete the folder {self._folder} (--overwrite) to start "
                    "again"
                ) from error
        columns: Any = np.asarray(self._loaded[1][str(batch)])
        return dict(zip(names, columns, strict=True))

    def add(self, batch: int, columns: Columns) -> None:
        """Store the columns of a batch; files are written every few seconds."""
        self._pending[batch] = columns
        if time.monotonic() - self._saved_at > _SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """Write the columns that are not in a file yet."""
        if not self._pending:
            return
        if not (self._folder / _PLAN_FILE).exists():
            self._folder.mkdir(exist_ok=True)
            with atomic_path(self._folder / _PLAN_FILE) as part:
                part.write_text(json.dumps(self._plan, indent=1))
        first, last = min(self._pending), max(self._pending)
        arrays = {
            str(number): np.stack(list(columns.values()))
            for number, columns in self._pending.items()
        }
        record.Record(arrays).save(self._folder / f"{first}-{last + 1}.safetensors")
        self._pending, self._saved_at = {}, time.monotonic()

    def remove(self) -> None:
        """Remove the folder, because the job is complete."""
        for path in self._folder.glob("*-*.safetensors"):
            path.unlink()
        (self._folder / _PLAN_FILE).unlink(missing_ok=True)
        with suppress(OSError):  # the folder may have other files
            self._folder.rmdir()


def _read_plan(folder: Path) -> dict[str, str]:
    """Return the plan of a stopped job."""
    try:
        return dict(json.loads((folder / _PLAN_FILE).read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise RunFolderError(
            f"{folder}: exists, but {_PLAN_FILE} of a stopped job cannot be read: {error}; "
            "delete the folder, or write to another file"
        ) from error


def _check_plan(folder: Path, old: dict[str, str], new: dict[str, str]) -> None:
    """Raise if the stored plan differs from that of this call."""
    differences = [
        f"another {name}"
        if name in _HASHED
        else f"{name} was {old.get(name)}, now {new.get(name)}"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]
    if differences:
        raise RunFolderError(
            f"{folder}: contains the scores of a stopped job with other settings: "
            f"{', '.join(differences)}. Use the same settings to continue it, or delete "
            "the folder (--overwrite) to start again"
        )
