"""Prediction with an exported model; the model is computed by Rust code."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from seqloom._arguments import quote
from seqloom._rust import _native
from seqloom._warning import warn_user
from seqloom.errors import ArgumentError
from seqloom.infer._kinds import is_path
from seqloom.infer._loop import OnBatch
from seqloom.infer._scores import Scores
from seqloom.io._settings import replace_remedies
from seqloom.io.plink._file_set import find_table
from seqloom.io.plink._tables import count_lines

# The file whose presence shows that a folder contains an exported model.
MANIFEST = "export.json"


def find_exported(model: Any) -> Path | None:
    """Return the path of an exported model (folder or zip); None for other models."""
    if not is_path(model):
        return None
    path = Path(model)
    is_export = (path / MANIFEST).is_file() or (path.suffix == ".zip" and path.is_file())
    return path if is_export else None


def reject_exported(model: object) -> None:
    """Raise if the model is an exported model, because exported models only score files."""
    if find_exported(model) is not None:
        raise ArgumentError(
            "model is an exported model, which only scores files; pass the run folder that "
            "it was exported from, or in Python the model"
        )


def predict_exported(
    export: Path, data: object, *, num_threads: int, progress: OnBatch | None
) -> Scores:
    """Score the records of files with an exported model; warn as `predict` does."""
    model = _native.ExportedPredictor(export, num_threads)
    files = _require_files(data)
    _reject_table_headers(files)
    with replace_remedies("seqloom convert {shell}"):
        columns, ids, flat, warnings = model.score(files, progress)
    for text in warnings:
        warn_user(text)  # the warning points to the caller of predict
    return Scores(ids, columns, np.reshape(flat, (len(ids), len(columns))))


def _reject_table_headers(files: list[str]) -> None:
    """Raise if the .bim or .fam of a .bed has a header, which would be read as a row."""
    for bed in (file for file in files if file.endswith(".bed")):
        for suffix in ("fam", "bim"):
            table = find_table(Path(bed).with_suffix(f".{suffix}"))
            if table.exists():
                count_lines(table, suffix)


def _require_files(data: Any) -> list[str]:
    """Return the list of files; raise if data are not files."""
    several = hasattr(data, "__iter__") and not hasattr(data, "keys")
    found: list[Any] = [data] if is_path(data) else list(data) if several else []
    if not found or not all(map(is_path, found)):
        raise ArgumentError(
            "an exported model reads files: data must be one or more paths, got "
            f"{quote(data)}; a run folder also reads datasets and sequences in memory"
        )
    return [os.fspath(file) for file in found]
