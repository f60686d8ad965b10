"""Which records have the letters of a training record: they show what a model remembers."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data._parts import hash_letters
from seqloom.record import Record, load

# Beside config.json: a hash of the letters of each training record.
LETTERS = "letters.safetensors"
_HASHES = "hashes"

Hashes = NDArray[np.uint64]


def learn_letters(train: Any) -> Hashes | None:
    """Lists the hashes of training records; None without letters, or of too many."""
    hashes = hash_letters(train)
    return None if hashes is None else np.unique(hashes)


def find_known(known: Hashes | None, examples: Any) -> NDArray[np.bool_] | None:
    """Says which records have the letters of a training record; None where nobody can."""
    hashes = None if known is None else hash_letters(examples)
    return None if known is None or hashes is None else np.isin(hashes, known)


def save_letters(folder: Path, known: Hashes | None) -> None:
    """Writes the hashes of training records, where there are any."""
    if known is not None:
        Record({_HASHES: known.view(np.int64)}).save(folder / LETTERS)


def load_letters(folder: Path) -> Hashes | None:
    """Reads the hashes of training records; None of an older run, or of other records."""
    path = folder / LETTERS
    return np.asarray(load(path)[_HASHES]).view(np.uint64) if path.exists() else None
