"""From letters to an encoded batch, and where a letter stands that has no code."""

from __future__ import annotations

import inspect
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import quote
from seqloom._key import Key
from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom.data._encoder import encoded_kind
from seqloom.data._ring import empty
from seqloom.encode._base import SequenceEncoder
from seqloom.errors import ArgumentError, LetterError, SeqloomError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Letters = tuple[Ragged, Ragged | None]  # of several records, and their qualities


def encode(
    encoder: Any,
    letters: Ragged,
    *,
    length: int,
    out: NDArray[Any] | None,
    num_threads: int,
) -> NDArray[Any]:
    """Encodes sequences into memory that is used again once the batch has died."""
    options: dict[str, Any] = {"length": length}
    known = _options(encoder.__class__)
    if "num_threads" in known:
        options["num_threads"] = num_threads
    is_of_numpy = hasattr(encoder, "shape") and encoder.dtype != "bfloat16"
    if out is None and "out" in known and is_of_numpy:
        out = empty(encoder.shape(len(letters), length), encoder.dtype)
    if out is not None:
        options["out"] = out
    return encoder.batch(letters, **options)


@lru_cache(maxsize=64)
def _options(kind: Any) -> frozenset[str]:
    """Lists what an encoder's ``batch`` can be told."""
    return frozenset(inspect.signature(kind.batch).parameters)


def apply_augment(
    augment: Any, letters: Letters, keys: NDArray[np.uint32], *, num_threads: int
) -> Letters:
    """Changes sequences, each by its own key."""
    sequences, qualities = letters
    if not getattr(augment, "has_kernel", hasattr(augment, "batch")):
        return _one_by_one(augment, letters, keys)
    if qualities is None:
        return augment.batch(sequences, keys, num_threads=num_threads), None
    return augment.batch(sequences, keys, qualities=qualities, num_threads=num_threads)


def _one_by_one(augment: Any, letters: Letters, keys: NDArray[np.uint32]) -> Letters:
    """Calls a user's own function for each sequence."""
    sequences, qualities = letters
    each = [Key.from_json(words) for words in keys.tolist()]
    rows = sequences.to_list()
    if qualities is None:
        found = [_as_letters(augment, it) for it in map(augment, rows, each)]
        return Ragged.from_list(found), None
    pairs = [
        _as_pair(augment, augment(row, key, quality=quality))
        for row, key, quality in zip(rows, each, qualities.to_list(), strict=True)
    ]
    changed, changed_qualities = zip(*pairs, strict=True) if pairs else ((), ())
    return Ragged.from_list(changed), Ragged.from_list(changed_qualities)


def _as_letters(augment: Any, given: Any) -> Any:
    """Takes the letters that a user's function gives."""
    is_bytes = isinstance(given, (bytes, bytearray, memoryview))
    if not is_bytes and getattr(getattr(given, "dtype", None), "itemsize", 0) != 1:
        found = quote(given)
        raise ArgumentError(f"augment must give letters as bytes, {augment!r} gave {found}")
    return given  # pyright: ignore[reportUnknownVariableType]


def _as_pair(augment: Any, given: Any) -> tuple[Any, Any]:
    """Takes letters and as many qualities."""
    both: list[Any] = list(given) if isinstance(given, (tuple, list)) else []  # pyright: ignore[reportUnknownArgumentType]
    pair = [_as_letters(augment, it) for it in both] if len(both) == 2 else []  # noqa: PLR2004 - a pair
    if len({len(it) for it in pair}) != 1:
        raise ArgumentError(
            "augment must give letters and as many qualities where files have them, "
            f"{augment!r} gave {quote(given)}"  # pyright: ignore[reportUnknownArgumentType]
        )
    return pair[0], pair[1]


def in_file(
    error: LetterError, found_at: tuple[str, int], name: str, *, augmented: bool
) -> LetterError:
    """Adds file, record, line and byte to what the encoder knows."""
    path, record = found_at
    where = f"{path}: record {record} ({name})"
    line = byte = None
    if augmented:
        where += f", letter {error.position} after augmentation"
    else:
        line, byte = _line_and_byte(path, record, error.position or 0)
        where += (
            f", letter {error.position}"
            if line is None
            else f", line {line}, byte {byte} of the text"
        )
    found = LetterError(
        f"{where}: found {error.letter!r}, expected {error.expected}",
        record=record,
        position=error.position,
        letter=error.letter,
        expected=error.expected,
    )
    found.path, found.line, found.byte = path, line, byte
    return found


def _line_and_byte(path: str, record: int, position: int) -> tuple[int | None, int | None]:
    """Looks again where a letter stands; a pipe, or a file that is gone, tells nothing."""
    if not Path(path).is_file():
        return None, None
    try:
        return _native.locate(path, record, position)
    except SeqloomError:
        return None, None


def first_refused(encoder: Any, letters: Ragged) -> int | None:
    """Finds the first sequence with a letter that the encoder would refuse."""
    if encoded_kind(encoder) == SequenceEncoder.encodes:
        return encoder.first_refused(letters)
    data = letters.data
    met = np.flatnonzero(_native.count_letters(data)).astype(np.uint8)
    bad = encoder.refuses(met.tobytes())
    if not bad:
        return None
    position = int(np.isin(data, np.frombuffer(bad, np.uint8)).argmax())
    return int(np.searchsorted(letters.offsets, position, side="right")) - 1
