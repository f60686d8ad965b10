"""Words of k letters, as numbers and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def word_places(lengths: NDArray[np.int64], k: int, stride: int) -> NDArray[np.int64]:
    """Counts the words in sequences.

    Args:
        lengths: The numbers of their letters.
        k: The letters of a word.
        stride: How far one word's start lies behind the other's.

    Returns:
        The number of words in each.

    Examples:
        >>> word_places(np.array([2, 3, 6]), 3, 2).tolist()
        [0, 1, 2]
    """
    starts = np.maximum(np.asarray(lengths, np.int64) + 1 - k, 0)
    return -(-starts // stride)


def spell_words(
    numbers: NDArray[np.int64], letters: str, *, k: int, stride: int, other: str
) -> bytes:
    """Puts words together to the sequence that they come from.

    Args:
        numbers: The words in turn; a number that no word has leaves its letters open.
        letters: The alphabet.
        k: The letters of a word.
        stride: How far one word's start lies behind the other's, at most k.
        other: What stands where no word tells the letter.

    Returns:
        The sequence, as far as words cover it.

    Examples:
        >>> spell_words(np.array([1, 6]), "ACGT", k=2, stride=1, other="N")
        b'ACG'
    """
    if not numbers.size:
        return b""
    spelling = np.frombuffer(letters.encode(), np.uint8)
    spelled = np.full((numbers.size - 1) * stride + k, ord(other), np.uint8)
    known = np.flatnonzero((numbers >= 0) & (numbers < len(letters) ** k))
    rest = numbers[known]
    for place in reversed(range(k)):
        rest, digits = np.divmod(rest, len(letters))
        spelled[known * stride + place] = spelling[digits]
    return spelled.tobytes()
