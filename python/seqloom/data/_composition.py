"""Letters of sequences that are no plain ones: ambiguous, or soft-masked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom._rust import _native

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from seqloom._ragged import Ragged

# What stands for any letter, and the other codes that stand for several.
_CODES = {"protein": ("X", "BZJ")}
_OF_NUCLEOTIDES = ("N", "RYSWKMBDHV")


def composition(parts: Iterable[Ragged], alphabet: str | None) -> dict[str, int]:
    """Counts letters, those that stand for several others, and lower case."""
    counts = np.zeros(256, np.int64)
    for letters in parts:
        counts += _native.count_letters(letters.data)
    found = {"letters": int(counts.sum())}
    if alphabet in {"dna", "rna", "iupac", "protein"}:
        any_letter, codes = _CODES.get(alphabet, _OF_NUCLEOTIDES)
        found[any_letter] = _count(counts, any_letter)
        found["ambiguous"] = _count(counts, codes)
    return found | {"soft_masked": int(counts[ord("a") : ord("z") + 1].sum())}


def _count(counts: NDArray[np.int64], codes: str) -> int:
    """Counts some letters in both cases."""
    return int(counts[list((codes + codes.lower()).encode())].sum())


def describe_letters(found: dict[str, int]) -> str:
    """Writes what stands beside the plain letters; nothing where there is nothing."""
    total = found.get("letters", 0)
    parts = [
        f"{_NAMES.get(name, name)} {count:,} ({100 * count / total:.2f} %)"
        for name, count in found.items()
        if name != "letters" and count
    ]
    return f"of {total:,} letters: {', '.join(parts)}" if parts else ""


_NAMES = {"ambiguous": "other ambiguous", "soft_masked": "soft-masked"}
