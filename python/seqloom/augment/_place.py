"""A part of a sequence, or the sequence moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seqloom._rust import _native
from seqloom.augment._augmentation import Augmentation, letter_byte, whole_number
from seqloom.errors import ArgumentError


@dataclass(frozen=True)
class Crop(Augmentation):
    """Cuts a part of fixed length out of a longer sequence.

    A sequence that is shorter stays as it is: nothing here pads (see
    ``sl.data.PadCollator``).

    Args:
        length: How many letters are left.
        mode: ``"random"`` for a part from anywhere, ``"centre"`` for the middle.

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
        """Makes what does the work."""
        if self.mode not in ("random", "centre"):
            raise ArgumentError(f'mode must be "random" or "centre", got {self.mode!r}')
        length = whole_number("length", self.length, least=1)
        return _native.Augmenter.crop(length, self.mode == "centre")


@dataclass(frozen=True)
class Shift(Augmentation):
    """Moves a sequence to the right or to the left, by an equally likely number of places.

    Its length stays. With ``mode="fill"`` what leaves at one end is lost, and ``letter``
    (of quality 0, ``!``) stands at the other; with ``mode="roll"`` it comes back there.

    Args:
        max_shift: How far at most, in either direction.
        mode: ``"fill"`` or ``"roll"``.
        letter: What fills.

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
        """Makes what does the work."""
        if self.mode not in ("fill", "roll"):
            raise ArgumentError(f'mode must be "fill" or "roll", got {self.mode!r}')
        most = whole_number("max_shift", self.max_shift, least=0)
        fill = letter_byte(self.letter)
        return _native.Augmenter.shift(most, fill if self.mode == "fill" else None)
