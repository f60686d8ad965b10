"""Folders of Hugging Face: one file of weights, or several and their index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import FileError, MissingFileError, RecordError
from seqloom.record._facts import parse_json
from seqloom.record._record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

# An index, which names the file of each array, comes before files.
_PATTERNS = ("*.safetensors.index.json", "*.safetensors", "*.bin.index.json", "*.bin")
_INDEX = ".index.json"


def read_folder(folder: Path, read: Callable[[Path], Record]) -> Record:
    """Opens the weights in a folder."""
    path = _find(folder)
    if not path.name.endswith(_INDEX):
        return read(path)
    files = _read_index(path)
    records = {name: read(folder / name) for name in dict.fromkeys(files.values())}
    for name, record in records.items():
        expected = {key for key, file in files.items() if file == name}
        if difference := sorted(expected ^ record.keys()):
            raise RecordError(
                f"{folder / name}: has other arrays than {path.name} says: {difference[0]}"
            )
    return Record({key: records[name][key] for key, name in files.items()})


def _find(folder: Path) -> Path:
    """Returns the one index or file of weights in a folder."""
    for pattern in _PATTERNS:
        found = sorted(folder.glob(pattern))
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise RecordError(
                f"{folder}: has several files of weights ({names}); load one of them"
            )
        if found:
            return found[0]
    raise MissingFileError(
        f"{folder}: has no weights; expected model.safetensors, or several files and "
        "model.safetensors.index.json"
    )


def _read_index(path: Path) -> dict[str, str]:
    """Returns the name of the file of each array."""
    try:
        index: Any = parse_json(str(path), path.read_bytes())
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from None
    table = cast("dict[str, Any]", index if isinstance(index, dict) else {})
    found: Any = table.get("weight_map")
    if not isinstance(found, dict):
        raise RecordError(f"{path}: has no weight_map of files by array")
    files = cast("dict[str, Any]", found)
    for key, name in files.items():
        # A name with a folder in it could be of any file.
        if not isinstance(name, str) or name in {"", ".", ".."} or Path(name).name != name:
            raise RecordError(
                f"{path}: {key} must be in a file of the folder, got {name!r}"
            )
    return files
