"""Sequence files with labels, as a map from number to item."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data._columns import read_columns
from seqloom.data._describe import class_counts, describe
from seqloom.data._encoder import check_encoder, check_letters, encode
from seqloom.data._join import join
from seqloom.data._labels import number_labels
from seqloom.data._length import check_lengths, padded_length
from seqloom.data._path import expand
from seqloom.data._position import position, positions
from seqloom.data._source import choose_source
from seqloom.errors import ArgumentError
from seqloom.io._record import header_text

if TYPE_CHECKING:
    import os
    import re
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._columns import Columns
    from seqloom.data._encoder import Encoder
    from seqloom.data._source import Source

    Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class SequenceDataset:
    """Sequences of one or several files, encoded when asked for, with their labels.

    Files are read into memory once, as columns. An item is a dict: ``id``, ``inputs``
    (``sequence``, where there is no encoder), ``file``, ``ordinal`` (the record's number
    over all files) and, with labels, ``label``.

    Labels come from tables joined by id, from a dict, or from the headers. Text and whole
    numbers are classes; numbers with a fraction need ``task="regress"``.

    Args:
        paths: A file, a pattern (``"part-*.fa.gz"``), or several of them.
        encoder: Turns letters into numbers; ``sl.encode.OneHot``, for example.
        labels: Tables (TSV, CSV, white space; plain or gzip) or a dict from id to label.
        classes: The order of the classes; a label outside is an error. None sorts them.
        max_length: A longer sequence is an error.
        seed: Kept for what draws random numbers for this dataset.
        id_column: The tables' column of ids.
        label_column: The tables' column of labels, or several of numbers.
        label_from_header: A regular expression instead of tables; its group named
            ``label``, else its first group, else all that it matches is the label.
        unlabelled: ``"error"`` for a sequence without a label, ``"skip"`` to leave it out.
        task: ``"auto"``, ``"classify"``, ``"regress"`` or ``"multilabel"``: names between
            commas in one column, or 0 and 1 in several.

    Raises:
        FileError: A file cannot be read.
        FormatError: A file does not hold what it should.
        LetterError: A letter that the encoder does not know.
        LabelError: Labels are missing, double, or do not fit the task.
        ArgumentError: Arguments that do not go together.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGGCC\\n")
        >>> _ = Path("a.tsv").write_text("id\\tlabel\\nx\\tno\\ny\\tyes\\n")
        >>> data = SequenceDataset("a.fa", labels="a.tsv")
        >>> print(data)
        2 sequences of 4; no 1, yes 1
        >>> data[1]["sequence"], int(data[1]["label"]), data.classes
        (b'GGCC', 1, ('no', 'yes'))
    """

    def __init__(
        self,
        paths: Paths,
        *,
        encoder: Encoder | None = None,
        labels: Paths | Mapping[str, Any] | None = None,
        classes: Iterable[str] | None = None,
        max_length: int | None = None,
        seed: int = 0,
        id_column: str = "id",
        label_column: str | Sequence[str] = "label",
        label_from_header: str | re.Pattern[str] | None = None,
        unlabelled: str = "error",
        task: str = "auto",
    ) -> None:
        if unlabelled not in {"error", "skip"}:
            raise ArgumentError(f'unlabelled must be "error" or "skip", got {unlabelled!r}')
        check_encoder(encoder)
        classes = None if classes is None else tuple(classes)
        columns = read_columns(expand(paths))
        check_lengths(columns, max_length, encoded=encoder is not None)
        self.paths: tuple[str, ...] = columns.paths
        self.encoder = encoder
        self.seed = seed
        self.task: str | None = None
        self.classes: tuple[str, ...] = classes or ()
        self.labels: NDArray[Any] | None = None
        self.report: dict[str, Any] = {}
        # Several datasets may share a table: what none of them has is truly left over.
        self.unmatched: tuple[str, ...] = ()
        self._fingerprint: str | None = None
        source = choose_source(
            columns,
            labels,
            label_from_header,
            id_column=id_column,
            label_column=label_column,
        )
        columns = replace(columns, headers=columns.ids())
        if source is not None:
            skip = unlabelled == "skip"
            columns = self._label(columns, source, task=task, classes=classes, skip=skip)
        self._columns: Columns = columns
        if encoder is not None:
            check_letters(encoder, self._columns)

    def _label(
        self,
        columns: Columns,
        source: Source,
        *,
        task: str,
        classes: Iterable[str] | None,
        skip: bool,
    ) -> Columns:
        """Joins labels to sequences; returns the sequences that have one."""
        ids = _texts(columns.headers.to_list())
        joined = join(columns, ids, source, task=task, skip=skip)
        self.report, self.unmatched = joined.report, joined.unmatched
        if joined.kept.size < len(ids):
            columns = columns.take(joined.kept)
            kept: list[int] = joined.kept.tolist()
            ids = [ids[i] for i in kept]
        found = number_labels(source, ids, task=task, classes=classes)
        self.task, self.classes, self.labels = found.task, found.classes, found.values
        return columns

    @property
    def ids(self) -> list[str]:
        """The id of each sequence, made on demand."""
        return _texts(self._columns.headers.to_list())

    def ids_of(self, indices: ArrayLike) -> list[str]:
        """Lists the ids of some sequences.

        Args:
            indices: Which ones.

        Returns:
            Their ids, in that order.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> SequenceDataset("a.fa").ids_of([1])
            ['y']
        """
        rows = positions(indices, len(self))
        return _texts(self._columns.headers.take(rows).to_list())

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each sequence."""
        return self._columns.sequences.lengths

    @property
    def class_counts(self) -> dict[str, int]:
        """How many sequences each class (or each of several labels) has."""
        return class_counts(self.labels, self.task, self.classes)

    def __len__(self) -> int:
        return len(self._columns.sequences)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(len(self)))

    def __str__(self) -> str:
        return describe(self.lengths, self.labels, task=self.task, classes=self.classes)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.__getitems__([position(index, len(self))])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        batch = self.batch(indices)
        lengths = batch.pop("lengths").tolist()
        batch.pop("mask", None)
        items = [
            dict(zip(batch, values, strict=True))
            for values in zip(*batch.values(), strict=True)
        ]
        if self.encoder is not None:
            for item, length in zip(items, lengths, strict=True):
                item["inputs"] = self._cut(item["inputs"], length)
        return items

    def _cut(self, inputs: NDArray[Any], length: int) -> NDArray[Any]:
        """Takes the padding off one encoded sequence."""
        return inputs[:, :length] if self._channels_first else inputs[:length]

    @property
    def _channels_first(self) -> bool:
        """Whether the last axis is the place."""
        return self.encoder is None or self.encoder.channels == "first"

    def batch(
        self, indices: ArrayLike, *, length: int | None = None, multiple: int = 1
    ) -> dict[str, Any]:
        """Fetches several sequences at once, as columns.

        Args:
            indices: Which ones: positions, or a mask of True and False.
            length: Places in ``inputs``; None takes the longest sequence of the batch.
            multiple: The longest is rounded up to a multiple of this.

        Returns:
            ``id`` (a list), ``inputs`` (sequences, channels, places) or ``sequence`` (a
            list), ``file`` (a list), ``ordinal``, ``label`` where there are labels, and
            ``lengths``; ``mask`` (sequences, places), 1 where a letter stands and 0 where
            there is padding, if there is padding.

        Raises:
            ArgumentError: Indices are no whole numbers.
            OutOfRangeError: There is no such sequence.
            ShapeError: A sequence is longer than ``length``.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.encode import OneHot
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> batch = SequenceDataset("a.fa", encoder=OneHot("dna")).batch([0, 1])
            >>> batch["inputs"].shape, batch["mask"].tolist()[1]
            ((2, 4, 4), [1.0, 1.0, 0.0, 0.0])
        """
        rows = positions(indices, len(self))
        batch: dict[str, Any] = {"id": self.ids_of(rows)}
        batch |= self._letters(rows, length, multiple)
        batch["file"] = [self.paths[file] for file in self._columns.files(rows).tolist()]
        batch["ordinal"] = self._columns.ordinals[rows]
        if self.labels is not None:
            batch["label"] = self.labels[rows]
        return batch | self._extent(batch, rows)

    def _letters(
        self, rows: NDArray[np.int64], length: int | None, multiple: int
    ) -> dict[str, Any]:
        """Encodes sequences, or copies their letters where there is no encoder."""
        if self.encoder is None:
            return {"sequence": self._columns.sequences.take(rows).to_list()}
        length = padded_length(self._columns, rows, length, multiple=multiple)
        return {"inputs": encode(self.encoder, self._columns, rows, length=length)}

    def _extent(self, batch: dict[str, Any], rows: NDArray[np.int64]) -> dict[str, Any]:
        """Says where letters stand in the batch's array."""
        offsets = self._columns.sequences.offsets
        lengths = offsets[rows + 1] - offsets[rows]
        if "inputs" not in batch:
            return {"lengths": lengths}
        places = batch["inputs"].shape[2 if self._channels_first else 1]
        if (lengths == places).all():
            return {"lengths": lengths}
        return {"lengths": lengths, "mask": mask_of(lengths, places)}

    def to_numpy(self) -> dict[str, Any]:
        """Fetches everything at once.

        Returns:
            What ``batch`` gives for all sequences, in order.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.encode import OneHot
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGGCC\\n")
            >>> SequenceDataset("a.fa", encoder=OneHot("dna")).to_numpy()["inputs"].shape
            (2, 4, 4)
        """
        return self.batch(np.arange(len(self)))

    def fingerprint(self) -> str:
        """Names the content by 32 hexadecimal digits: ids, letters, labels and classes.

        Returns:
            The same text for the same content, whatever the files are called.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
            >>> SequenceDataset("a.fa").fingerprint() == SequenceDataset(
            ...     "a.fa"
            ... ).fingerprint()
            True
        """
        if self._fingerprint is None:
            self._fingerprint = self._digest()
        return self._fingerprint

    def _digest(self) -> str:
        """Hashes the content."""
        digest = hashlib.blake2b(repr((self.task, self.classes)).encode(), digest_size=16)
        columns = self._columns
        for rows in (columns.headers, columns.sequences):
            digest.update(rows.offsets.tobytes())
            digest.update(rows.data.data)
        if self.labels is not None:
            digest.update(self.labels.tobytes())
        return digest.hexdigest()


def mask_of(lengths: NDArray[np.int64], places: int) -> NDArray[np.float32]:
    """Marks the places that hold a letter."""
    return (np.arange(places) < lengths[:, None]).astype(np.float32)


def _texts(ids: list[bytes]) -> list[str]:
    """Reads ids as text."""
    return [header_text(name) for name in ids]
