"""Opens records: files of our own formats and of others, and folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.record._json_gz import JsonGz
from seqloom.record._msgpack import MAGIC, MsgPack
from seqloom.record._record import Record, Recorder, find_recorder
from seqloom.record._safetensors import Safetensors
from seqloom.record._source import RecordSource

if TYPE_CHECKING:
    import os

_GZIP = b"\x1f\x8b"


def load(
    path: str | os.PathLike[str],
    recorder: Recorder | None = None,
    *,
    mapped: bool = False,
) -> Record:
    """Opens a record file; each array is read and checked when it is used.

    Args:
        path: Path of a file that `Record.save` wrote.
        recorder: Format of the file; default: that of its content, else of its suffix.
        mapped: Whether arrays become views of the file, that cannot be written: the system
            reads what somebody looks at, and nothing is checked before `Record.verify` is
            called. The file must not be written meanwhile; to replace it is safe.

    Returns:
        A record of lazy arrays; ``np.asarray(array)`` reads one.

    Raises:
        MissingFileError: The file does not exist.
        RecordError: The file is not a record, or it is damaged.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> sl.record.Record({"bias": np.zeros(3)}).save("model.safetensors")
        >>> sl.record.load("model.safetensors")["bias"].shape
        (3,)
    """
    source = RecordSource.of_file(Path(path), mapped=mapped)
    return (recorder or _recognise(source, path)).decode(source)


def _recognise(source: RecordSource, path: str | os.PathLike[str]) -> Recorder:
    """Returns the recorder that a file's first bytes call for."""
    head = source.read(0, min(len(MAGIC), source.size))
    if head.startswith(MAGIC):
        return MsgPack()
    found = find_recorder(path)
    if head.startswith(_GZIP) and isinstance(found, Safetensors):
        return JsonGz()
    return found
