"""Labels of files: each record has that of the file it stands in."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.data._path import expand
from seqloom.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Sequence

BY_FILE = "file"
_CONTAINERS = {".gz", ".bgz", ".bz2", ".xz", ".zst"}
# A dict by id may have millions of keys; one by file shows it in the first.
_LOOKED_AT = 1000


def labels_of_files(labels: Any, paths: Sequence[str]) -> list[Any] | None:
    """Gives each file its label: its own name, or what a dict says."""
    if isinstance(labels, str) and labels == BY_FILE:
        return list(map(_stem, paths))
    if not isinstance(labels, Mapping):
        return None
    given: dict[Any, Any] = dict(labels)  # pyright: ignore[reportUnknownArgumentType]
    known = set(map(_full, paths))
    if not any(_is_among(key, known) for key in itertools.islice(given, _LOOKED_AT)):
        return None
    named = {_full(path): given[key] for key in given for path in expand(str(key))}
    if lacking := [path for path in paths if _full(path) not in named]:
        raise LabelError(
            f"{lacking[0]}: the dict of labels by file has no label for it; name each file"
        )
    return [named[_full(path)] for path in paths]


def _is_among(key: Any, known: set[str]) -> bool:
    """Tells whether a key names files of the dataset."""
    if not isinstance(key, (str, os.PathLike)):
        return False
    text = str(os.fspath(key))  # pyright: ignore[reportUnknownArgumentType]
    if _full(text) in known:
        return True
    found = glob.iglob(text) if "*" in text else ()  # noqa: PTH207 - absolute or relative
    return any(_full(path) in known for path in found)


def _full(path: str) -> str:
    """Writes a path in one way."""
    return os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 - links stay


def _stem(path: str) -> str:
    """Takes the name of a file without what says its format and container."""
    name = Path(path)
    name = name.with_suffix("") if name.suffix.lower() in _CONTAINERS else name
    return name.stem
