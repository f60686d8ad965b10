"""`Augmentation`, the base class, and `Compose`, a list of augmentations."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from seqloom._arguments import quote
from seqloom._config import JsonConfig
from seqloom._key import Key
from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

# With fewer residues, starting a second thread takes longer than it saves.
_RESIDUES_PER_THREAD = 1 << 18
MAX_RESIDUES = 1 << 61  # maximum sequence length that the kernels support


class Augmentation(JsonConfig):
    """Base class of augmentations, which change sequences at random.

    The result depends only on the sequence and its key. The result is bitwise equal for a
    single sequence and in a batch, for any number of threads, and on every machine.

    Examples:
        >>> from seqloom import Key
        >>> from seqloom.augment import ReverseComplement
        >>> augment: Augmentation = ReverseComplement(p=1)
        >>> augment(b"AACG", Key(0))
        b'CGTT'
    """

    @overload
    def __call__(self, sequence: bytes | str, key: Key | int) -> bytes: ...
    @overload
    def __call__(
        self, sequence: bytes | str, key: Key | int, *, quality: bytes
    ) -> tuple[bytes, bytes]: ...
    def __call__(
        self, sequence: bytes | str, key: Key | int, *, quality: bytes | None = None
    ) -> bytes | tuple[bytes, bytes]:
        """Change one sequence.

        Args:
            sequence: The residues.
            key: The key that determines the random numbers: ``sl.Key(seed, epoch, index)``
                for an item of a dataset. An integer ``i`` means ``sl.Key(i)``.
            quality: One quality character for each residue; each quality moves with its
                residue.

        Returns:
            The changed sequence; with ``quality``, a pair (sequence, qualities).

        Raises:
            ShapeError: The number of qualities differs from the number of residues.
            ArgumentError: An argument has a wrong type.

        Examples:
            >>> from seqloom import Key
            >>> from seqloom.augment import ReverseComplement
            >>> ReverseComplement(p=1)(b"AACG", Key(0), quality=b"IIH!")
            (b'CGTT', b'!HII')
        """
        letters = _to_bytes(sequence)
        if quality is not None and not hasattr(quality, "__len__"):
            raise ArgumentError(
                f"quality must be bytes, one for each residue; got {quote(quality)}"
            )
        if quality is not None and len(quality) != len(letters):
            raise ShapeError(
                f"quality must have {len(letters)} bytes, one for each residue; got "
                f"{len(quality)}"
            )
        changed, changed_quality = _find_kernel(self).augment_one(
            letters, _to_key(key).words, quality
        )
        return changed if changed_quality is None else (changed, changed_quality)

    @overload
    def batch(
        self,
        sequences: Ragged,
        keys: NDArray[np.uint32],
        *,
        qualities: None = None,
        num_threads: int | None = None,
    ) -> Ragged: ...
    @overload
    def batch(
        self,
        sequences: Ragged,
        keys: NDArray[np.uint32],
        *,
        qualities: Ragged,
        num_threads: int | None = None,
    ) -> tuple[Ragged, Ragged]: ...
    def batch(
        self,
        sequences: Ragged,
        keys: NDArray[np.uint32],
        *,
        qualities: Ragged | None = None,
        num_threads: int | None = None,
    ) -> Ragged | tuple[Ragged, Ragged]:
        """Change many sequences at once, each with its own key.

        Args:
            sequences: The sequences.
            keys: A key for each sequence: two 32-bit integers, from ``Key.each``.
            qualities: One quality character for each residue; each quality moves with its
                residue.
            num_threads: The number of threads; None chooses a number that suits the total
                number of residues; 0 uses all cores.

        Returns:
            The changed sequences; with ``qualities``, a pair (sequences, qualities).

        Raises:
            ShapeError: The number of keys differs from the number of sequences, or the
                number of qualities from the number of residues.

        Examples:
            >>> from seqloom import Key
            >>> from seqloom.augment import ReverseComplement
            >>> rows = Ragged.from_list(["AACG", "GG"])
            >>> augment = ReverseComplement(p=1)
            >>> augment.batch(rows, Key(0).each([0, 1])).to_list()
            [b'CGTT', b'CC']
        """
        words = _check_keys(sequences, keys, qualities)
        threads = count_threads(num_threads)
        if num_threads is None:
            threads = min(threads, 1 + sequences.data.size // _RESIDUES_PER_THREAD)
        data, offsets, changed = _find_kernel(self).batch(
            sequences.data,
            sequences.offsets,
            None if qualities is None else qualities.data,
            words,
            threads,
        )
        rows = Ragged(data, offsets)
        return rows if changed is None else (rows, Ragged(changed, offsets))

    def kernel(self) -> _native.Augmenter:
        """Return the Rust kernel; each class of ``sl.augment`` overrides this method.

        Raises:
            ArgumentError: The class has neither a Rust kernel nor its own ``__call__``
                method.
        """
        raise ArgumentError(f"{type(self).__name__} must define __call__(sequence, key)")

    def __post_init__(self) -> None:
        if self.has_kernel:
            self.kernel()  # uncached: invalid settings may be unhashable

    @property
    def has_kernel(self) -> bool:
        """True if the augmentation has a Rust kernel; custom classes need no kernel."""
        return type(self).kernel is not Augmentation.kernel


@dataclass(frozen=True, init=False)
class Compose(Augmentation):
    """Applies several augmentations in order.

    Augmentation ``i`` of the list uses a key that is derived from the given key and ``i``,
    so two equal augmentations use different random numbers.

    Args:
        members: The augmentations, in order.

    Raises:
        ArgumentError: An element of the list is not an augmentation of ``sl.augment``.

    Examples:
        >>> from seqloom import Key
        >>> from seqloom.augment import Crop, ReverseComplement
        >>> both = Compose([Crop(4, mode="centre"), ReverseComplement(p=1)])
        >>> both(b"AAACGG", Key(0))
        b'CGTT'
    """

    supports_threads = True

    members: tuple[Augmentation, ...]

    def __init__(self, members: Iterable[Augmentation]) -> None:
        if not hasattr(members, "__iter__"):
            raise ArgumentError(
                f"Compose takes a list of augmentations, got {quote(members)}"
            )
        object.__setattr__(self, "members", tuple(members))
        self.__post_init__()

    def kernel(self) -> _native.Augmenter:
        """Return the Rust kernel."""
        return _native.Augmenter.compose(list(map(_make_kernel, self.members)))


def _make_kernel(member: object) -> _native.Augmenter:
    if not isinstance(member, Augmentation) or not member.has_kernel:
        raise ArgumentError(
            f"members of Compose must be augmentations of sl.augment, got {quote(member)}"
        )
    return member.kernel()


@lru_cache(maxsize=256)
def _find_kernel(augmentation: Augmentation) -> _native.Augmenter:
    """Return the Rust kernel; equal augmentations share a cached kernel."""
    return augmentation.kernel()


def _check_keys(
    sequences: Ragged, keys: NDArray[np.uint32], qualities: Ragged | None
) -> NDArray[np.uint32]:
    """Return the keys as an array; raise if keys or qualities have wrong sizes."""
    words = np.ascontiguousarray(keys)
    if words.dtype != np.uint32 or words.shape != (len(sequences), 2):
        raise ShapeError(
            f"keys must be uint32 of shape ({len(sequences)}, 2), as from Key.each; "
            f"got {words.dtype} {words.shape}"
        )
    if qualities is not None and not np.array_equal(qualities.offsets, sequences.offsets):
        raise ShapeError(
            "qualities must be as long as the sequences: one quality for each residue"
        )
    return words


def _to_bytes(sequence: object) -> Any:
    if isinstance(sequence, str) and sequence.isascii():
        return sequence.encode("ascii")
    if isinstance(sequence, (bytes, bytearray)):
        return sequence
    raise ArgumentError(f"sequence must be ASCII text or bytes, got {quote(sequence)}")


def _to_key(key: Any) -> Key:
    if isinstance(key, Key):
        return key
    try:
        return Key(operator.index(key))
    except TypeError:
        raise ArgumentError(
            f"key must be an sl.Key or an integer, got {quote(key)}"
        ) from None


def as_probability(name: str, value: Any) -> float:
    """Return a probability as a float; the kernel checks its range."""
    try:
        return operator.index(value) if hasattr(value, "__index__") else float(value + 0)
    except TypeError:
        raise ArgumentError(f"{name} must be a number, got {quote(value)}") from None


def to_ascii_byte(letter: str) -> int:
    """Return the byte of an ASCII character."""
    is_text = isinstance(letter, str)  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may give anything
    if not (is_text and len(letter) == 1 and letter.isascii() and letter.isprintable()):
        raise ArgumentError(f"letter must be one ASCII character, got {quote(letter)}")
    return ord(letter)
