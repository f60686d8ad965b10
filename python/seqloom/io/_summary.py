"""Summary of a sequence file, and its output as text and plots."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom._rust import _native
from seqloom._text import printable
from seqloom.io._profile import (
    plot_bases,
    plot_lengths,
    plot_mean_qualities,
    plot_quality,
    plot_residues,
)
from seqloom.report import write_plots

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from seqloom.io._profile import LengthBin, PositionBin, QualitySummary
    from seqloom.io._records import SequenceBatch
    from seqloom.report import Plot


_MAX_SHOWN_RESIDUES = 5
_BASES = {"dna": "ACGTN", "rna": "ACGUN"}
_LOG_RATIO = 20  # ratio of longest to median length for a logarithmic axis


class Tally:
    """Counter of lengths, residues, ids and qualities, updated batch by batch."""

    # Each record takes 16 bytes of memory: its length and the hash of its id.

    def __init__(self) -> None:
        self.counts = np.zeros(256, np.int64)
        self.profile = _native.SequenceProfile()
        self._lengths: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        self._hashes: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Lengths of all records."""
        return np.concatenate(self._lengths)

    @property
    def id_hashes(self) -> NDArray[np.uint64]:
        """Hashes of the ids of all records."""
        return np.concatenate(self._hashes)

    def add(self, batches: Iterable[SequenceBatch]) -> None:
        """Count all records of the batches."""
        for batch in batches:
            data, offsets = batch.sequences.data, batch.sequences.offsets
            self._lengths.append(batch.sequences.lengths)
            self._hashes.append(hash_ids(batch))
            self.counts += _native.count_letters(data)
            self.profile.add(data, offsets)
            if batch.qualities is not None:
                self.profile.add_qualities(batch.qualities.data, batch.qualities.offsets)


def hash_ids(batch: SequenceBatch) -> NDArray[np.uint64]:
    """Return a hash of the id of each record."""
    return _native.hash_ids(batch.headers.data, batch.headers.offsets)


RESIDUES = {
    "dna": frozenset("ACGTRYSWKMBDHVN"),
    "rna": frozenset("ACGURYSWKMBDHVN"),
    "protein": frozenset("ACDEFGHIKLMNPQRSTVWYBZJXUO*"),
}


_MIN_RESIDUES = 1000  # below this number of residues, the alphabet is uncertain


_MIN_ALPHABET_SHARE = 0.9


_SHARED_RESIDUES = "X*"  # characters that may occur with every alphabet


class AlphabetGuess(NamedTuple):
    """The most likely alphabet of a file, and the residues outside this alphabet."""

    name: str | None  # dna, rna or protein; None if both DNA and protein fit
    strange: dict[str, int]  # residues outside the alphabet, with their counts


def find_alphabet(counts: NDArray[np.int64], *, few: int = _MIN_RESIDUES) -> AlphabetGuess:
    """Infer whether residues are DNA, RNA or protein."""
    # If nearly all residues are A, C, G, T or N, the file is DNA with a few invalid
    # characters, not protein.
    met = count_residues(counts)
    nucleic = "rna" if met.get("U", 0) > met.get("T", 0) else "dna"
    telling = RESIDUES["protein"].difference(_SHARED_RESIDUES)
    bases = sum(met.get(letter, 0) for letter in "ACGTUN")
    if bases >= _MIN_ALPHABET_SHARE * sum(met.get(letter, 0) for letter in telling):
        strange = _list_outside_alphabet(met, nucleic)
        is_clear = strange or sum(met.values()) >= few or "U" in met
        return AlphabetGuess(nucleic if is_clear else None, strange)
    if _list_outside_alphabet(met, nucleic) or sum(met.values()) >= few:
        return AlphabetGuess("protein", _list_outside_alphabet(met, "protein"))
    return AlphabetGuess(None, {})


def count_residues(counts: NDArray[np.int64]) -> dict[str, int]:
    """Return the count of each residue, ignoring case."""
    met: dict[str, int] = {}
    for byte in counts.nonzero()[0].tolist():
        letter = bytes([byte]).upper().decode("latin-1")
        met[letter] = met.get(letter, 0) + int(counts[byte])
    return met


def _list_outside_alphabet(met: dict[str, int], alphabet: str) -> dict[str, int]:
    """Return the residues that are not in an alphabet, the most frequent first."""
    others = [(letter, n) for letter, n in met.items() if letter not in RESIDUES[alphabet]]
    return dict(sorted(others, key=lambda pair: (-pair[1], pair[0])))


def format_counts(letters: dict[str, int]) -> str:
    """Format residues with their counts."""
    return ", ".join(f"{letter} {n:,}" for letter, n in letters.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Summary of a sequence file, which `inspect` returns.

    Args:
        path: The path of the file; ``"-"`` for standard input.
        format: ``"fasta"`` or ``"fastq"``; for `seqloom inspect` also ``"table"`` (CSV, TSV
            or Parquet).
        compression: ``"none"``, ``"gzip"``, ``"bgzip"``, ``"bzip2"``, ``"xz"`` or
            ``"zstd"``.
        file_bytes: Size of the file in bytes; for standard input, the number of bytes read.
        records: Number of sequences.
        letters: Count of each residue, ignoring case, the most frequent first.
        shortest: Length of the shortest sequence.
        median: Median length.
        mean: Mean length.
        longest: Length of the longest sequence.
        histogram: Histogram of sequence lengths.
        alphabet: ``"dna"``, ``"rna"`` or ``"protein"``: the alphabet that contains all or
            nearly all residues; None if no alphabet is certain.
        outside: Counts of ambiguity codes and of characters outside the alphabet.
        lower_case: Number of lower-case residues.
        gc: Fraction of G and C among unambiguous bases; None unless all residues are
            nucleotides.
        duplicate_ids: Number of records that have the same id as an earlier record.
        duplicate_examples: Up to three repeated ids; empty for standard input.
        quality: Summary of the qualities; None for FASTA.
        positions: Residue counts and quality scores by position, in at most 512 bins. A bin
            covers several positions if sequences are longer than 512 residues.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.io import inspect
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nGG\\n")
        >>> inspect("a.fa").records
        2
    """

    path: str
    format: str
    compression: str
    file_bytes: int
    records: int
    letters: dict[str, int]
    shortest: int
    median: float
    mean: float
    longest: int
    histogram: tuple[LengthBin, ...]
    alphabet: str | None
    outside: dict[str, int]
    lower_case: int
    gc: float | None
    duplicate_ids: int
    duplicate_examples: tuple[str, ...]
    quality: QualitySummary | None = None
    positions: tuple[PositionBin, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Convert the summary to values that ``json.dumps`` accepts.

        Returns:
            A dict from field name to value.

        Examples:
            >>> import json
            >>> from pathlib import Path
            >>> from seqloom.io import inspect
            >>> _ = Path("a.fa").write_text(">a\\nACGT\\n")
            >>> json.loads(json.dumps(inspect("a.fa").to_dict()))["histogram"]
            [{'start': 4, 'stop': 4, 'records': 1}]
        """
        return asdict(self)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Plot lengths, qualities and composition into one SVG file.

        Args:
            path: The path of the file, which ends in ``.svg``.

        Raises:
            ArgumentError: The path does not end in ``.svg``.
            FileError: The file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import inspect
            >>> _ = Path("a.fq").write_text("@a\\nACGT\\n+\\nIIH5\\n")
            >>> inspect("a.fq").plot("a.svg")
            >>> Path("a.svg").read_text()[:4]
            '<svg'
        """
        title = f"{Path(self.path).name}: {self.records:,} sequences, {self.format}"
        write_plots(path, title, list(self._make_plots()))

    def __str__(self) -> str:
        return "\n".join(f"{name:<15}{value}" for name, value in self.facts().items())

    def facts(self) -> dict[str, str]:
        """Return the summary as rows of text.

        Returns:
            A dict from row name to text.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import inspect
            >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nGG\\n")
            >>> inspect("a.fa").facts()["lengths"]
            '2 to 4, median 3, mean 3.0'
        """
        lengths = (
            f"{self.shortest:,} to {self.longest:,}, median {self.median:,.0f}, "
            f"mean {self.mean:,.1f}"
        )
        total = sum(self.letters.values())
        shares = [f"{it} {_format_percent(n / total)}" for it, n in self.letters.items()]
        if (rest := len(shares) - _MAX_SHOWN_RESIDUES) > 0:
            shares[_MAX_SHOWN_RESIDUES:] = [f"{rest} more"]
        facts = {
            "file": f"{self.path} ({self.file_bytes:,} bytes)",
            "format": self.format,
            "compression": self.compression,
            "records": f"{self.records:,}",
            "residues": f"{total:,}: {', '.join(shares)}" if total else "0",
            "lengths": lengths
            if self.shortest != self.longest
            else f"all {self.shortest:,}",
            "alphabet": self._describe_alphabet(),
            "invalid": format_counts(self.outside) or "none",
            "lower case": f"{self.lower_case:,}",
        }
        if self.gc is not None:
            facts["GC"] = _format_percent(self.gc)
        if self.quality is not None:
            quality = self.quality
            facts["quality"] = f"mean {quality.mean:.1f}, read as {quality.encoding}"
            letters = f"{quality.lowest} to {quality.highest}"
            possible = " or ".join(quality.possible)
            facts["encodings"] = f"{possible}, from the characters {letters}"
        examples = ", ".join(self.duplicate_examples)
        named = f" ({examples})" if examples else ""
        facts["duplicate ids"] = (
            f"{self.duplicate_ids:,}{named}" if self.duplicate_ids else "none"
        )
        return {name: printable(fact) for name, fact in facts.items()}

    def _make_plots(self) -> Iterator[Plot]:
        """Yield the plots: four for FASTQ, two for FASTA."""
        yield plot_lengths(self.histogram, is_log=self.longest > _LOG_RATIO * self.median)
        if self.quality is not None:
            yield plot_quality(self.positions, self.quality)
            yield plot_mean_qualities(self.quality)
        bases = [
            base
            for base in _BASES.get(self.alphabet or "", "")
            if base != "N" or base in self.letters
        ]
        # Proteins have too many different residues to plot a line for each.
        yield plot_bases(self.positions, bases) if bases else plot_residues(self.letters)

    def _describe_alphabet(self) -> str:
        """Return the alphabet as text, with the number of residues outside the alphabet."""
        known = RESIDUES.get(self.alphabet or "")
        if known is None:
            return "unclear"
        strange = {it: n for it, n in self.outside.items() if it not in known}
        if not strange:
            return f"{self.alphabet}"
        total = sum(self.letters.values())
        return (
            f"looks like {self.alphabet} with other characters, {sum(strange.values()):,} "
            f"of {total:,}: {format_counts(strange)}"
        )


def _format_percent(share: float) -> str:
    """Format a fraction as a percentage."""
    return f"{100 * share:.1f} %"
