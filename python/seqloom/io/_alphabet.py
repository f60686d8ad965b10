"""Which alphabet a file's letters belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LETTERS = {
    "dna": frozenset("ACGTRYSWKMBDHVN"),
    "rna": frozenset("ACGURYSWKMBDHVN"),
    "protein": frozenset("ACDEFGHIKLMNPQRSTVWYBZJXUO*"),
}
_FEW = 1000
_MOSTLY = 0.9


def alphabet_of(counts: NDArray[np.int64]) -> str:
    """Decides whether letters are DNA, RNA or protein."""
    met = letters_met(counts)
    fitting = [name for name, letters in LETTERS.items() if met.keys() <= letters]
    if not fitting:
        raise ArgumentError(
            f"no alphabet holds all of the letters {''.join(sorted(met))}; name it"
        )
    if fitting == ["protein"]:
        return "protein"
    return _nucleic_or_protein(met, fitting)


def letters_met(counts: NDArray[np.int64]) -> dict[str, int]:
    """Counts letters without regard to case."""
    met: dict[str, int] = {}
    for byte in counts.nonzero()[0].tolist():
        letter = bytes([byte]).upper().decode("latin-1")
        met[letter] = met.get(letter, 0) + int(counts[byte])
    return met


def _nucleic_or_protein(met: dict[str, int], fitting: list[str]) -> str:
    """Decides where all letters are nucleotides or their ambiguity codes."""
    # All of these but B are amino acids too: what tells is how often they are plain bases,
    # and, where they always are, whether they are too many for a protein.
    total = sum(met.values())
    plain = sum(met.get(letter, 0) for letter in "ACGTUN")
    if plain >= _MOSTLY * total and (total >= _FEW or "U" in met):
        return fitting[0]
    if total >= _FEW:
        return "protein"
    raise ArgumentError(
        f"DNA and protein both fit {total:,} letters {''.join(sorted(met))}; say which: "
        "--alphabet dna or --alphabet protein"
    )
