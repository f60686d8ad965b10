"""Reads the header of a safetensors file, and the arrays at its offsets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import ml_dtypes
import numpy as np

from seqloom.errors import RecordError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_LENGTH_BYTES = 8  # the length of the header is an integer of this size

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
READ_TYPES = tuple(np.dtype(dtype) for dtype in _TYPES.values())


class ArrayEntry(NamedTuple):
    """The dtype, shape and bytes of one array in a file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


def read_header(path: Path) -> tuple[dict[str, ArrayEntry], dict[str, str]]:
    """Returns the entries of arrays and the table of strings, both by name."""
    # The library has checked the offsets before.
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        header = cast("dict[str, Any]", parse_json(path, file.read(length)))
    strings = cast("dict[str, str]", header.pop("__metadata__", None) or {})
    begin = _LENGTH_BYTES + length
    entries: dict[str, ArrayEntry] = {}
    for name, entry in header.items():
        start, stop = entry["data_offsets"]
        shape = tuple(entry["shape"])
        entries[name] = ArrayEntry(entry["dtype"], shape, begin + start, begin + stop)
    return entries, strings


def read_array(path: Path, name: str, entry: ArrayEntry) -> NDArray[Any]:
    """Reads one array."""
    dtype = _TYPES.get(entry.dtype)
    if dtype is None:
        raise RecordError(
            f"{path}: {name} has the unknown dtype {entry.dtype}; expected one of "
            f"{', '.join(_TYPES)}"
        )
    values = np.empty(entry.stop - entry.start, np.uint8)
    with path.open("rb") as file:
        file.seek(entry.start)
        if file.readinto(values.data) != values.size:
            raise RecordError(
                f"{path}: {name} is cut; the file was changed after it was opened"
            )
    return values.view(dtype).reshape(entry.shape)


def parse_json(path: Path, text: str | bytes) -> Any:
    """Parses JSON; refuses a name that appears twice, and too deep nesting."""
    try:
        return json.loads(text, object_pairs_hook=_require_unique)
    except RecursionError:
        raise RecordError(f"{path}: its metadata is nested too deeply") from None
    except ValueError as error:
        raise RecordError(f"{path}: its header is not valid ({error})") from None


def _require_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns pairs as a dict; refuses a name that appears twice."""
    entries = dict(pairs)
    if len(entries) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in entries if names.count(name) > 1)
        raise ValueError(f"the name {twice!r} appears twice")
    return entries
