"""Files of Keras: the arrays of HDF5, alone or in the archive of Keras 3."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import MissingExtraError, RecordError
from seqloom.record._archive import open_archive, read_member
from seqloom.record._lazy_array import LazyArray
from seqloom.record._record import Record
from seqloom.record._source import RecordSource
from seqloom.record._types import name_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

HDF5 = b"\x89HDF\r\n\x1a\n"
KERAS_WEIGHTS = "model.weights.h5"  # in the archive of Keras 3
# The group of the weights in a file of a whole model of Keras 2.
_WEIGHTS = "model_weights/"


def read_hdf5(source: RecordSource) -> Record:
    """Opens a file of HDF5: each dataset of numbers, by its path with dots."""
    h5py = _import_h5py(source)
    try:
        with source.open() as file, h5py.File(file, "r") as root:
            found = dict(_list_arrays(source, root, h5py, seen=set()))
            facts = {key: _plain(value) for key, value in root.attrs.items()}
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise RecordError(f"{source.name}: not a whole HDF5 file ({error})") from None
    arrays: dict[str, LazyArray] = {}
    for name, (shape, dtype) in found.items():
        # TensorFlow adds the number of an output.
        path = name.removeprefix(_WEIGHTS).removesuffix(":0").replace("/", ".")
        if path in arrays:
            raise RecordError(f"{source.name}: two arrays have the path {path}")
        read = partial(_read_array, source, name, size=prod(shape), dtype=dtype)
        arrays[path] = LazyArray(source.name, path, shape, dtype, read)
    known = {key: value for key, value in facts.items() if value is not None}
    return Record(arrays, metadata=known)


def read_keras(source: RecordSource) -> Record:
    """Opens the weights in an archive of Keras 3; its configuration is not read."""
    with open_archive(source) as archive:
        data = read_member(source, archive, KERAS_WEIGHTS)
    found = read_hdf5(replace(RecordSource.of_bytes(data), name=source.name))
    return Record(found, metadata=found.metadata)


def has_keras_weights(source: RecordSource) -> bool:
    """Returns True for an archive of Keras 3."""
    with open_archive(source) as archive:
        return KERAS_WEIGHTS in archive.namelist()


def _import_h5py(source: RecordSource) -> Any:
    """Imports the library of HDF5, which an extra installs."""
    try:
        import h5py
    except ImportError:
        raise MissingExtraError(
            f"{source.name}: files of Keras need h5py: pip install h5py"
        ) from None
    return h5py


def _list_arrays(
    source: RecordSource, group: Any, h5py: Any, *, seen: set[int], prefix: str = ""
) -> Iterator[tuple[str, tuple[tuple[int, ...], np.dtype[Any]]]]:
    """Yields names, shapes and types of datasets; follows no link to another file."""
    for key in group:
        name = f"{prefix}{key}"
        if not isinstance(group.get(key, getlink=True), h5py.HardLink):
            raise RecordError(f"{source.name}: {name} is a link, which is not followed")
        item = group[key]
        if isinstance(item, h5py.Group):
            address = h5py.h5o.get_info(item.id).addr
            if address in seen:  # a group may contain itself
                raise RecordError(f"{source.name}: {name} is linked twice")
            seen.add(address)
            yield from _list_arrays(source, item, h5py, seen=seen, prefix=f"{name}/")
            continue
        if not isinstance(item, h5py.Dataset):
            raise RecordError(f"{source.name}: {name} is a type, not an array")
        if item.is_virtual or item.external:
            raise RecordError(f"{source.name}: {name} lies in another file; it is not read")
        name_type(f"{source.name}: {name}", item.dtype.newbyteorder("="))
        yield name, (tuple(item.shape), item.dtype.newbyteorder("="))


def _read_array(
    source: RecordSource, name: str, *, size: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Reads a dataset of a number of values."""
    source.require_plausible(name, size * dtype.itemsize)
    h5py = _import_h5py(source)
    try:
        with source.open() as file, h5py.File(file, "r") as root:
            return np.asarray(root[name][()], dtype)
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise RecordError(f"{source.name}: {name} cannot be read ({error})") from None


def _plain(value: Any) -> Any:
    """Returns an attribute as a string or a number; None for anything else."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.generic):
        return cast("Any", value).item()
    return value if isinstance(value, (str, int, float)) else None
