"""The copy of codes in the cache, whose lines are what items are."""

from __future__ import annotations

import hashlib
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.data.cache._cache_folder import (
    CacheFolder,
    entry_facts,
    finish_entry,
    forget_entry,
)
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# Goes up when what is kept changes.
_LAYOUT = 1
_CODES, _SUMS = "codes.bed", "sums"


def open_copy(
    cache: Path,
    what: tuple[str, tuple[int, int], bool, NDArray[np.int64] | None],
    *,
    write: Callable[[str], NDArray[np.uint64]],
    shape: tuple[int, int],
) -> tuple[str, _native.GenotypeCodes]:
    """Opens a copy, and makes it if it is absent or damaged."""
    # It is named by the content of the .bed and by what was chosen of it, and is whole or
    # absent: it is written beside its place and renamed, under a lock that ends with the
    # process. Each line has a sum, which is compared when the line is read.
    folder, key = CacheFolder(cache / "genotypes"), _key(what)
    opened = partial(_open_existing, shape=shape, by_sample=what[2])
    codes = folder.entry(key, opened, partial(_write, write=write))
    return os.fspath(folder.path / key / _CODES), codes


def forget_copy(path: str) -> None:
    """Has a damaged copy made anew by whoever opens it next."""
    forget_entry(Path(path).parent)


def _key(what: tuple[Any, ...]) -> str:
    """Names a copy."""
    *facts, variants = what
    key = hashlib.blake2b(repr((_LAYOUT, *facts)).encode(), digest_size=16)
    if variants is not None:
        key.update(variants.tobytes())
    return key.hexdigest()


def _write(part: Path, *, write: Callable[[str], NDArray[np.uint64]]) -> None:
    """Writes the files of a copy."""
    sums = write(os.fspath(part / _CODES))
    (part / _SUMS).write_bytes(sums.tobytes())
    finish_entry(part, {"lines": sums.size, "sums": _digest(sums)})


def _open_existing(
    entry: Path, *, shape: tuple[int, int], by_sample: bool
) -> _native.GenotypeCodes | None:
    """Opens a copy; None if it is absent, or not as it was written."""
    try:
        facts = entry_facts(entry)
        sums = np.frombuffer((entry / _SUMS).read_bytes(), np.uint64)
        if facts != {"lines": sums.size, "sums": _digest(sums)}:
            return None
        path = os.fspath(entry / _CODES)
        return _native.GenotypeCodes.open(path, shape, by_sample, sums)
    except (OSError, ValueError, FormatError):
        return None


def _digest(sums: NDArray[np.uint64]) -> str:
    """Names the sums."""
    return hashlib.blake2b(sums.tobytes(), digest_size=16).hexdigest()
