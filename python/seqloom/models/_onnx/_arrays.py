"""Reads the constants of an ONNX file, also those that stand in files beside it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import FormatError, MissingFileError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_KINDS = "biuf"  # truths, integers and floats


def read_array(path: Path, proto: Any, name: str) -> NDArray[Any]:
    """Reads one constant; `path` is the file that it belongs to."""
    import onnx

    if any(size < 0 for size in proto.dims):
        raise FormatError(f"{path}: {name!r} has a negative size: {list(proto.dims)}")
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        return _read_beside(path, proto, name)
    try:
        array = np.asarray(onnx.numpy_helper.to_array(proto))
    except Exception as error:  # noqa: BLE001 - whatever a damaged array leads to
        raise FormatError(f"{path}: {name!r} cannot be read: {error}") from None
    return _require_numbers(path, array, name)


def _require_numbers(path: Path, array: NDArray[Any], name: str) -> NDArray[Any]:
    """Refuses words, complex numbers, and floats of 8 bits and fewer."""
    if array.dtype.kind in _KINDS or array.dtype.name == "bfloat16":
        return array
    raise FormatError(
        f"{path}: {name!r} holds {array.dtype}, and only truths, integers and floats of 16 "
        "bits and more can be read"
    )


def _read_beside(path: Path, proto: Any, name: str) -> NDArray[Any]:
    """Reads a constant from a file in the folder of the model, or below it."""
    import onnx

    facts = {it.key: it.value for it in proto.external_data}
    file = _find_beside(path, facts.get("location", ""), name)
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(proto.data_type))
        start = int(facts.get("offset", "0"))
    except (KeyError, TypeError, ValueError):
        raise FormatError(f"{path}: {name!r} does not say how it is stored") from None
    shape = tuple(map(int, proto.dims))
    size = math.prod(shape) * dtype.itemsize
    most = file.stat().st_size
    if not 0 <= start <= start + size <= most:
        raise FormatError(
            f"{path}: {name!r} needs the bytes {start} to {start + size} of {file.name}, "
            f"which has {most}"
        )
    with file.open("rb") as stream:
        stream.seek(start)
        text = stream.read(size)
    if len(text) != size:
        raise FormatError(f"{file}: ended while {name!r} was read from it")
    array = np.frombuffer(text, dtype.newbyteorder("<")).reshape(shape)
    return _require_numbers(path, array.astype(dtype), name)


def _find_beside(path: Path, location: str, name: str) -> Path:
    """Finds a file of constants; refuses one outside of the model's folder."""
    home = path.parent.resolve()
    try:
        file = (home / location).resolve()
        is_inside = bool(location) and file != home and file.is_relative_to(home)
    except (OSError, ValueError):
        is_inside, file = False, home
    if not is_inside:
        raise FormatError(
            f"{path}: {name!r} stands in {location!r}, which is outside of the model's "
            "folder and is not read"
        )
    if not file.is_file():
        raise MissingFileError(f"{file}: no such file; {path.name} keeps {name!r} in it")
    return file
