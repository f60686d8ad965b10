"""Encoders and augmentations as datasets call them, and the lengths of batches."""

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


RING = _native.Ring()
Letters = tuple[Ragged, Ragged | None]  # of several records, and their qualities


class Encoder(Protocol):
    """Turns sequences into one array, shorter ones followed by padding.

    This much an encoder must have. Ours have more, and one of your own may: ``refuses``
    finds a bad letter before any work is done; ``batch(out=, num_threads=)`` with
    ``shape(n, places)`` and ``dtype`` writes into memory that is used again;
    ``places(lengths)`` and ``pad_value`` are for those where a letter is not a position, or
    padding is not 0.

    Examples:
        >>> from seqloom.encode import OneHot
        >>> encoder: Encoder = OneHot("dna")
        >>> encoder.channels
        'first'
    """

    @property
    def channels(self) -> str | None:
        """``"first"`` for arrays (sequences, channels, positions), ``"last"``, or None."""
        ...

    def batch(self, sequences: Ragged, *, length: int | None = None) -> NDArray[Any]:
        """Encode many sequences at once, into ``length`` positions each."""
        ...


@runtime_checkable
class Refusing(Protocol):
    """An encoder that can say in advance which letters it would refuse."""

    def refuses(self, letters: bytes) -> bytes:
        """Tell which letters would be an error."""
        ...


def encoded_kind(encoder: Any) -> str:
    """Return what an encoder of ours encodes; an empty text for a user's own."""
    return encoder.encodes if isinstance(encoder, JsonConfig) else ""


@lru_cache(maxsize=64)
def find_override(kind: Any) -> str | None:
    """Name the method by which a subclass of our encoders encodes, if not by ours."""
    for base in kind.__mro__ if issubclass(kind, SequenceEncoder) else ():
        own = vars(base)
        if own.get("supports_native_batches", False):
            return None
        if found := [name for name in ("batch", "__call__") if name in own]:
            return found[0]
    return None


def check_encoder(encoder: Any) -> None:
    """Refuse what is no encoder, such as the name of an alphabet."""
    fits = hasattr(encoder, "batch") and hasattr(encoder, "channels")
    if encoder is not None and (isinstance(encoder, type) or not fits):
        named = str(encoder).lower()
        name = named if named in ALPHABETS else "dna"
        raise ArgumentError(
            f'encoder must be one such as sl.encode.OneHot("{name}"), got {encoder!r}'
        )


def check_augment(augment: Any, encoder: Any) -> Any:
    """Refuse what cannot change a sequence, or puts nucleotides into a protein."""
    if augment is not None and (isinstance(augment, type) or not callable(augment)):
        raise ArgumentError(
            "augment must be one such as sl.augment.ReverseComplement(), or a function of "
            f"letters and key (and quality=, for FASTQ), got {augment!r}"
        )
    if augment is not None and not _takes_letters_and_key(augment):
        raise ArgumentError(
            f"augment is called with letters and a key, which {augment!r} does not take: "
            "write it as lambda letters, key: ..."
        )
    if getattr(encoder, "alphabet", None) == "protein":
        _check_of_protein(augment)
    return augment


def _check_of_protein(augment: Any) -> None:
    """Refuse augmentations of nucleotides, of which some letters are residues too."""
    for member in getattr(augment, "members", ()):
        _check_of_protein(member)
    if not isinstance(augment, Augmentation):
        return
    name = type(augment).__name__
    if getattr(augment, "alphabet", None) in ("dna", "rna", "iupac"):
        advice = (
            "leave it out" if name == "ReverseComplement" else 'give alphabet="protein"'
        )
        raise ArgumentError(
            f"augment: {name} is of nucleotides, but the encoder reads proteins: {advice}"
        )
    # A shift that rolls does not write its letter.
    fills = getattr(augment, "mode", "fill") == "fill"
    if getattr(augment, "letter", "") in ("N", "n") and fills:
        raise ArgumentError(
            f'augment: {name} writes N, which is asparagine in a protein: give letter="X"'
        )


def _takes_letters_and_key(augment: Any) -> bool:
    """Tell whether a function can be called with both, where that can be told."""
    try:
        signature = inspect.signature(augment)
    except ValueError:  # a function in C that does not say
        return True
    # One that is for FASTQ alone may need the quality.
    without: dict[str, bytes] = {}
    for quality in (without, {"quality": b""}):
        with suppress(TypeError):
            signature.bind(b"", None, **quality)
            return True
    return False


# Libraries that hash a function (Hugging Face's datasets) pickle the modules it uses.
copyreg.pickle(_native.Ring, lambda _: (_native.Ring, ()))


def empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Take memory for one batch: it holds anything, as that of ``np.empty`` does."""
    kind = np.dtype(dtype)
    memory = RING.take(math.prod(shape) * kind.itemsize)
    return memory.view(kind).reshape(shape)


def mask_of(lengths: NDArray[np.int64], positions: int) -> NDArray[np.float32]:
    """Mark the positions that hold a letter."""
    return (np.arange(positions) < lengths[:, None]).astype(np.float32)


def count_positions(encoder: Any, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the positions that an encoder makes of so many letters."""
    count = getattr(encoder, "places", None)
    return lengths if count is None else count(lengths)


def leaves_out(encoder: Any) -> bool:
    """Tell whether an encoder may leave letters out, such as a stop at the end."""
    return bool(getattr(encoder, "leaves_out", False))


def extents_of(encoder: Any, sequences: Ragged) -> NDArray[np.int64]:
    """Count the positions that sequences fill, which is less where a stop is left out."""
    count = getattr(encoder, "extents", None)
    return (
        count_positions(encoder, sequences.lengths) if count is None else count(sequences)
    )


def position_axis(encoder: Any) -> int:
    """Tell which axis of a batch is the position."""
    return 2 if encoder.channels == "first" else 1


@dataclass(frozen=True, slots=True)
class Extents:
    """How many positions the sequences of a dataset fill; one number if all agree."""

    each: NDArray[np.int64] | int  # the positions of each sequence, or of all of them

    @classmethod
    def of(cls, positions: NDArray[np.int64]) -> Self:
        """Look whether all are alike."""
        is_alike = positions.size and (positions == positions[0]).all()
        return cls(int(positions[0]) if is_alike else positions)

    def at(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """List the positions of some sequences."""
        if isinstance(self.each, int):
            # For every batch of a loader: np.full takes three times as long.
            positions = np.empty(rows.size, np.int64)
            positions.fill(self.each)
            return positions
        return self.each[rows]

    def longest(self, lengths: NDArray[np.int64]) -> int:
        """Find the most positions of some sequences."""
        if isinstance(self.each, int):
            return self.each if lengths.size else 0
        return int(lengths.max(initial=0))

    def mask(self, lengths: NDArray[np.int64], positions: int) -> dict[str, Any]:
        """Mark the positions that hold a letter, if there is padding."""
        is_full = (
            self.each == positions
            if isinstance(self.each, int)
            else bool((lengths == positions).all())
        )
        return {} if is_full else {"mask": mask_of(lengths, positions)}


def padded_length(
    lengths: NDArray[np.int64], names: Any, *, length: int | None, multiple: int
) -> int:
    """Decide how many positions a batch has."""
    longest = int(lengths.max(initial=0))
    return pad_length(
        longest,
        lambda: names()[int(lengths.argmax())],
        length=length,
        multiple=multiple,
    )


def pad_length(longest: int, name: Any, *, length: int | None, multiple: int) -> int:
    """Decide how many positions a batch has whose longest sequence fills so many."""
    if length is None:
        return -(-longest // multiple) * multiple
    if longest > length:
        raise ShapeError(
            f"sequence {name()!r} takes {longest:,} positions, more than length={length}; "
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
    """Encode sequences into memory that is used again once the batch has died."""
    options: dict[str, Any] = {"length": length}
    kind = encoder.__class__
    known = _options(kind)
    if "num_threads" in known:
        options["num_threads"] = num_threads
    is_of_numpy = hasattr(encoder, "shape") and encoder.dtype != "bfloat16"
    if out is None and "out" in known and is_of_numpy:
        out = empty(encoder.shape(len(letters), length), encoder.dtype)
    if out is not None:
        options["out"] = out
    if find_override(kind) == "__call__":
        return _encode_each(encoder, letters, length=length, out=out)
    return encoder.batch(letters, **options)


def _encode_each(encoder: Any, letters: Ragged, *, length: int, out: Any) -> Any:
    """Call an encoder of ours whose ``__call__`` is overridden for each sequence."""
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
def _options(kind: Any) -> frozenset[str]:
    """List what an encoder's ``batch`` can be told."""
    return frozenset(inspect.signature(kind.batch).parameters)


def apply_augment(
    augment: Any, letters: Letters, keys: NDArray[np.uint32], *, num_threads: int
) -> Letters:
    """Change sequences, each by its own key."""
    sequences, qualities = letters
    if not getattr(augment, "has_kernel", hasattr(augment, "batch")):
        return _one_by_one(augment, letters, keys)
    if qualities is None:
        return augment.batch(sequences, keys, num_threads=num_threads), None
    return augment.batch(sequences, keys, qualities=qualities, num_threads=num_threads)


def _one_by_one(augment: Any, letters: Letters, keys: NDArray[np.uint32]) -> Letters:
    """Call a user's own function for each sequence."""
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
    """Take the letters that a user's function gives."""
    is_bytes = isinstance(given, (bytes, bytearray, memoryview))
    if not is_bytes and getattr(getattr(given, "dtype", None), "itemsize", 0) != 1:
        found = quote(given)
        raise ArgumentError(f"augment must give letters as bytes, {augment!r} gave {found}")
    return given  # pyright: ignore[reportUnknownVariableType]


def _as_pair(augment: Any, given: Any) -> tuple[Any, Any]:
    """Take letters and as many qualities."""
    both: list[Any] = list(given) if isinstance(given, (tuple, list)) else []  # pyright: ignore[reportUnknownArgumentType]
    pair = [_as_letters(augment, it) for it in both] if len(both) == 2 else []  # noqa: PLR2004 - a pair
    if len({len(it) for it in pair}) != 1:
        raise ArgumentError(
            "augment must give letters and as many qualities where files have them, "
            f"{augment!r} gave {quote(given)}"  # pyright: ignore[reportUnknownArgumentType]
        )
    return pair[0], pair[1]


def in_file(
    error: AlphabetError, found_at: tuple[str, int], name: str, *, augmented: bool
) -> AlphabetError:
    """Add file, record, line and byte to what the encoder knows."""
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
    message = f"{where}: found {error.character!r}, expected {error.expected}"
    found = error.with_message(message, record)
    found.path, found.line, found.byte = path, line, byte
    return found


def _line_and_byte(path: str, record: int, position: int) -> tuple[int | None, int | None]:
    """Look again where a letter stands; a pipe, or a file that is gone, tells nothing."""
    if not Path(path).is_file():
        return None, None
    try:
        return _native.locate(path, record, position)
    except SeqloomError:
        return None, None


def first_refused(encoder: Any, letters: Ragged) -> int | None:
    """Find the first sequence with a letter that the encoder would refuse."""
    if encoded_kind(encoder) == SequenceEncoder.encodes:
        return encoder.first_refused(letters)
    data = letters.data
    met = np.flatnonzero(_native.count_letters(data)).astype(np.uint8)
    bad = encoder.refuses(met.tobytes())
    if not bad:
        return None
    position = int(np.isin(data, np.frombuffer(bad, np.uint8)).argmax())
    return int(np.searchsorted(letters.offsets, position, side="right")) - 1
