"""The header of a safetensors file: what it holds and where, read once and checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import ml_dtypes
import numpy as np

from seqloom.errors import RecordError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_LENGTH = 8  # bytes that say how long the header is

_TYPES: dict[str, Any] = {
    "BOOL": np.bool_,
    **{f"I{8 * size}": np.dtype(f"i{size}") for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": np.dtype(f"u{size}") for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"f{size}") for size in (2, 4, 8)},
    "C64": np.complex64,
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
}
# NumPy's names of the same.
READ_TYPES = tuple(np.dtype(each) for each in _TYPES.values())


class Place(NamedTuple):
    """Where one array lies in a file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


def places_in(path: Path) -> tuple[dict[str, Place], dict[str, str]]:
    """Reads where the arrays of a file lie, and its table of texts.

    Args:
        path: A file whose header the library has found sound.

    Returns:
        Places by name, and texts by name.

    Raises:
        RecordError: A name stands twice.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH), "little")
        header = cast("dict[str, Any]", parsed(path, file.read(length)))
    texts = cast("dict[str, str]", header.pop("__metadata__", None) or {})
    begin = _LENGTH + length
    found: dict[str, Place] = {}
    for name, entry in header.items():
        start, stop = entry["data_offsets"]
        shape = tuple(entry["shape"])
        found[name] = Place(entry["dtype"], shape, begin + start, begin + stop)
    return found, texts


def array_at(path: Path, name: str, place: Place) -> NDArray[Any]:
    """Reads one array.

    Args:
        path: The file.
        name: The array's name, for errors.
        place: Where it lies.

    Returns:
        A new array.

    Raises:
        RecordError: Its element type is none that NumPy and ml_dtypes have, or the file
            has become shorter.
    """
    dtype = _TYPES.get(place.dtype)
    if dtype is None:
        raise RecordError(
            f"{path}: {name} is of {place.dtype}, which is not read; expected one of "
            f"{', '.join(_TYPES)}"
        )
    values = np.empty(place.stop - place.start, np.uint8)
    with path.open("rb") as file:
        file.seek(place.start)
        if file.readinto(values.data) != values.size:
            raise RecordError(f"{path}: {name} is cut; the file was changed")
    return values.view(dtype).reshape(place.shape)


def parsed(path: Path, text: str | bytes) -> Any:
    """Reads JSON in which no name stands twice.

    Args:
        path: The file that it is of, for errors.
        text: The JSON.

    Returns:
        What it says.

    Raises:
        RecordError: It is no JSON, is nested deeper than Python reads, or a name stands
            twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise RecordError(f"{path}: its facts are nested too deeply to be read") from None
    except ValueError as error:
        raise RecordError(f"{path}: its header cannot be read ({error})") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dict of pairs whose names differ."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ValueError(f"the name {twice!r} stands twice")
    return found
