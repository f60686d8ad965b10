"""Sequence files with labels, as a map from number to item."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_flag
from seqloom.data._columns import encode_part
from seqloom.data._composition import composition
from seqloom.data._encoded import first_refused, in_file
from seqloom.data._encoder import Refusing, check_encoder
from seqloom.data._items import SequenceItems
from seqloom.data._length import check_lengths
from seqloom.data._records import Records
from seqloom.data._source_options import SourceOptions
from seqloom.data._sources import sources_of
from seqloom.data._store import Inputs
from seqloom.data.label._cells import MISSING
from seqloom.data.label._join import drop_missing, join_records
from seqloom.data.label._labels import USUAL, Labels
from seqloom.data.label._numbers import number_labels
from seqloom.data.label._source import choose_source

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from seqloom._ragged import Ragged
    from seqloom.data._encoded import Letters
    from seqloom.data._encoder import Encoder
    from seqloom.data.label._source import Source
    from seqloom.errors import LetterError

_AT_ONCE = 1 << 16


class SequenceDataset(SequenceItems):
    """Sequences of files or from memory, augmented and encoded when asked for, with labels.

    An item is a dict: ``id``, ``inputs`` (``sequence``, where there is no encoder, and
    ``quality`` with it where files are FASTQ), ``file``, ``ordinal`` (the record's number
    over all files) and, with labels, ``label``.

    Small files are read into memory once, as columns; large ones stay where they are and
    are read through an index (``sl.io.SequenceIndex``), which is made once and kept beside
    the file. A pickle holds paths, options and a
    digest of the content: another process opens the files again on first use, and a file
    that has changed meanwhile is an error. Tables and what was given in memory it holds.

    Sequences from memory are a list (of texts, bytes, pairs of id and sequence, dicts, or
    records), a dict from id to sequence, a dict of columns, an array of texts or bytes (or
    of single letters, a sequence a row), a series, a data frame (pandas, polars, Arrow), or
    a Hugging Face dataset. Ids are those given, else numbers from 0; as in a file, an id is
    the first word of what is given. A file may be a table too: CSV, TSV or Parquet with a
    column ``sequence``; its column ``label``, where there is one, is the labels.

    Labels come from tables joined by id, from a dict, from the headers, from the names of
    the files, or from a function of the record. Text and integers are classes; numbers
    with a fraction need ``task="regress"``.

    Args:
        paths: A file, a pattern (``"part-*.fa.gz"``), several of them, or sequences from
            memory.
        encoder: Encodes letters as numbers; ``sl.encode.OneHot``, for example.
        augment: Changes letters before they are encoded, by a key of seed, epoch and
            ordinal; ``sl.augment.ReverseComplement``, for example.
        labels: Tables (TSV, CSV, white space; plain or gzip; Parquet), a data frame, a dict
            from id to label, a function that gives a ``SequenceRecord`` its label, a pandas
            series whose index has the ids, an array, a series with the default index or a
            list of numbers in the order of the records; ``"file"`` where each
            file is a class, called as the file is without its endings, or a dict from file
            to label. None takes the column of a table of sequences, if it has one; False
            leaves labels out. A ``Labels`` holds these and the options of labels below.
        classes: The order of the classes; a label outside is an error. None sorts them.
        max_length: A longer sequence is an error.
        seed: Seed of the augmentation.
        id_column: The tables' column of ids; without one records are numbered from 0, and
            ``report`` counts them.
        label_column: The tables' column of labels, or several of numbers.
        sequence_column: The column of sequences, of a table of sequences.
        label_from_header: A regular expression instead of tables; its group named
            ``label``, else its first group, else all that it matches is the label.
        unlabelled: ``"error"`` for a sequence without a label, ``"skip"`` to leave it out.
        missing: The texts that are no label, such as NA, NaN and a point; None and NaN
            never are one. A name that ``classes`` has is a class.
        task: ``"auto"``, ``"classify"``, ``"regress"`` or ``"multilabel"``: names between
            commas in one column, lists of names in memory, or 0 and 1 in several.
        quality: What a letter of quality means: ``"phred33"``, ``"phred64"`` or
            ``"solexa"``.
        comments: ``"skip"`` leaves out lines of FASTA that begin with ``;`` or ``#``.
        whitespace: ``"strip"`` leaves out blanks among the letters of FASTA, of tables and
            in memory.
        ids: ``"number"`` gives a record whose header has no word, or that has no id in
            memory, its number.
        id_from_header: A regular expression: its group named ``id``, else its first group,
            else all that it matches is the id of a record; ``r"\\|(.+?)\\|"`` finds the
            accession in UniProt's ``sp|P12345|NAME``. None takes the first word.
        in_memory: Whether all records are held in memory; None holds them where ids,
            letters and qualities are below 1 GiB.

    Raises:
        FileError: A file cannot be read.
        FormatError: A file does not hold what it should.
        LetterError: A letter that the encoder does not know.
        LabelError: Labels are missing, double, or do not fit the task.
        ArgumentError: Arguments that do not go together.
        MissingExtraError: A table is Parquet, and pyarrow is not installed.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGGCC\\n")
        >>> _ = Path("a.tsv").write_text("id\\tlabel\\nx\\tno\\ny\\tyes\\n")
        >>> data = SequenceDataset("a.fa", labels="a.tsv")
        >>> print(data)
        2 sequences of 4; no 1, yes 1
        >>> data[1]["sequence"], int(data[1]["label"]), data.classes
        (b'GGCC', 1, ('no', 'yes'))
        >>> print(SequenceDataset({"sequence": ["ACGT", "GG"], "label": ["no", "yes"]}))
        2 sequences of 2 to 4; no 1, yes 1
    """

    def __init__(
        self,
        paths: Any,
        *,
        encoder: Encoder | None = None,
        augment: Any = None,
        labels: Any = None,
        classes: Iterable[str] | None = None,
        max_length: int | None = None,
        seed: int = 0,
        id_column: str = "id",
        label_column: str | Sequence[str] = "label",
        label_from_header: str | re.Pattern[str] | None = None,
        sequence_column: str = "sequence",
        unlabelled: str = "error",
        missing: Iterable[str] = MISSING,
        task: str = "auto",
        quality: str = "phred33",
        comments: str = "error",
        whitespace: str = "error",
        ids: str = "error",
        id_from_header: str | re.Pattern[str] | None = None,
        in_memory: bool | None = None,
    ) -> None:
        labels = Labels.of(
            labels,
            replace(USUAL, id_column=id_column),  # of the table of sequences, too
            classes=classes,
            label_column=label_column,
            label_from_header=label_from_header,
            unlabelled=unlabelled,
            missing=missing,
            task=task,
        )
        labels.check_usual("coding", of="GenotypeDataset")
        if in_memory is not None:
            in_memory = as_flag("in_memory", in_memory)
        check_encoder(encoder)
        options = SourceOptions(
            quality=quality,
            comments=comments,
            whitespace=whitespace,
            ids=ids,
            sequence_column=sequence_column,
            id_column=id_column,
            id_from_header=id_from_header,
        )
        sources = sources_of(paths, options)
        batches = {path: held.batch for path, held in sources.held.items()}
        inputs = Inputs(sources.paths, options, batches)
        self._records = Records(inputs, in_memory=in_memory)
        check_lengths(self._records, max_length, encoder)
        super().__init__(self._records.paths, encoder=encoder, augment=augment, seed=seed)
        self.classes = tuple(labels.classes or ())
        # Several datasets may share a table: what none of them has is truly left over.
        self.unmatched: tuple[str, ...] = ()
        self._has_ids = sources.has_ids
        source = choose_source(
            self._records, labels, sources.frames, has_ids=sources.has_ids
        )
        if source is not None:
            self._label(drop_missing(source, labels), labels)
        self._report |= sources.count_numbered(id_column)
        self._records.store.forget_headers()
        self._check_letters()

    def _label(self, source: Source, labels: Labels) -> None:
        """Joins labels to sequences, and leaves out those that have none."""
        joined, ids = join_records(self._records, self.ids, source, skip=labels.skips)
        self.report, self.unmatched = joined.report, joined.unmatched
        if joined.kept.size < len(ids):
            self._records.keep(joined.kept)
            kept: list[int] = joined.kept.tolist()
            ids = [ids[i] for i in kept]
        found = number_labels(source, ids, task=labels.task, classes=labels.classes)
        self.task, self.classes, self.labels = found.task, found.classes, found.values

    def _check_letters(self) -> None:
        """Finds a letter that the encoder would refuse, before any work is done."""
        # Files too large to hold are not read twice: there the batch finds it.
        if not (self._records.in_memory and isinstance(self.encoder, Refusing)):
            return
        start = 0
        for letters in self._all_letters():
            row = first_refused(self.encoder, letters)
            if row is not None:
                self.items_at(np.array([start + row]))
            start += len(letters)

    @property
    def report(self) -> dict[str, Any]:
        """What was left out; and, of letters in memory, how many are no plain ones."""
        # Counted at the first look: many a program never asks.
        if "letters" not in self._report and self._records.in_memory:
            alphabet = getattr(self.encoder, "alphabet", None)
            # In place: a part that is not augmented shares the report, which counts once.
            self._report["letters"] = composition(self._all_letters(), alphabet)
        return self._report

    @report.setter
    def report(self, facts: dict[str, Any]) -> None:
        self._report = facts

    def _all_letters(self) -> Iterator[Ragged]:
        """Goes through all letters that are held; only those of some must be copied."""
        if self._records.kept is None:
            for batch in self._records.store.batches():
                yield encode_part(self.encoder, (batch.sequences, batch.qualities))
            return
        for start in range(0, len(self), _AT_ONCE):
            rows = np.arange(start, min(start + _AT_ONCE, len(self)))
            yield encode_part(self.encoder, self._records.fetch(rows)[1])

    def _ids(self, rows: NDArray[np.int64]) -> list[str]:
        """Lists the ids of some sequences, by checked positions."""
        return self._records.ids(rows)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each sequence; a stop that the encoder leaves out is no letter."""
        return self._records.encoded_lengths(self.encoder)

    def __len__(self) -> int:
        return len(self._records)

    def _memory_records(self) -> Records | None:
        """Gives the records, if they are held in memory."""
        return self._records if self._records.in_memory else None

    def _fetch(
        self,
        rows: NDArray[np.int64],
        epoch: int,  # noqa: ARG002 - the same in all epochs
        num_threads: int,
    ) -> tuple[list[str], Letters]:
        """Copies ids, letters and qualities."""
        return self._records.fetch(rows, num_threads)

    def _about(self, rows: NDArray[np.int64], epoch: int) -> dict[str, Any]:  # noqa: ARG002 - the same in all epochs
        """Says where sequences come from."""
        ordinals = self._records.ordinals(rows)
        return {"file": self._records.files(ordinals), "ordinal": ordinals}

    def _locate_letter(self, error: LetterError, row: int, epoch: int) -> LetterError:  # noqa: ARG002 - the same in all epochs
        """Adds to an error where in its file the letter stands."""
        name = self._records.ids(np.array([row]))[0]
        is_changed = self.augment is not None
        return in_file(error, self._records.locate(row), name, augmented=is_changed)

    def _digest(self) -> str:
        """Hashes the content."""
        digest = hashlib.blake2b(repr((self.task, self.classes)).encode(), digest_size=16)
        digest.update(self._records.digest())
        if self.labels is not None:
            digest.update(self.labels.tobytes())
        return digest.hexdigest()
