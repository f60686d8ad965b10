"""Looking through a sequence file once, in bounded memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.io._alphabet import LETTERS, alphabet_of, letters_met
from seqloom.io._reader import open_sequences
from seqloom.io._regular import check_regular
from seqloom.io._summary import LengthBin, Summary

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.io._reader import SequenceReader

_BINS = 10
_LONG_TAIL = 20
_PLAIN = {"dna": "ACGT", "rna": "ACGU", "protein": "ACDEFGHIKLMNPQRSTVWY"}


def inspect(path: str | os.PathLike[str]) -> Summary:
    """Looks through a sequence file and counts what it holds.

    Args:
        path: The file.

    Returns:
        Format, compression, records, lengths, letters, alphabet, GC, ids that stand twice.

    Raises:
        FileError: The file cannot be read, or it is a pipe.
        FormatError: It is no sequence file, or cut.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("a.fa").write_text(">a\\nACGUACGU\\n>a\\nGGNN\\n")
        >>> print(inspect("a.fa"))
        file        a.fa (20 bytes)
        format      fasta
        compression none
        records     2
        letters     12: G 33.3 %, A 16.7 %, C 16.7 %, N 16.7 %, U 16.7 %
        lengths     4 to 8, median 6, mean 6.0
        alphabet    rna
        outside     N 2
        lower case  0
        GC          60.0 %
        same id     1 (a)
    """
    check_regular(path)
    with open_sequences(path) as reader:
        lengths, counts, names = _columns(reader)
    alphabet = _alphabet(counts)
    examples, duplicates = _duplicates(path, names)
    return Summary(
        path=reader.path,
        format=reader.format,
        compression=reader.compression,
        file_bytes=Path(path).stat().st_size,
        records=lengths.size,
        letters=_letters(counts),
        **_spread(lengths),
        alphabet=alphabet,
        outside=_outside(counts, alphabet),
        lower_case=int(counts[ord("a") : ord("z") + 1].sum()),
        gc=None if alphabet == "protein" else _gc(counts),
        duplicate_ids=duplicates,
        duplicate_examples=examples,
    )


def _columns(
    reader: SequenceReader,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Reads lengths, letter counts and hashes of ids: 16 bytes a record stay in memory."""
    lengths: list[NDArray[np.int64]] = []
    names: list[NDArray[np.int64]] = []
    counts = np.zeros(256, np.int64)
    for batch in reader.batches(65536, max_bytes=1 << 24):
        lengths.append(batch.sequences.lengths)
        names.append(np.fromiter(map(hash, batch.ids), np.int64, len(batch)))
        counts += _native.count_letters(batch.sequences.data)
    return np.concatenate(lengths), counts, np.concatenate(names)


def _letters(counts: NDArray[np.int64]) -> dict[str, int]:
    """Counts letters without regard to case, the commonest first."""
    met = sorted(letters_met(counts).items())
    return dict(sorted(met, key=lambda pair: -pair[1]))


def _alphabet(counts: NDArray[np.int64]) -> str | None:
    """Guesses the alphabet; an inspection does not fail where it cannot."""
    try:
        return alphabet_of(counts)
    except ArgumentError:
        return None


def _outside(counts: NDArray[np.int64], alphabet: str | None) -> dict[str, int]:
    """Counts letters that are no plain member of the alphabet."""
    plain = _PLAIN.get(alphabet or "protein", "")
    return {
        letter: n
        for letter, n in sorted(letters_met(counts).items())
        if letter not in plain
    }


def _gc(counts: NDArray[np.int64]) -> float | None:
    """Computes the share of G and C among bases, where all letters are nucleotides."""
    met = letters_met(counts)
    if not any(met.keys() <= LETTERS[name] for name in ("dna", "rna")):
        return None
    strong, weak = (sum(met.get(letter, 0) for letter in group) for group in ("GC", "ATU"))
    return strong / (strong + weak) if strong + weak else None


def _duplicates(
    path: str | os.PathLike[str], names: NDArray[np.int64]
) -> tuple[tuple[str, ...], int]:
    """Counts ids that stood before; the file is read again only to name some."""
    kinds, numbers = np.unique(names, return_counts=True)
    wanted = {int(name) for name in kinds[numbers > 1]}
    found: dict[str, None] = {}
    if wanted:
        found = {name: None for name in _ids(path) if hash(name) in wanted}
    return tuple(found)[:3], names.size - kinds.size


def _ids(path: str | os.PathLike[str]) -> Iterator[str]:
    """Reads the ids alone."""
    with open_sequences(path) as reader:
        for batch in reader.batches(65536, max_bytes=1 << 24):
            yield from batch.ids


def _spread(lengths: NDArray[np.int64]) -> dict[str, Any]:
    """Describes the lengths."""
    return {
        "shortest": int(lengths.min()),
        "median": float(np.median(lengths)),
        "mean": float(lengths.mean()),
        "longest": int(lengths.max()),
        "histogram": _histogram(lengths),
    }


def _histogram(lengths: NDArray[np.int64]) -> tuple[LengthBin, ...]:
    """Counts lengths in bins that end at whole numbers."""
    edges = _edges(int(lengths.min()), float(np.median(lengths)), int(lengths.max()))
    counts, _ = np.histogram(lengths, edges)
    bounds: list[int] = edges.tolist()
    return tuple(
        LengthBin(start, stop - 1, int(n))
        for start, stop, n in zip(bounds, bounds[1:], counts, strict=False)
    )


def _edges(shortest: int, median: float, longest: int) -> NDArray[np.int64]:
    """Chooses about ten bins: of equal width, or growing where few are very long."""
    if longest > _LONG_TAIL * median:
        raw = np.geomspace(max(shortest, 1), longest + 1, _BINS + 1)
        raw[0] = shortest
    else:
        raw = np.linspace(shortest, longest + 1, _BINS + 1)
    return np.unique(np.ceil(raw).astype(np.int64))
