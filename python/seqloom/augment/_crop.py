"""Cropping and shifting sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seqloom._arguments import as_choice, as_integer
from seqloom._rust import _native
from seqloom.augment._augmentation import MAX_LETTERS, Augmentation, letter_byte


@dataclass(frozen=True)
class Crop(Augmentation):
    """Crops a longer sequence to a fixed length.

    A shorter sequence stays as it is: padding is done by ``sl.data.PadCollator``.

    Args:
        length: The number of letters to keep.
        mode: ``"random"`` for a window at a random position, ``"centre"`` for the middle.

    Raises:
        ArgumentError: ``length`` is below 1, or the mode is unknown.

    Examples:
        >>> from seqloom import Key
        >>> Crop(4, mode="centre")(b"AACGTTA", Key(0))
        b'ACGT'
    """

    length: int
    mode: Literal["random", "centre"] = "random"

    def kernel(self) -> _native.Augmenter:
        """Makes the kernel."""
        as_choice("mode", self.mode, ("random", "centre"))
        length = as_integer("length", self.length, least=1, limit=MAX_LETTERS)
        return _native.Augmenter.crop(length, self.mode == "centre")


@dataclass(frozen=True)
class Shift(Augmentation):
    """Shifts a sequence to the right or to the left, by a random number of letters.

    Every shift up to ``max_shift`` is equally likely; the length stays. With
    ``mode="fill"`` letters that leave at one end are lost, and the other end is filled with
    ``letter`` (of quality 0, ``!``); with ``mode="roll"`` they return at the other end.

    Args:
        max_shift: The largest shift, in either direction.
        mode: ``"fill"`` or ``"roll"``.
        letter: The letter that fills.

    Raises:
        ArgumentError: ``max_shift`` is below 0, the mode is unknown, or ``letter`` is not
            one letter.

    Examples:
        >>> from seqloom import Key
        >>> Shift(2)(b"AACGTTA", Key(5)), Shift(2, mode="roll")(b"AACGTTA", Key(5))
        (b'NAACGTT', b'AAACGTT')
    """

    max_shift: int
    mode: Literal["fill", "roll"] = "fill"
    letter: str = "N"

    def kernel(self) -> _native.Augmenter:
        """Makes the kernel."""
        as_choice("mode", self.mode, ("fill", "roll"))
        most = as_integer("max_shift", self.max_shift, limit=MAX_LETTERS)
        fill = letter_byte(self.letter)
        return _native.Augmenter.shift(most, fill if self.mode == "fill" else None)
