"""Parts of a genome, read where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_choice
from seqloom._key import Key
from seqloom._ragged import Ragged, offsets_of
from seqloom._rust import _native
from seqloom.data._encoder import leaves_out
from seqloom.data._source import Fetched, FetchOptions, Source, iterate_letters
from seqloom.data.interval._intervals import SIGNS
from seqloom.data.interval._spans import shifts
from seqloom.data.label._labels import MISSING
from seqloom.data.label._table import list_names, name_nearest
from seqloom.errors import AlphabetError, ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.data._source import Rows
    from seqloom.data.interval._intervals import Intervals
    from seqloom.data.interval._spans import Genome, Spans
    from seqloom.data.label._labels import LabelColumn


_NAME_COLUMNS = ("name", "peakid", "geneid")  # of BED and MACS, of HOMER, of SAF
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


class IntervalSource(Source):
    """Intervals by number, those too that a dataset leaves out."""

    kind, title = "intervals", "IntervalDataset"
    supports_threads, is_checked = True, False
    counts_letters = True

    def __init__(
        self,
        genome: Genome,
        intervals: Intervals,
        spans: Spans,
        *,
        strand: bool,
        alphabet: str | None,
        jitter: int,
        seed: int,
    ) -> None:
        self.paths, self.size = (genome.path,), len(intervals)
        self.intervals, self.spans, self._genome = intervals, spans, genome
        self.strand, self.jitter, self._seed = strand, jitter, seed
        self._given_alphabet = alphabet
        self._encoded: Rows = np.full(self.size, -1)  # lengths; -1 where not counted yet

    @property
    def record_files(self) -> tuple[str, ...]:
        """The files of the intervals; none where they are a table in memory."""
        return tuple(dict.fromkeys(self.intervals.files))

    @property
    def names(self) -> list[str] | None:
        """The name of each interval, such as BED's fourth column; None without names."""
        columns = {it.strip("# ").lower(): it for it in self.intervals.columns}
        column = next((columns[it] for it in _NAME_COLUMNS if it in columns), None)
        if column is None:
            return None
        names = [" ".join(str(name).split()) for name in self.intervals.columns[column]]
        return names if any(name not in MISSING for name in names) else None

    def ids(self, rows: Rows) -> list[str]:
        """Name intervals by where they lie."""
        spans, chroms = self.spans.take(rows), self._genome.names
        arrays = spans.chroms, spans.starts, spans.stops, self.intervals.strands[rows]
        columns: list[list[int]] = [array.tolist() for array in arrays]
        return [
            f"{chroms[chrom]}:{start}-{stop}({SIGNS[sign]})"
            for chrom, start, stop, sign in zip(*columns, strict=True)
        ]

    def lengths(self, rows: Rows, encoder: Any) -> Rows:
        """Count letters; a stop that the encoder leaves out is no letter."""
        if not leaves_out(encoder):
            return (self.spans.stops - self.spans.starts)[rows]
        unknown = np.unique(rows[self._encoded[rows] < 0])
        parts = iterate_letters(self, unknown, encoder)
        counts = [encoder.encoded_lengths(sequences) for sequences, _ in parts]
        self._encoded[unknown] = np.concatenate([np.zeros(0, np.int64), *counts])
        return self._encoded[rows]

    def group(self, rows: Rows, name: str, labels: NDArray[Any] | None) -> list[Any]:
        """List what each interval has in a column, without jitter."""
        del labels
        columns = {
            **self.intervals.columns,
            "chrom": self.intervals.chroms,
            "start": self.spans.starts.tolist(),
            "stop": self.spans.stops.tolist(),
            "strand": self.intervals.strands.tolist(),
        }
        if name not in columns:
            raise ArgumentError(
                f"the intervals have no column {name!r}; they have "
                f"{list_names(sorted(columns))}{name_nearest(name, columns)}"
            )
        return [columns[name][row] for row in rows.tolist()]

    def _spans_at(self, rows: Rows, epoch: int | None) -> Spans:
        """Find what is read in an epoch."""
        spans = self.spans.take(rows)
        if epoch is None or not self.jitter:
            return spans
        key = Key(self._seed).fold("jitter").fold(epoch)
        return spans.shift(shifts(key, rows, self.jitter))

    def fetch(self, rows: Rows, options: FetchOptions) -> Fetched:
        """Read parts, padded, and reverse-complemented on the minus strand."""
        # The alphabet that the caller names, or that the encoder of now reads.
        alphabet = alphabet_of(self._given_alphabet, options.encoder)
        wanted = self._spans_at(rows, options.epoch)
        real = wanted.clip(self._genome.lengths)
        letters = self._genome.fetch(
            real.chroms, real.starts, real.stops, num_threads=options.num_threads
        )
        before, after = real.starts - wanted.starts, wanted.stops - real.stops
        letters = pad(letters, before, after, alphabet=alphabet)
        if self.strand:
            reverse_complement(letters, self.intervals.strands[rows] < 0, alphabet)
        return Fetched(self.ids(rows), (letters, None))

    def columns(self, rows: Rows, epoch: int | None) -> dict[str, Any]:
        """Say where parts lie."""
        spans, names = self._spans_at(rows, epoch), self._genome.names
        return {
            "file": [self._genome.path] * rows.size,
            "ordinal": rows,
            "chrom": [names[number] for number in spans.chroms.tolist()],
            "start": spans.starts,
            "stop": spans.stops,
            "strand": [SIGNS[sign] for sign in self.intervals.strands[rows].tolist()],
        }

    def locate(
        self, error: AlphabetError, row: int, epoch: int | None, *, is_augmented: bool
    ) -> AlphabetError:
        """Add the part of the sequence that the letter stands in."""
        del is_augmented
        spans = self._spans_at(np.array([row]), epoch)
        where = f"{self._genome.path}: {self._genome.names[int(spans.chroms[0])]}"
        found = error.with_message(
            f"{where}:{spans.starts[0]}-{spans.stops[0]}, letter {error.position}: "
            f"found {error.character!r}, expected {error.expected}",
            int(spans.chroms[0]),
        )
        found.path = self._genome.path
        return found

    def content(
        self, rows: Rows, labels: LabelColumn, *, encoder: Any, jitter: int
    ) -> Iterator[bytes]:
        """Yield the genome's hash, the intervals, and which of them are used."""
        is_rna = alphabet_of(self._given_alphabet, encoder) == "rna"
        choices = labels.task, labels.classes, jitter, self.strand, is_rna
        yield repr(choices).encode()
        yield self._genome.digest()
        spans, strands = self.spans, self.intervals.strands
        for column in (spans.chroms, spans.starts, spans.stops, rows, strands):
            yield column.tobytes()
        yield labels.to_bytes()


def reverse_complement(
    letters: Ragged, is_minus: NDArray[np.bool_], alphabet: str | None
) -> None:
    """Reverse-complements the rows on the minus strand, in place.

    What faces A depends on the alphabet.

    Raises:
        ArgumentError: The alphabet is not known, and a row has U.
    """
    is_unclear = alphabet is None and is_minus.any()
    if is_unclear and np.isin(letters.data, _URACIL).any():
        turned = letters.take(np.flatnonzero(is_minus))
        if np.isin(turned.data, _URACIL).any():  # A faces T or U
            raise ArgumentError(
                "an interval on the minus strand has U, so the complement of A is unknown: "
                'pass alphabet="dna" or alphabet="rna", or an encoder of that alphabet'
            )
    check_strands(is_minus, alphabet)
    if alphabet == "protein":
        return
    table = _TABLES[alphabet or "dna"]
    _native.turn_rows(letters.data, letters.offsets, is_minus.view(np.uint8), table)


def alphabet_of(alphabet: str | None, encoder: Any) -> str | None:
    """Choose what letters are: as the caller says, or as the encoder reads them."""
    if alphabet is not None:
        as_choice("alphabet", alphabet, _ALPHABETS)
    own = getattr(encoder, "alphabet", None)
    if own == "protein":
        return own
    return alphabet or (own if own in _ALPHABETS else None)


def check_strands(is_minus: NDArray[np.bool_], alphabet: str | None) -> None:
    """Refuse the minus strand of what has none."""
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
    """Put what stands for any letter before and behind rows: N, in proteins X."""
    if not (before.any() or after.any()):
        return letters
    if alphabet is None and _native.count_letters(letters.data)[_AMINO_ACIDS].any():
        raise ArgumentError(
            'edge="pad" pads with N, which is asparagine in a protein: pass '
            'alphabet="protein" or an encoder of proteins to pad with X, or '
            'alphabet="dna" to pad with N'
        )
    offsets = offsets_of(letters.lengths + before + after)
    filler = _PADS.get(alphabet or "", _PAD)
    data = np.full(int(offsets[-1]), filler, np.uint8)
    starts: list[int] = (offsets[:-1] + before).tolist()
    for start, row in zip(starts, letters, strict=True):
        data[start : start + row.size] = row
    return Ragged(data, offsets)
