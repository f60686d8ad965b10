"""`IntervalSource`, which reads the sequences of intervals from an indexed genome."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_choice
from seqloom._key import Key
from seqloom._ragged import Ragged, lengths_to_offsets
from seqloom._rust import _native
from seqloom.data._encoder import may_drop_residues
from seqloom.data._source import (
    SEQUENCE_GROUPS,
    Fetched,
    FetchOptions,
    Source,
    group_by_sequence,
    iterate_letters,
)
from seqloom.data.interval._composition import LinearSpans
from seqloom.data.interval._intervals import STRAND_SIGNS
from seqloom.data.interval._spans import sample_shifts
from seqloom.data.interval._targets import find_reversed
from seqloom.data.label._labels import MISSING_TEXTS
from seqloom.data.label._table import format_column_names, suggest_name
from seqloom.errors import AlphabetError, ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.data._source import Rows
    from seqloom.data.interval._intervals import Intervals
    from seqloom.data.interval._spans import Genome, Spans
    from seqloom.data.interval._targets import TrackTargets
    from seqloom.data.label._labels import LabelColumn


# `name` in BED and MACS, `peakid` in HOMER, `geneid` in SAF.
_NAME_COLUMNS = ("name", "peakid", "geneid")
_NUCLEOTIDE_CODES = b"ACGTURYSWKMBDHVNacgturyswkmbdhvn"
_COMPLEMENTS = b"TGCAAYRSWMKVHDBNtgcaayrswmkvhdbn"
# Proteins are padded with X, because N is asparagine.
_PAD_CHARACTERS = {"protein": ord("X")}
_DEFAULT_PAD = ord("N")
# Characters that are not nucleotide codes are not changed.
_DNA_COMPLEMENT = bytes.maketrans(_NUCLEOTIDE_CODES, _COMPLEMENTS)
_T_TO_U = bytes.maketrans(b"Tt", b"Uu")
_COMPLEMENT_TABLES = {"dna": _DNA_COMPLEMENT, "rna": _DNA_COMPLEMENT.translate(_T_TO_U)}
_ALPHABETS = (*_COMPLEMENT_TABLES, "protein")
# Amino acids whose characters are not nucleotide codes.
_PROTEIN_ONLY_BYTES = np.frombuffer(b"EFIJLOPQZefijlopqz", np.uint8)
_URACIL = np.frombuffer(b"Uu", np.uint8)


class IntervalSource(Source):
    """Reads the sequences of all intervals, including those that the dataset drops."""

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
        targets: TrackTargets | None = None,
    ) -> None:
        self.paths, self.size = (genome.path,), len(intervals)
        self.intervals, self.spans, self._genome = intervals, spans, genome
        self.strand, self.jitter, self._seed = strand, jitter, seed
        self._given_alphabet, self._targets = alphabet, targets
        self.bin_size = 1 if targets is None else targets.bins.bin
        self._encoded: Rows = np.full(self.size, -1)  # lengths; -1 if not yet computed

    @property
    def record_files(self) -> tuple[str, ...]:
        """The files of the intervals; empty for a table in memory."""
        return tuple(dict.fromkeys(self.intervals.files))

    @property
    def names(self) -> list[str] | None:
        """The name of each interval, such as column 4 of a BED file; None without names."""
        columns = {it.strip("# ").lower(): it for it in self.intervals.columns}
        column = next((columns[it] for it in _NAME_COLUMNS if it in columns), None)
        if column is None:
            return None
        names = [" ".join(str(name).split()) for name in self.intervals.columns[column]]
        return names if any(name not in MISSING_TEXTS for name in names) else None

    @property
    def track_names(self) -> tuple[str, ...]:
        """The names of the tracks; empty without tracks."""
        return () if self._targets is None else self._targets.tracks.names

    def ids(self, rows: Rows) -> list[str]:
        """Return the positions of intervals as ids."""
        spans, chroms = self.spans.take(rows), self._genome.names
        arrays = spans.chroms, spans.starts, spans.stops, self.intervals.strands[rows]
        columns: list[list[int]] = [array.tolist() for array in arrays]
        return [
            f"{chroms[chrom]}:{start}-{stop}({STRAND_SIGNS[sign]})"
            for chrom, start, stop, sign in zip(*columns, strict=True)
        ]

    def lengths(self, rows: Rows, encoder: Any) -> Rows:
        """Return the lengths of rows, without a final ``*`` that the encoder drops."""
        if not may_drop_residues(encoder):
            return (self.spans.stops - self.spans.starts)[rows]
        unknown = np.unique(rows[self._encoded[rows] < 0])
        parts = iterate_letters(self, unknown, encoder)
        counts = [encoder.encoded_lengths(sequences) for sequences, _ in parts]
        self._encoded[unknown] = np.concatenate([np.zeros(0, np.int64), *counts])
        return self._encoded[rows]

    def group(self, rows: Rows, name: str, labels: NDArray[Any] | None) -> list[Any]:
        """Return a column of the intervals, or groups of sequences, without jitter."""
        del labels
        if name in SEQUENCE_GROUPS and name not in self.intervals.columns:
            spans = self.spans.take(rows)
            # Jitter moves the sequences of one of two sets towards the other.
            reached = replace(spans, starts=np.maximum(spans.starts - self.jitter, 0))
            linear = LinearSpans.of(reached, self._genome.lengths)
            return group_by_sequence(self, rows, name, pairs=linear.list_overlaps())
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
                f"{format_column_names(sorted(columns))}{suggest_name(name, columns)}"
            )
        return [columns[name][row] for row in rows.tolist()]

    def _spans_at(self, rows: Rows, epoch: int | None) -> Spans:
        """Return the ranges of intervals in an epoch, with jitter."""
        spans = self.spans.take(rows)
        if epoch is None or not self.jitter:
            return spans
        key = Key(self._seed).fold("jitter").fold(epoch)
        return spans.shift(sample_shifts(key, rows, self.jitter))

    def fetch(self, rows: Rows, options: FetchOptions) -> Fetched:
        """Return the sequences of rows, padded or reverse-complemented if necessary."""
        alphabet = choose_alphabet(self._given_alphabet, options.encoder)
        wanted = self._spans_at(rows, options.epoch)
        real = wanted.clip(self._genome.lengths)
        letters = self._genome.fetch(
            real.chroms, real.starts, real.stops, num_threads=options.num_threads
        )
        before, after = real.starts - wanted.starts, wanted.stops - real.stops
        letters = pad_rows(letters, before, after, alphabet=alphabet)
        if self.strand:
            reverse_complement(letters, self.intervals.strands[rows] < 0, alphabet)
        return Fetched(self.ids(rows), (letters, None))

    def columns(self, rows: Rows, epoch: int | None) -> dict[str, Any]:
        """Return file, ordinal, chromosome, start, stop and strand of rows."""
        spans, names = self._spans_at(rows, epoch), self._genome.names
        return {
            "file": [self._genome.path] * rows.size,
            "ordinal": rows,
            "chrom": [names[number] for number in spans.chroms.tolist()],
            "start": spans.starts,
            "stop": spans.stops,
            "strand": [
                STRAND_SIGNS[sign] for sign in self.intervals.strands[rows].tolist()
            ],
        }

    def targets(self, rows: Rows, options: FetchOptions) -> dict[str, NDArray[Any]]:
        """Return the tracks of rows, in the direction of their strand."""
        if self._targets is None:
            return {}
        spans = self._spans_at(rows, options.epoch)
        is_minus = (self.intervals.strands[rows] < 0) & self.strand
        threads = options.num_threads
        return {"tracks": self._targets.read(spans, is_minus, num_threads=threads)}

    def follow_augment(
        self, columns: dict[str, Any], augment: Any, keys: NDArray[np.uint32]
    ) -> None:
        """Reverse the tracks of sequences that the augmentation reverse-complements."""
        if self._targets is not None:
            self._targets.reverse(columns["tracks"], find_reversed(augment, keys))

    def locate(
        self, error: AlphabetError, row: int, epoch: int | None, *, is_augmented: bool
    ) -> AlphabetError:
        """Add the interval with the invalid character to an error."""
        del is_augmented
        spans = self._spans_at(np.array([row]), epoch)
        where = f"{self._genome.path}: {self._genome.names[int(spans.chroms[0])]}"
        found = error.with_message(
            f"{where}:{spans.starts[0]}-{spans.stops[0]}, residue {error.position}: "
            f"found {error.character!r}, expected {error.expected}",
            int(spans.chroms[0]),
        )
        found.path = self._genome.path
        return found

    def content(
        self, rows: Rows, labels: LabelColumn, *, encoder: Any, jitter: int
    ) -> Iterator[bytes]:
        """Yield bytes to hash: the genome's hash, the intervals, rows and labels."""
        is_rna = choose_alphabet(self._given_alphabet, encoder) == "rna"
        choices = labels.task, labels.classes, jitter, self.strand, is_rna
        yield repr(choices).encode()
        yield self._genome.digest()
        spans, strands = self.spans, self.intervals.strands
        for column in (spans.chroms, spans.starts, spans.stops, rows, strands):
            yield column.tobytes()
        if self._targets is not None:
            yield from self._targets.content()
        yield labels.to_bytes()


def reverse_complement(
    letters: Ragged, is_minus: NDArray[np.bool_], alphabet: str | None
) -> None:
    """Reverse-complement the rows on the minus strand, in place.

    The complement of A is T in DNA and U in RNA.

    Raises:
        ArgumentError: The alphabet is unknown, and a row has U.
    """
    is_unclear = alphabet is None and is_minus.any()
    if is_unclear and np.isin(letters.data, _URACIL).any():
        minus_rows = letters.take(np.flatnonzero(is_minus))
        if np.isin(minus_rows.data, _URACIL).any():  # the complement of A may be T or U
            raise ArgumentError(
                "an interval on the minus strand has U, so the complement of A is unknown: "
                'pass alphabet="dna" or alphabet="rna", or an encoder of that alphabet'
            )
    check_strands(is_minus, alphabet)
    if alphabet == "protein":
        return
    table = _COMPLEMENT_TABLES[alphabet or "dna"]
    _native.turn_rows(letters.data, letters.offsets, is_minus.view(np.uint8), table)


def choose_alphabet(alphabet: str | None, encoder: Any) -> str | None:
    """Return the given alphabet, or the alphabet of the encoder; None if unknown."""
    if alphabet is not None:
        as_choice("alphabet", alphabet, _ALPHABETS)
    of_encoder = getattr(encoder, "alphabet", None)
    if of_encoder == "protein":
        return of_encoder
    return alphabet or (of_encoder if of_encoder in _ALPHABETS else None)


def check_strands(is_minus: NDArray[np.bool_], alphabet: str | None) -> None:
    """Raise for proteins on the minus strand."""
    if alphabet == "protein" and is_minus.any():
        raise ArgumentError(
            "a protein has no reverse complement, but intervals are on the minus strand: "
            "pass strand=False (--ignore-strand) to ignore the strand, or an "
            "encoder of nucleotides"
        )


def pad_rows(
    letters: Ragged,
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    *,
    alphabet: str | None,
) -> Ragged:
    """Pad rows at both ends with N, or with X for proteins."""
    if not (before.any() or after.any()):
        return letters
    if alphabet is None and _native.count_letters(letters.data)[_PROTEIN_ONLY_BYTES].any():
        raise ArgumentError(
            'edge="pad" pads with N, which is asparagine in a protein: pass '
            'alphabet="protein" or an encoder of proteins to pad with X, or '
            'alphabet="dna" to pad with N'
        )
    offsets = lengths_to_offsets(letters.lengths + before + after)
    filler = _PAD_CHARACTERS.get(alphabet or "", _DEFAULT_PAD)
    data = np.full(int(offsets[-1]), filler, np.uint8)
    starts: list[int] = (offsets[:-1] + before).tolist()
    for start, row in zip(starts, letters, strict=True):
        data[start : start + row.size] = row
    return Ragged(data, offsets)
