"""Opens records: files of our own formats and of others, and folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.record._folder import read_folder
from seqloom.record._header import LENGTH_BYTES
from seqloom.record._json_gz import JsonGz
from seqloom.record._keras_file import HDF5, has_keras_weights, read_hdf5, read_keras
from seqloom.record._msgpack import MAGIC, MsgPack
from seqloom.record._record import Record, Recorder, find_recorder
from seqloom.record._safetensors import Safetensors
from seqloom.record._source import RecordSource
from seqloom.record._torch_file import PICKLE, ZIP, read_torch, refuse_pickle

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

_GZIP = b"\x1f\x8b"


def load(
    path: str | os.PathLike[str],
    recorder: Recorder | None = None,
    *,
    mapped: bool = False,
) -> Record:
    """Opens a record file; each array is read and checked when it is used.

    Files of other programs are read too: safetensors; ``.pt`` and ``.bin`` of PyTorch, as
    torch.save writes them since version 1.6; ``.h5`` and ``.keras`` of Keras, with the
    extra ``h5``; and folders of Hugging Face with one file of weights, or several and
    their index. Only arrays and plain values are read. Nothing is unpickled: what only code
    can load is an error that names it.

    Args:
        path: Path of a file or a folder.
        recorder: Format of the file; default: that of its content, else of its suffix.
        mapped: Whether arrays become views of the file, that cannot be written: the system
            reads what somebody looks at, and nothing is checked before `Record.verify` is
            called. The file must not be written meanwhile; to replace it is safe.

    Returns:
        A record of lazy arrays; ``np.asarray(array)`` reads one.

    Raises:
        MissingExtraError: The file is of Keras, and h5py is not installed.
        MissingFileError: The file does not exist.
        RecordError: The file is not a record, it is damaged, or it needs code to be loaded.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> sl.record.Record({"bias": np.zeros(3)}).save("model.safetensors")
        >>> sl.record.load("model.safetensors")["bias"].shape
        (3,)
    """
    place = Path(path)
    if place.is_dir() and recorder is None:
        return read_folder(place, lambda file: load(file, mapped=mapped))
    source = RecordSource.of_file(place, mapped=mapped)
    return recorder.decode(source) if recorder else _read(source, place)


def _read(source: RecordSource, path: Path) -> Record:
    """Reads a file as its first bytes say, or as its suffix does."""
    head = source.read(0, min(len(MAGIC), source.size))
    found = find_recorder(path)
    # A recorder of a user comes first, for its own suffixes.
    if not isinstance(found, (Safetensors, MsgPack, JsonGz)):
        return found.decode(source)
    reads: dict[bytes, Callable[[RecordSource], Record]] = {
        MAGIC: MsgPack().decode,
        _GZIP: JsonGz().decode,
        HDF5: read_hdf5,
        ZIP: _read_zip,
        PICKLE: refuse_pickle,
    }
    # The length of a header of safetensors may begin with any bytes.
    is_safetensors = head[LENGTH_BYTES:].startswith(b"{")
    known = () if is_safetensors else [begin for begin in reads if head.startswith(begin)]
    return reads[known[0]](source) if known else Safetensors().decode(source)


def _read_zip(source: RecordSource) -> Record:
    """Reads an archive of Keras 3 or of torch."""
    return read_keras(source) if has_keras_weights(source) else read_torch(source)
