"""Parts of a genome, as a map from number to item."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from seqloom._arguments import as_flag, as_path
from seqloom._key import Key
from seqloom.data._composition import composition
from seqloom.data._encoder import check_encoder
from seqloom.data._extent import leaves_out
from seqloom.data._items import SequenceItems
from seqloom.data._state import check_integer
from seqloom.data.interval._genome import Genome
from seqloom.data.interval._intervals import FARTHEST, SIGNS, read_intervals
from seqloom.data.interval._spans import check_edges, shifts, spans_of
from seqloom.data.interval._strand import (
    alphabet_of,
    check_strands,
    pad,
    reverse_complement,
)
from seqloom.data.label._cells import MISSING
from seqloom.data.label._header_line import list_names, name_nearest
from seqloom.data.label._interval_labels import check_label_options, label_intervals
from seqloom.data.label._labels import USUAL, Labels
from seqloom.errors import ArgumentError, LetterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from seqloom._ragged import Ragged
    from seqloom.data._encoded import Letters
    from seqloom.data._encoder import Encoder
    from seqloom.data.interval._intervals import Intervals
    from seqloom.data.interval._spans import Spans

_EXAMPLES = 3
_NAME_COLUMNS = ("name", "peakid", "geneid")  # of BED and MACS, of HOMER, of SAF
_AT_ONCE = 4096


class IntervalDataset(SequenceItems):
    """Parts of the sequences of one file, read where they lie, with their labels.

    Positions are zero-based and half-open, as in BED. An item is a dict: ``id``
    (``"chr1:100-200(+)"``, before jitter), ``inputs`` or ``sequence``, ``file``,
    ``ordinal`` (the interval's number, dropped ones counted), ``chrom``, ``start``,
    ``stop`` (what was read, jitter and all), ``strand`` and, with labels, ``label``.

    Args:
        genome: A FASTA or FASTQ file: plain, bgzip or gzip.
        intervals: A BED3, BED6 or narrowPeak file or several, a table with a header
            (``chrom``, ``start``, ``stop`` and, if it likes, ``strand`` and ``summit``), a
            dict of such columns, or a data frame.
        encoder: Encodes letters as numbers.
        augment: Changes letters before they are encoded.
        width: Letters in each part, about the summit (narrowPeak) or else the middle; None
            takes intervals as they are.
        strand: Whether an interval on the minus strand is reverse-complemented.
        alphabet: What letters are: A faces T on the minus strand in ``"dna"``, U in
            ``"rna"``; ``"protein"`` has no minus strand. None takes the encoder's, or else
            DNA, where a U on the minus strand is then an error.
        jitter: Each part is moved by up to so many letters to either side, as seed, epoch
            and ordinal say; it shows what really stands there.
        edge: What happens where a part, jitter and all, leaves its sequence: ``"error"``;
            ``"pad"`` puts N there (X in proteins); ``"drop"`` leaves
            the interval out and counts it in ``report``.
        labels: A column of the intervals by its name, or several of numbers; one label for
            each interval; a dict from id (or name, BED's fourth column) to label; a table
            of labels, or several as paths; ``"file"``: each file of intervals is a class; a
            dict from file of intervals to label. A ``Labels`` holds these and the options
            of labels below.
        classes: The order of the classes; None sorts them.
        seed: Seed of the random shifts and of the augmentation.
        id_column: The labels' table's column of ids.
        label_column: The labels' table's column of labels, or several of numbers.
        unlabelled: ``"error"`` for an interval without a label, ``"skip"`` to leave it out.
        missing: The texts that are no label, such as NA, NaN and a point.
        task: ``"auto"``, ``"classify"``, ``"regress"`` or ``"multilabel"``.

    Raises:
        FileError: A file cannot be read.
        FormatError: An interval is none, or leaves its sequence.
        LabelError: Labels are missing or do not fit the task.
        ArgumentError: Arguments that do not go together.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("g.fa").write_text(">chr1\\nAACCGGTTAC\\n")
        >>> _ = Path("a.bed").write_text("chr1 0 4 a 0 +\\nchr1 2 6 b 0 -\\n")
        >>> data = IntervalDataset("g.fa", "a.bed")
        >>> [(item["id"], item["sequence"]) for item in data]
        [('chr1:0-4(+)', b'AACC'), ('chr1:2-6(-)', b'CCGG')]
    """

    def __init__(
        self,
        genome: str | os.PathLike[str],
        intervals: Any,
        *,
        encoder: Encoder | None = None,
        augment: Any = None,
        width: int | None = None,
        strand: bool = True,
        alphabet: Literal["dna", "rna", "protein"] | None = None,
        jitter: int = 0,
        edge: str = "error",
        labels: Any = None,
        classes: Iterable[str] | None = None,
        seed: int = 0,
        id_column: str = "id",
        label_column: str | Sequence[str] = "label",
        unlabelled: str = "error",
        missing: Iterable[str] = MISSING,
        task: str = "auto",
    ) -> None:
        check_encoder(encoder)
        labels = Labels.of(
            labels,
            USUAL,
            classes=classes,
            id_column=id_column,
            label_column=label_column,
            unlabelled=unlabelled,
            missing=missing,
            task=task,
        )
        check_label_options(labels)
        check_integer("jitter", jitter, most=FARTHEST)
        if width is not None:
            check_integer("width", width, least=1, most=FARTHEST)
        as_path("genome", genome, expected="the path of a FASTA or FASTQ file")
        path = os.path.expanduser(os.fsdecode(genome))  # noqa: PTH111 - a path as text stays text
        self.jitter, self.strand = jitter, as_flag("strand", strand)
        self._encoded: NDArray[np.int64] | None = None
        # Several datasets may share a table: what none of them has is truly left over.
        self.unmatched: tuple[str, ...] = ()
        alphabet_of(alphabet, encoder)
        self._given_alphabet = alphabet
        super().__init__((path,), encoder=encoder, augment=augment, seed=seed)
        self._genome = Genome(path)
        self._intervals: Intervals = read_intervals(intervals)
        if self.strand:
            check_strands(self._intervals.strands < 0, self._alphabet)
        self._spans: Spans = spans_of(self._intervals, self._genome, width)
        self._kept = check_edges(
            self._intervals, self._spans, self._genome.lengths, jitter=jitter, edge=edge
        )
        self._report_dropped()
        if labels.source is not None:
            self._label(labels)

    @property
    def interval_files(self) -> tuple[str, ...]:
        """The files of the intervals; none where they are a table in memory."""
        return tuple(dict.fromkeys(self._intervals.files))

    @property
    def _alphabet(self) -> str | None:
        """The alphabet, as the caller says or as today's encoder reads letters."""
        return alphabet_of(self._given_alphabet, self.encoder)

    @property
    def _is_random(self) -> bool:
        """Whether an item depends on its epoch."""
        return self.augment is not None or self.jitter > 0

    def plain(self) -> Self:
        """Shows the same intervals without jitter and augmentation.

        Returns:
            A dataset of the same intervals; this one where nothing is random.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("g.fa").write_text(">chr1\\nAACCGGTTAC\\n")
            >>> table = {"chrom": ["chr1"], "start": [2], "stop": [4]}
            >>> IntervalDataset("g.fa", table, jitter=2).plain()[0]["sequence"]
            b'CC'
        """
        other = super().plain()
        other.jitter = 0
        return other

    def _report_dropped(self) -> None:
        """Counts the intervals that leave their sequence."""
        dropped = np.ones(len(self._intervals), np.bool_)
        dropped[self._kept] = False
        rows = np.flatnonzero(dropped)
        self._report["dropped"] = int(rows.size)
        self._report["dropped_examples"] = self._names(rows[:_EXAMPLES])

    @property
    def report(self) -> dict[str, Any]:
        """What was left out; and how many letters of the parts are no plain ones."""
        # Counted at the first look, which reads all parts once: many a program never asks.
        if "letters" not in self._report:
            alphabet = getattr(self.encoder, "alphabet", None)
            # In position: a part that stands still shares the report, which counts once.
            self._report["letters"] = composition(self._each_part(), alphabet)
        return self._report

    @report.setter
    def report(self, facts: dict[str, Any]) -> None:
        self._report = facts

    def _label(self, labels: Labels) -> None:
        """Gives intervals their labels, and leaves out those that have none."""
        names = self._names(self._kept)
        found, joined = label_intervals(labels, self._intervals, self._kept, ids=names)
        self._report |= joined.report
        self._kept, self.unmatched = self._kept[joined.kept], joined.unmatched
        self.task, self.classes, self.labels = found.task, found.classes, found.values

    def _names(self, ordinals: NDArray[np.int64]) -> list[str]:
        """Names intervals by where they lie."""
        spans, chroms = self._spans.take(ordinals), self._genome.names
        signs = self._intervals.strands[ordinals].tolist()
        positions = (
            spans.chroms.tolist(),
            spans.starts.tolist(),
            spans.stops.tolist(),
            signs,
        )
        return [
            f"{chroms[chrom]}:{start}-{stop}({SIGNS[sign]})"
            for chrom, start, stop, sign in zip(*positions, strict=True)
        ]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each part; a stop that the encoder leaves out is no letter."""
        lengths = (self._spans.stops - self._spans.starts)[self._kept]
        if not leaves_out(self.encoder):
            return lengths
        if self._encoded is None or self._encoded.size != lengths.size:
            self._encoded = self._encoded_lengths()
        return self._encoded

    def _encoded_lengths(self) -> NDArray[np.int64]:
        """Counts the letters of each part that are encoded, without jitter."""
        counts = [self.encoder.encoded_lengths(part) for part in self._each_part()]
        return np.concatenate([np.zeros(0, np.int64), *counts])

    def _each_part(self) -> Iterator[Ragged]:
        """Goes through the letters of all parts, some thousand at once, without jitter."""
        still = self.plain()
        for start in range(0, len(self), _AT_ONCE):
            rows = np.arange(start, min(start + _AT_ONCE, len(self)))
            yield still._fetch(rows, 0, 1)[1][0]  # noqa: SLF001 - another view of itself

    def __len__(self) -> int:
        return self._kept.size

    def _ids(self, rows: NDArray[np.int64]) -> list[str]:
        """Lists the ids of some intervals, by checked positions."""
        return self._names(self._kept[rows])

    @property
    def interval_names(self) -> list[str] | None:
        """The name of each interval, such as BED's fourth column; None without names."""
        columns = {it.strip("# ").lower(): it for it in self._intervals.columns}
        column = next((columns[it] for it in _NAME_COLUMNS if it in columns), None)
        if column is None:
            return None
        names = [" ".join(str(name).split()) for name in self.group(column)]
        return names if any(name not in MISSING for name in names) else None

    def group(self, name: str) -> list[Any]:
        """Lists what each interval has in a column, to split by.

        Args:
            name: ``"chrom"``, ``"start"``, ``"stop"`` (what is read, without jitter),
                ``"strand"``, or another column of the intervals.

        Returns:
            One value for each.

        Raises:
            ArgumentError: There is no such column.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("g.fa").write_text(">chr1\\nAACCGGTTAC\\n")
            >>> table = {"chrom": ["chr1"], "start": [0], "stop": [4]}
            >>> IntervalDataset("g.fa", table).group("chrom")
            ['chr1']
        """
        columns = {
            **self._intervals.columns,
            "chrom": self._intervals.chroms,
            "start": self._spans.starts.tolist(),
            "stop": self._spans.stops.tolist(),
            "strand": self._intervals.strands.tolist(),
        }
        if name not in columns:
            raise ArgumentError(
                f"the intervals have no column {name!r}; they have "
                f"{list_names(sorted(columns))}{name_nearest(name, columns)}"
            )
        return [columns[name][row] for row in self._kept.tolist()]

    def _spans_at(self, rows: NDArray[np.int64], epoch: int) -> Spans:
        """Finds what is read in an epoch."""
        ordinals = self._kept[rows]
        spans = self._spans.take(ordinals)
        if not self.jitter:
            return spans
        key = Key(self.seed).fold("jitter").fold(epoch)
        return spans.shift(shifts(key, ordinals, self.jitter))

    def _fetch(
        self, rows: NDArray[np.int64], epoch: int, num_threads: int
    ) -> tuple[list[str], Letters]:
        """Reads parts, padded, and reverse-complemented on the minus strand."""
        wanted = self._spans_at(rows, epoch)
        real = wanted.clip(self._genome.lengths)
        letters = self._genome.fetch(
            real.chroms, real.starts, real.stops, num_threads=num_threads
        )
        before, after = real.starts - wanted.starts, wanted.stops - real.stops
        letters = pad(letters, before, after, alphabet=self._alphabet)
        if self.strand:
            reverse_complement(
                letters, self._intervals.strands[self._kept[rows]] < 0, self._alphabet
            )
        return self._ids(rows), (letters, None)

    def _about(self, rows: NDArray[np.int64], epoch: int) -> dict[str, Any]:
        """Says where parts lie."""
        spans, ordinals = self._spans_at(rows, epoch), self._kept[rows]
        names, signs = self._genome.names, self._intervals.strands[ordinals].tolist()
        return {
            "file": [self._genome.path] * rows.size,
            "ordinal": ordinals,
            "chrom": [names[number] for number in spans.chroms.tolist()],
            "start": spans.starts,
            "stop": spans.stops,
            "strand": [SIGNS[sign] for sign in signs],
        }

    def _locate_letter(self, error: LetterError, row: int, epoch: int) -> LetterError:
        """Adds to an error which part of which sequence the letter stands in."""
        spans = self._spans_at(np.array([row]), epoch)
        where = f"{self._genome.path}: {self._genome.names[int(spans.chroms[0])]}"
        found = LetterError(
            f"{where}:{spans.starts[0]}-{spans.stops[0]}, letter {error.position}: "
            f"found {error.letter!r}, expected {error.expected}",
            record=int(spans.chroms[0]),
            position=error.position,
            letter=error.letter,
            expected=error.expected,
        )
        found.path = self._genome.path
        return found

    def _digest(self) -> str:
        """Hashes the content."""
        choices = (
            self.task,
            self.classes,
            self.jitter,
            self.strand,
            self._alphabet == "rna",
        )
        digest = hashlib.blake2b(repr(choices).encode(), digest_size=16)
        digest.update(self._genome.digest())
        spans = self._spans
        columns = (spans.chroms, spans.starts, spans.stops, self._kept)
        for column in (*columns, self._intervals.strands):
            digest.update(column.tobytes())
        if self.labels is not None:
            digest.update(self.labels.tobytes())
        return digest.hexdigest()
