"""Calls encoders and augmentations, and computes the lengths of batches."""

from __future__ import annotations

import copyreg
import inspect
import math
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np

from seqloom._arguments import quote
from seqloom._config import JsonConfig
from seqloom._key import Key
from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom.augment import Augmentation
from seqloom.encode._base import SequenceEncoder
from seqloom.encode._letters import ALPHABETS, prepare_output
from seqloom.errors import AlphabetError, ArgumentError, SeqloomError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


REUSED_MEMORY = _native.BatchMemory()
Letters = tuple[Ragged, Ragged | None]  # (sequences, qualities); no qualities for FASTA


class Encoder(Protocol):
    """Converts sequences to a single array, in which shorter sequences are padded.

    A custom encoder must have the methods of this protocol. The optional method ``refuses``
    finds invalid characters before encoding. An encoder with ``batch(out=, num_threads=)``,
    ``shape(n, places)`` and ``dtype`` can write into reused memory. A custom encoder also
    needs ``places(lengths)`` if the number of positions differs from the number of
    residues, and ``pad_value`` if padding is not 0. The encoders of `sl.encode` have all
    optional methods.

    Examples:
        >>> from seqloom.encode import OneHot
        >>> encoder: Encoder = OneHot("dna")
        >>> encoder.channels
        'first'
    """

    @property
    def channels(self) -> str | None:
        """Axis of channels: ``"first"`` (after sequences), ``"last"`` or None (no axis)."""
        ...

    def batch(self, sequences: Ragged, *, length: int | None = None) -> NDArray[Any]:
        """Encode many sequences at once, into ``length`` positions each."""
        ...


@runtime_checkable
class ValidatingEncoder(Protocol):
    """An encoder that lists invalid characters before it encodes."""

    def refuses(self, letters: bytes) -> bytes:
        """Return the invalid characters."""
        ...


def encoder_input_type(encoder: Any) -> str:
    """Return the input type of a built-in encoder; an empty string for custom encoders."""
    return encoder.encodes if isinstance(encoder, JsonConfig) else ""


@lru_cache(maxsize=64)
def find_override(kind: Any) -> str | None:
    """Return the method that a subclass of a built-in encoder overrides, or None."""
    for base in kind.__mro__ if issubclass(kind, SequenceEncoder) else ():
        defined = vars(base)
        if defined.get("supports_native_batches", False):
            return None
        if overrides := [name for name in ("batch", "__call__") if name in defined]:
            return overrides[0]
    return None


def check_encoder(encoder: Any) -> None:
    """Raise if a value, such as the name of an alphabet, is not an encoder."""
    fits = hasattr(encoder, "batch") and hasattr(encoder, "channels")
    if encoder is not None and (isinstance(encoder, type) or not fits):
        named = str(encoder).lower()
        name = named if named in ALPHABETS else "dna"
        raise ArgumentError(
            f'encoder must be an object such as sl.encode.OneHot("{name}"), got {encoder!r}'
        )


def check_augment(augment: Any, encoder: Any) -> Any:
    """Raise if a value is not an augmentation, or does not suit the encoder."""
    if augment is not None and (isinstance(augment, type) or not callable(augment)):
        raise ArgumentError(
            "augment must be an augmentation of sl.augment, or a function of "
            f"residues and key (and quality=, for FASTQ), got {augment!r}"
        )
    if augment is not None and not _accepts_residues_and_key(augment):
        raise ArgumentError(
            f"augment must accept residues and a key, but {augment!r} does not: "
            "write it as lambda sequence, key: ..."
        )
    if getattr(encoder, "alphabet", None) == "protein":
        _check_for_protein(augment)
    return augment


def _check_for_protein(augment: Any) -> None:
    """Raise if an augmentation would change a protein as if it were DNA."""
    for member in getattr(augment, "members", ()):
        _check_for_protein(member)
    if not isinstance(augment, Augmentation):
        return
    name = type(augment).__name__
    if getattr(augment, "alphabet", None) in ("dna", "rna", "iupac"):
        advice = (
            "leave it out" if name == "ReverseComplement" else 'pass alphabet="protein"'
        )
        raise ArgumentError(
            f"augment: {name} is for nucleotides, but the encoder is for proteins: {advice}"
        )
    # In mode "roll", `Shift` does not insert its fill character.
    fills = getattr(augment, "mode", "fill") == "fill"
    if getattr(augment, "letter", "") in ("N", "n") and fills:
        raise ArgumentError(
            f'augment: {name} writes N, which is asparagine in a protein: pass letter="X"'
        )


def _accepts_residues_and_key(augment: Any) -> bool:
    """Return whether a function accepts residues and a key; True without a signature."""
    try:
        signature = inspect.signature(augment)
    except ValueError:  # a C function, which has no signature
        return True
    # An augmentation for FASTQ may require the argument `quality`.
    without: dict[str, bytes] = {}
    for quality in (without, {"quality": b""}):
        with suppress(TypeError):
            signature.bind(b"", None, **quality)
            return True
    return False


# A pickled `BatchMemory` is empty, because Hugging Face datasets pickle this module when
# they hash functions.
copyreg.pickle(_native.BatchMemory, lambda _: (_native.BatchMemory, ()))


def allocate_batch(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised array for a batch; reuse memory if possible."""
    kind = np.dtype(dtype)
    memory = REUSED_MEMORY.take(math.prod(shape) * kind.itemsize)
    return memory.view(kind).reshape(shape)


def padding_mask(lengths: NDArray[np.int64], positions: int) -> NDArray[np.float32]:
    """Return a mask: 1 at positions with a residue, 0 in padding."""
    return (np.arange(positions) < lengths[:, None]).astype(np.float32)


def count_positions(encoder: Any, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of encoded positions of each sequence from its length."""
    count = getattr(encoder, "places", None)
    return lengths if count is None else count(lengths)


def may_drop_residues(encoder: Any) -> bool:
    """Return whether an encoder may drop residues, such as a final ``*``."""
    return bool(getattr(encoder, "leaves_out", False))


def encoded_extents(encoder: Any, sequences: Ragged) -> NDArray[np.int64]:
    """Return the number of encoded positions per sequence, without a dropped ``*``."""
    count = getattr(encoder, "extents", None)
    return (
        count_positions(encoder, sequences.lengths) if count is None else count(sequences)
    )


def position_axis(encoder: Any) -> int:
    """Return the axis of positions in a batch."""
    return 2 if encoder.channels == "first" else 1


@dataclass(frozen=True, slots=True)
class Extents:
    """Number of encoded positions of each sequence of a dataset."""

    each: NDArray[np.int64] | int  # an int if equal for all sequences

    @classmethod
    def of(cls, positions: NDArray[np.int64]) -> Self:
        """Store the number of positions of each sequence."""
        is_equal = positions.size and (positions == positions[0]).all()
        return cls(int(positions[0]) if is_equal else positions)

    def select_rows(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of positions of each selected sequence."""
        if isinstance(self.each, int):
            # np.empty and fill take a third of the time of np.full.
            positions = np.empty(rows.size, np.int64)
            positions.fill(self.each)
            return positions
        return self.each[rows]

    def max_positions(self, lengths: NDArray[np.int64]) -> int:
        """Return the largest number of positions among the selected sequences."""
        if isinstance(self.each, int):
            return self.each if lengths.size else 0
        return int(lengths.max(initial=0))

    def mask(self, lengths: NDArray[np.int64], positions: int) -> dict[str, Any]:
        """Return the column ``mask``; empty without padding."""
        is_full = (
            self.each == positions
            if isinstance(self.each, int)
            else bool((lengths == positions).all())
        )
        return {} if is_full else {"mask": padding_mask(lengths, positions)}


def padded_length(
    lengths: NDArray[np.int64], names: Any, *, length: int | None, multiple: int
) -> int:
    """Return the number of positions of a batch from the lengths of its sequences."""
    longest = int(lengths.max(initial=0))
    return pad_length(
        longest, lambda: names()[int(lengths.argmax())], length=length, multiple=multiple
    )


def pad_length(longest: int, name: Any, *, length: int | None, multiple: int) -> int:
    """Return the number of positions of a batch from the longest sequence."""
    if length is None:
        return -(-longest // multiple) * multiple
    if longest > length:
        raise ShapeError(
            f"sequence {name()!r} needs {longest:,} positions, more than length={length}; "
            "crop it (sl.augment.Crop) or pass a longer length"
        )
    return length


def encode(
    encoder: Any,
    letters: Ragged,
    *,
    length: int,
    out: NDArray[Any] | None,
    num_threads: int,
) -> NDArray[Any]:
    """Encode sequences into memory that is reused after the batch is garbage collected."""
    options: dict[str, Any] = {"length": length}
    kind = encoder.__class__
    names = _batch_arguments(kind)
    if "num_threads" in names:
        options["num_threads"] = num_threads
    is_of_numpy = hasattr(encoder, "shape") and encoder.dtype != "bfloat16"
    if out is None and "out" in names and is_of_numpy:
        out = allocate_batch(encoder.shape(len(letters), length), encoder.dtype)
    if out is not None:
        options["out"] = out
    if find_override(kind) == "__call__":
        return _encode_one_by_one(encoder, letters, length=length, out=out)
    return encoder.batch(letters, **options)


def _encode_one_by_one(encoder: Any, letters: Ragged, *, length: int, out: Any) -> Any:
    """Encode sequences one by one, because a subclass overrides ``__call__``."""
    inputs, _ = prepare_output(encoder.shape(len(letters), length), encoder.dtype, out)
    inputs[...] = encoder.pad_value
    is_last = encoder.channels == "first"
    for record, sequence in enumerate(letters.to_list()):
        try:
            numbers = encoder(sequence)
        except AlphabetError as error:
            error.record = record
            raise
        count = numbers.shape[-1 if is_last else 0]
        if is_last:
            inputs[record, :, :count] = numbers
        else:
            inputs[record, :count] = numbers
    return inputs


@lru_cache(maxsize=64)
def _batch_arguments(kind: Any) -> frozenset[str]:
    """Return the names of the arguments of an encoder's ``batch``."""
    return frozenset(inspect.signature(kind.batch).parameters)


def apply_augment(
    augment: Any, letters: Letters, keys: NDArray[np.uint32], *, num_threads: int
) -> Letters:
    """Augment sequences, each with its key."""
    sequences, qualities = letters
    if not getattr(augment, "has_kernel", hasattr(augment, "batch")):
        return _augment_each(augment, letters, keys)
    if qualities is None:
        return augment.batch(sequences, keys, num_threads=num_threads), None
    return augment.batch(sequences, keys, qualities=qualities, num_threads=num_threads)


def _augment_each(augment: Any, letters: Letters, keys: NDArray[np.uint32]) -> Letters:
    sequences, qualities = letters
    record_keys = [Key.from_json(words) for words in keys.tolist()]
    rows = sequences.to_list()
    if qualities is None:
        changed_rows = [_as_residues(augment, it) for it in map(augment, rows, record_keys)]
        return Ragged.from_list(changed_rows), None
    pairs = [
        _as_residues_and_quality(augment, augment(row, key, quality=quality))
        for row, key, quality in zip(rows, record_keys, qualities.to_list(), strict=True)
    ]
    changed, changed_qualities = zip(*pairs, strict=True) if pairs else ((), ())
    return Ragged.from_list(changed), Ragged.from_list(changed_qualities)


def _as_residues(augment: Any, given: Any) -> Any:
    """Return the result of a custom augmentation; raise if it is not bytes."""
    is_bytes = isinstance(given, (bytes, bytearray, memoryview))
    if not is_bytes and getattr(getattr(given, "dtype", None), "itemsize", 0) != 1:
        found = quote(given)
        raise ArgumentError(f"augment must return bytes, but {augment!r} returned {found}")
    return given  # pyright: ignore[reportUnknownVariableType]


def _as_residues_and_quality(augment: Any, given: Any) -> tuple[Any, Any]:
    """Return residues and qualities; raise unless both have the same length."""
    both: list[Any] = list(given) if isinstance(given, (tuple, list)) else []  # pyright: ignore[reportUnknownArgumentType]
    pair = [_as_residues(augment, it) for it in both] if len(both) == 2 else []  # noqa: PLR2004 - a pair
    if len({len(it) for it in pair}) != 1:
        raise ArgumentError(
            "augment must return the same number of residues and qualities for FASTQ, but "
            f"{augment!r} returned {quote(given)}"  # pyright: ignore[reportUnknownArgumentType]
        )
    return pair[0], pair[1]


def add_file_position(
    error: AlphabetError, found_at: tuple[str, int], name: str, *, augmented: bool
) -> AlphabetError:
    """Add file, record, line and byte to the error of an encoder."""
    path, record = found_at
    where = f"{path}: record {record} ({name})"
    line = byte = None
    if augmented:
        where += f", residue {error.position} after augmentation"
    else:
        line, byte = _find_line(path, record, error.position or 0)
        where += (
            f", residue {error.position}"
            if line is None
            else f", line {line}, byte {byte} of the text"
        )
    message = f"{where}: found {error.character!r}, expected {error.expected}"
    found = error.with_message(message, record)
    found.path, found.line, found.byte = path, line, byte
    return found


def _find_line(path: str, record: int, position: int) -> tuple[int | None, int | None]:
    """Return line and byte of a residue in its file; None for an unreadable file."""
    if not Path(path).is_file():
        return None, None
    try:
        return _native.locate(path, record, position)
    except SeqloomError:
        return None, None


def find_invalid_sequence(encoder: Any, letters: Ragged) -> int | None:
    """Return the index of the first sequence with an invalid character, or None."""
    if encoder_input_type(encoder) == SequenceEncoder.encodes:
        return encoder.find_invalid_sequence(letters)
    data = letters.data
    met = np.flatnonzero(_native.count_letters(data)).astype(np.uint8)
    bad = encoder.refuses(met.tobytes())
    if not bad:
        return None
    position = int(np.isin(data, np.frombuffer(bad, np.uint8)).argmax())
    return int(np.searchsorted(letters.offsets, position, side="right")) - 1
