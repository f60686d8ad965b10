"""Load records: files of seqloom, PyTorch and Keras, and Hugging Face folders."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._arguments import is_dict
from seqloom._files import reading
from seqloom.errors import MissingExtraError, MissingFileError, RecordError
from seqloom.record._array import LazyArray, name_dtype
from seqloom.record._facts import parse_json
from seqloom.record._json_gz import JsonGz
from seqloom.record._record import Record, Recorder, find_recorder
from seqloom.record._safetensors import LENGTH_BYTES, Safetensors
from seqloom.record._source import RecordSource, open_archive, read_member
from seqloom.record._torch_file import PICKLE_MAGIC, ZIP_MAGIC, read_torch, reject_pickle

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


_GZIP_MAGIC = b"\x1f\x8b"
# Names of weight files in a folder. An index, which maps arrays to files, takes
# precedence.
_WEIGHT_FILES = ("*.safetensors.index.json", "*.safetensors", "*.bin.index.json", "*.bin")


def load(
    path: str | os.PathLike[str], recorder: Recorder | None = None, *, mapped: bool = False
) -> Record:
    """Open a record file; each array is read and checked on first use.

    Files of other programs can be read, too: safetensors files, and ``.pt`` and
    ``.bin`` files that torch.save of PyTorch 1.6 or newer wrote. The extra ``h5`` adds
    ``.h5`` and ``.keras`` files of Keras. A Hugging Face folder may contain one weight
    file, or several weight files and an index. Only arrays and plain values are read.
    Nothing is unpickled; if an object can only be loaded by executing code, an error
    names the object.

    Args:
        path: Path of a file or a folder.
        recorder: Format of the file; default: detected from the content of the file,
            otherwise from its suffix.
        mapped: If True, arrays are read-only views of the memory-mapped file. The
            operating system only reads the pages that are accessed, and checksums are
            only compared by `Record.verify`. The file must not be overwritten while it
            is mapped; replacing it is safe.

    Returns:
        A record of lazy arrays; ``np.asarray(array)`` reads an array.

    Raises:
        MissingExtraError: The file is a Keras file, and h5py is not installed.
        MissingFileError: The file does not exist.
        RecordError: The file is not a record, is damaged, or needs code to be loaded.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> sl.record.Record({"bias": np.zeros(3)}).save("model.safetensors")
        >>> sl.record.load("model.safetensors")["bias"].shape
        (3,)
    """
    place = Path(path)
    if place.is_dir() and recorder is None:
        return _read_folder(place, mapped=mapped)
    source = RecordSource.of_file(place, mapped=mapped)
    return recorder.decode(source) if recorder else _read_file(source, place)


def _read_file(source: RecordSource, path: Path) -> Record:
    """Read a file; detect its format from its first bytes or else from its suffix."""
    recorder = find_recorder(path)
    # A custom recorder for the file's suffix takes precedence over the detected format.
    if not isinstance(recorder, (Safetensors, JsonGz)):
        return recorder.decode(source)
    head = source.read(0, min(LENGTH_BYTES + 1, source.size))
    reads: dict[bytes, Callable[[RecordSource], Record]] = {
        _GZIP_MAGIC: JsonGz().decode,
        HDF5_MAGIC: read_hdf5,
        ZIP_MAGIC: _read_zip,
        PICKLE_MAGIC: reject_pickle,
    }
    # The header length of a safetensors file may begin with any bytes.
    is_safetensors = head[LENGTH_BYTES:] == b"{"
    known = () if is_safetensors else [begin for begin in reads if head.startswith(begin)]
    return reads[known[0]](source) if known else Safetensors().decode(source)


def _read_zip(source: RecordSource) -> Record:
    """Read a zip archive that Keras 3 or PyTorch wrote."""
    return read_keras(source) if has_keras_weights(source) else read_torch(source)


def _read_folder(folder: Path, *, mapped: bool) -> Record:
    """Open the weights in a Hugging Face folder: one file, or files with an index."""
    path = _find_weights(folder)
    if not path.name.endswith(".index.json"):
        return load(path, mapped=mapped)
    files = _read_weight_index(path)
    records = {
        name: load(folder / name, mapped=mapped) for name in dict.fromkeys(files.values())
    }
    for name, record in records.items():
        expected = {key for key, file in files.items() if file == name}
        if difference := sorted(expected ^ record.keys()):
            raise RecordError(
                f"{folder / name}: its arrays differ from those that {path.name} lists: "
                f"{difference[0]}"
            )
    return Record({key: records[name][key] for key, name in files.items()})


def _find_weights(folder: Path) -> Path:
    """Return the only index or weight file in a folder."""
    for pattern in _WEIGHT_FILES:
        found = sorted(folder.glob(pattern))
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise RecordError(
                f"{folder}: has several weight files ({names}); load one of them"
            )
        if found:
            return found[0]
    raise MissingFileError(
        f"{folder}: contains no weights; expected model.safetensors, or several files and "
        "model.safetensors.index.json"
    )


def _read_weight_index(path: Path) -> dict[str, str]:
    """Return the file name of each array in an index."""
    with reading(path):
        index: Any = parse_json(str(path), path.read_bytes())
    files = index.get("weight_map") if is_dict(index) else None
    if not is_dict(files):
        raise RecordError(f"{path}: has no weight_map, which maps arrays to files")
    for key, name in files.items():
        # A file name with a folder could refer to any file.
        if not isinstance(name, str) or name in {"", ".", ".."} or Path(name).name != name:
            raise RecordError(
                f"{path}: {key} must be in a file of the folder, got {name!r}"
            )
    return files


HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
KERAS_WEIGHTS = "model.weights.h5"  # Name of the weights in a Keras 3 archive.
# Group of the weights in a whole-model file of Keras 2.
_WEIGHTS_PREFIX = "model_weights/"


def read_hdf5(source: RecordSource) -> Record:
    """Open an HDF5 file as a record of its numeric datasets, with dots in paths."""
    h5py = _import_h5py(source)
    try:
        with source.open() as file, h5py.File(file, "r") as root:
            found = dict(_list_arrays(source, root, h5py, seen=set()))
            facts = {key: _to_plain_value(value) for key, value in root.attrs.items()}
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise RecordError(f"{source.name}: not a complete HDF5 file ({error})") from None
    arrays: dict[str, LazyArray] = {}
    for name, (shape, dtype) in found.items():
        # TensorFlow appends ":0" to the names of weights.
        path = name.removeprefix(_WEIGHTS_PREFIX).removesuffix(":0").replace("/", ".")
        if path in arrays:
            raise RecordError(f"{source.name}: two arrays have the path {path}")
        read = partial(_read_array, source, name, size=prod(shape), dtype=dtype)
        arrays[path] = LazyArray(source.name, path, shape, dtype, read)
    known = {key: value for key, value in facts.items() if value is not None}
    return Record(arrays, metadata=known)


def read_keras(source: RecordSource) -> Record:
    """Open the weights in a Keras 3 archive; its configuration is not read."""
    with open_archive(source) as archive:
        data = read_member(source, archive, KERAS_WEIGHTS)
    found = read_hdf5(replace(RecordSource.of_bytes(data), name=source.name))
    return Record(found, metadata=found.metadata)


def has_keras_weights(source: RecordSource) -> bool:
    """Return whether an archive is a Keras 3 model."""
    with open_archive(source) as archive:
        return KERAS_WEIGHTS in archive.namelist()


def _import_h5py(source: RecordSource) -> Any:
    """Import h5py, which an extra installs."""
    try:
        import h5py
    except ImportError:
        raise MissingExtraError(
            f"{source.name}: Keras files need h5py: pip install h5py"
        ) from None
    return h5py


def _list_arrays(
    source: RecordSource, group: Any, h5py: Any, *, seen: set[int], prefix: str = ""
) -> Iterator[tuple[str, tuple[tuple[int, ...], np.dtype[Any]]]]:
    """Yield names, shapes and dtypes of datasets; raise on links to other files."""
    for key in group:
        name = f"{prefix}{key}"
        if not isinstance(group.get(key, getlink=True), h5py.HardLink):
            raise RecordError(f"{source.name}: {name} is a link, which is not followed")
        item = group[key]
        if isinstance(item, h5py.Group):
            address = h5py.h5o.get_info(item.id).addr
            if address in seen:  # an HDF5 group may contain itself
                raise RecordError(f"{source.name}: {name} is linked twice")
            seen.add(address)
            yield from _list_arrays(source, item, h5py, seen=seen, prefix=f"{name}/")
            continue
        if not isinstance(item, h5py.Dataset):
            raise RecordError(f"{source.name}: {name} is a named HDF5 type, not an array")
        if item.is_virtual or item.external:
            raise RecordError(f"{source.name}: {name} is in another file; it is not read")
        name_dtype(f"{source.name}: {name}", item.dtype.newbyteorder("="))
        yield name, (tuple(item.shape), item.dtype.newbyteorder("="))


def _read_array(
    source: RecordSource, name: str, *, size: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Read a dataset with a known number of values."""
    source.require_plausible(name, size * dtype.itemsize)
    h5py = _import_h5py(source)
    try:
        with source.open() as file, h5py.File(file, "r") as root:
            return np.asarray(root[name][()], dtype)
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise RecordError(f"{source.name}: {name} cannot be read ({error})") from None


def _to_plain_value(value: Any) -> Any:
    """Return an attribute as a string or number; None for other types."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.generic):
        return cast("Any", value).item()
    return value if isinstance(value, (str, int, float)) else None
