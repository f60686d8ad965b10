"""The other strand, and padding beyond the ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_choice
from seqloom._ragged import Ragged, offsets_of
from seqloom._rust import _native
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LETTERS = b"ACGTURYSWKMBDHVNacgturyswkmbdhvn"
_OTHERS = b"TGCAAYRSWMKVHDBNtgcaayrswmkvhdbn"
# N is asparagine in a protein.
_PADS = {"protein": ord("X")}
_PAD = ord("N")


# What is no nucleotide stays what it is.
_DNA = bytes.maketrans(_LETTERS, _OTHERS)
_RNA = bytes.maketrans(b"Tt", b"Uu")
_TABLES = {"dna": _DNA, "rna": _DNA.translate(_RNA)}
_ALPHABETS = (*_TABLES, "protein")
# Letters of amino acids that are no code of nucleotides.
_AMINO_ACIDS = np.frombuffer(b"EFIJLOPQZefijlopqz", np.uint8)
_URACIL = np.frombuffer(b"Uu", np.uint8)


def reverse_complement(
    letters: Ragged, is_minus: NDArray[np.bool_], alphabet: str | None
) -> None:
    """Reverse-complements the rows on the minus strand, in place.

    What faces A depends on the alphabet; where that is not known, U is an error.
    """
    if alphabet is None and is_minus.any():
        _refuse_uracil(letters, is_minus)
    check_strands(is_minus, alphabet)
    if alphabet == "protein":
        return
    table = _TABLES[alphabet or "dna"]
    _native.turn_rows(letters.data, letters.offsets, is_minus.view(np.uint8), table)


def _refuse_uracil(letters: Ragged, is_minus: NDArray[np.bool_]) -> None:
    """Refuses to guess whether A faces T or U."""
    if (
        np.isin(letters.data, _URACIL).any()
        and np.isin(letters.take(np.flatnonzero(is_minus)).data, _URACIL).any()
    ):
        raise ArgumentError(
            "an interval on the minus strand has U, so the complement of A is unknown: "
            'pass alphabet="dna" or alphabet="rna", or an encoder of that alphabet'
        )


def _refuse_amino_acids(letters: Ragged) -> None:
    """Refuses to guess what pads letters that no nucleotide has."""
    counts = _native.count_letters(letters.data)
    if counts[_AMINO_ACIDS].any():
        raise ArgumentError(
            'edge="pad" pads with N, which is asparagine in a protein: pass '
            'alphabet="protein" or an encoder of proteins to pad with X, or '
            'alphabet="dna" to pad with N'
        )


def alphabet_of(alphabet: str | None, encoder: Any) -> str | None:
    """Chooses what letters are: as the caller says, or as the encoder reads them."""
    if alphabet is not None:
        as_choice("alphabet", alphabet, _ALPHABETS)
    own = getattr(encoder, "alphabet", None)
    if own == "protein":
        return own
    return alphabet or (own if own in _ALPHABETS else None)


def check_strands(is_minus: NDArray[np.bool_], alphabet: str | None) -> None:
    """Refuses the minus strand of what has none."""
    if alphabet == "protein" and is_minus.any():
        raise ArgumentError(
            "a protein has no reverse complement, but intervals are on the minus strand: "
            "pass strand=False (--ignore-strand) to read all as they are written, or an "
            "encoder of nucleotides"
        )


def pad(
    letters: Ragged,
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    *,
    alphabet: str | None,
) -> Ragged:
    """Puts what stands for any letter before and behind rows: N, in proteins X."""
    if not (before.any() or after.any()):
        return letters
    if alphabet is None:
        _refuse_amino_acids(letters)
    offsets = offsets_of(letters.lengths + before + after)
    filler = _PADS.get(alphabet or "", _PAD)
    data = np.full(int(offsets[-1]), filler, np.uint8)
    starts: list[int] = (offsets[:-1] + before).tolist()
    for start, row in zip(starts, letters, strict=True):
        data[start : start + row.size] = row
    return Ragged(data, offsets)
