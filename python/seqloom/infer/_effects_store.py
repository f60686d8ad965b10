"""The scores of a stopped job, which a later call continues."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom import record
from seqloom._files import atomic_path
from seqloom.errors import RunFolderError

if TYPE_CHECKING:
    from pathlib import Path

    from seqloom.infer._variant_scores import Columns

UNFINISHED_ENDING = ".unfinished"
_PLAN_FILE = "plan.json"
_SAVE_SECONDS = 30


class ScoreStore:
    """The scores of the finished batches of a job, in a folder next to its output.

    Args:
        folder: The folder; it is created when scores are saved.
        plan: Facts that must be equal when the job continues.
    """

    def __init__(self, folder: Path, plan: dict[str, str]) -> None:
        self._folder, self._plan = folder, plan
        self._pending: dict[int, Columns] = {}
        self._saved_at = time.monotonic()
        if (folder / _PLAN_FILE).exists():
            _compare_plans(folder, json.loads((folder / _PLAN_FILE).read_text()), plan)
        self._files = {
            number: path
            for path in sorted(folder.glob("*-*.safetensors"))
            for number in range(*map(int, path.stem.split("-")))
        }
        self._open: tuple[Path, record.Record] | None = None

    def read(self, batch: int, names: list[str]) -> Columns | None:
        """Return the stored columns of a batch; None if there are none."""
        path = self._files.get(batch)
        if path is None:
            return None
        if self._open is None or self._open[0] != path:
            self._open = path, record.load(path)
        columns: Any = np.asarray(self._open[1][str(batch)])
        return dict(zip(names, columns, strict=True))

    def add(self, batch: int, columns: Columns) -> None:
        """Store the columns of a batch; files are written every 30 seconds."""
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
        shutil.rmtree(self._folder, ignore_errors=True)


def _compare_plans(folder: Path, old: dict[str, str], new: dict[str, str]) -> None:
    differences = [
        f"{name} was {old.get(name)}, now {new.get(name)}"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]
    if differences:
        raise RunFolderError(
            f"{folder}: contains the scores of a stopped job with other settings: "
            f"{'; '.join(differences)}. Use the same settings to continue it, or delete "
            "the folder (--overwrite) to start again"
        )
