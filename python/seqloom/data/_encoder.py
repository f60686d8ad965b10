"""What a dataset asks of an encoder, and where a bad letter stands."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from seqloom._config import JsonConfig
from seqloom.augment import Augmentation
from seqloom.encode._letters import ALPHABETS
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._ragged import Ragged


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
        """Encodes many sequences at once, into ``length`` positions each."""
        ...


@runtime_checkable
class Refusing(Protocol):
    """An encoder that can say in advance which letters it would refuse."""

    def refuses(self, letters: bytes) -> bytes:
        """Tells which letters would be an error."""
        ...


def encoded_kind(encoder: Any) -> str:
    """Returns what an encoder of ours encodes; an empty text for a user's own."""
    return encoder.encodes if isinstance(encoder, JsonConfig) else ""


def check_encoder(encoder: Any) -> None:
    """Refuses what is no encoder, such as the name of an alphabet."""
    fits = hasattr(encoder, "batch") and hasattr(encoder, "channels")
    if encoder is not None and (isinstance(encoder, type) or not fits):
        named = str(encoder).lower()
        name = named if named in ALPHABETS else "dna"
        raise ArgumentError(
            f'encoder must be one such as sl.encode.OneHot("{name}"), got {encoder!r}'
        )


def check_augment(augment: Any, encoder: Any) -> Any:
    """Refuses what cannot change a sequence, or puts nucleotides into a protein."""
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
    """Refuses augmentations of nucleotides, of which some letters are residues too."""
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
    """Tells whether a function can be called with both, where that can be told."""
    try:
        signature = inspect.signature(augment)
    except ValueError:  # a function in C that does not say
        return True
    # One that is for FASTQ alone may need the quality.
    return any(_can_bind(signature, quality) for quality in ({}, {"quality": b""}))


def _can_bind(signature: inspect.Signature, quality: dict[str, bytes]) -> bool:
    """Tells whether a function takes letters, a key and this."""
    try:
        signature.bind(b"", None, **quality)
    except TypeError:
        return False
    return True
