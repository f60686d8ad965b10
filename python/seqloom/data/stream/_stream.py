"""`SequenceStream`, which reads sequence files of any size from start to end."""

from __future__ import annotations

import copy
from itertools import repeat
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_seed
from seqloom._key import Key
from seqloom._threads import supports_threads
from seqloom.data._batch import supports_native_batches
from seqloom.data._describe import description_html
from seqloom.data._encoder import check_augment, check_encoder
from seqloom.data._inputs import SourceOptions
from seqloom.data._paths import digest_file
from seqloom.data._position import check_integer, find_rank
from seqloom.data._sources import read_sources
from seqloom.data.label._labels import DEFAULTS, Labels
from seqloom.data.label._stream_labels import StreamLabels
from seqloom.data.stream._chunk import ShuffleWindows, resize_chunks
from seqloom.data.stream._piece import StreamBatch
from seqloom.data.stream._resumable import Cursor, Resumable
from seqloom.data.stream._shard import Shard, open_part, read_ahead, read_shard
from seqloom.errors import ArgumentError, FileError, MissingExtraError
from seqloom.io._settings import check_not_stream

if TYPE_CHECKING:
    import os
    import re
    from collections.abc import Iterable, Iterator

    from seqloom.data._encoder import Encoder
    from seqloom.data.stream._chunk import Chunk
    from seqloom.data.stream._shard import FilePart
    from seqloom.io import ReadReport
    from seqloom.io._settings import Comments, IdRule, Quality, Whitespace

    Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_ITEMS_PER_READ = 256
_STDIN_PATH = "-"


class SequenceStream(Resumable):
    """Sequences of files of any size, in file order, with constant memory.

    The items are the same as those of ``SequenceDataset``, including labels. Each pass is
    one epoch, counted from 0. Shuffling and augmentation depend only on epoch and seed.
    Each record is yielded exactly once, with any number of shards or ``DataLoader``
    workers.

    Args:
        paths: One or more files or patterns.
        encoder: Encodes residues as numbers.
        augment: Changes residues before they are encoded.
        labels: Tables, a dict from id to label, or a function that maps a record to a
            number, an array, or the name of a class. A ``Labels`` object also has options
            for reading the labels.
        shuffle_window: The number of records in a shuffled window; 0 keeps the file order.
        seed: Seed of the shuffling and the augmentation.
        quality: The encoding of quality characters: ``"phred33"``, ``"phred64"`` or
            ``"solexa"``.
        comments: ``"skip"`` ignores FASTA lines that begin with ``;`` or ``#``.
        whitespace: ``"strip"`` removes blanks within FASTA sequences.
        ids: ``"number"`` uses the record's index as its id if the header is empty.
        id_from_header: A regular expression whose group is the id of a record, as for
            ``SequenceDataset``.
        on_error: ``"raise"`` raises for an invalid record; ``"skip"`` skips such records
            and counts them in ``report``; ``"collect"`` also stores the errors in
            ``report``.
        num_threads: The number of threads that read and encode.
        **old: Deprecated: options of ``Labels`` as keywords; write ``labels=Labels(source,
            task=..., classes=...)``.

    Raises:
        FileError: A file cannot be read.
        ArgumentError: Arguments contradict each other.
        LabelError: Labels are duplicated, or do not fit the task.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n>z\\nTT\\n")
        >>> stream = SequenceStream("a.fa")
        >>> [item["id"] for item in stream]
        ['x', 'y', 'z']
        >>> [batch["ordinal"].tolist() for batch in stream.batches(2)]
        [[0, 1], [2]]
    """

    def __init__(
        self,
        paths: Paths,
        *,
        encoder: Encoder | None = None,
        augment: Any = None,
        labels: Any = None,
        shuffle_window: int = 0,
        seed: int = 0,
        quality: Quality = "phred33",
        comments: Comments = "error",
        whitespace: Whitespace = "error",
        ids: IdRule = "error",
        id_from_header: str | re.Pattern[str] | None = None,
        on_error: str = "raise",
        num_threads: int | None = None,
        **old: Any,
    ) -> None:
        super().__init__()
        options = SourceOptions(
            quality=quality,
            comments=comments,
            whitespace=whitespace,
            ids=ids,
            id_from_header=id_from_header,
        )
        self._source = options
        self.paths = _sequence_paths(paths, options)
        self.encoder = encoder
        self.augment = augment
        self.shuffle_window = shuffle_window
        self._check_attributes()
        self.seed = as_seed(seed)
        self.num_threads = num_threads
        self.report: dict[str, Any] = _empty_report()
        labels = Labels.of(labels, DEFAULTS, old, maker=type(self))
        labels.check_unsupported("label_from_header", of="SequenceDataset")
        labels.check_unsupported("coding", of="GenotypeDataset")
        self._labels = StreamLabels.make(labels)
        self._options = _changed_options(on_error=on_error, num_threads=num_threads)
        self._options |= options.file_options
        self._shard = Shard()
        self._is_read = False

    @property
    def task(self) -> str | None:
        """The task of the labels; None without labels."""
        return None if self._labels is None else self._labels.task

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, or of the columns of numbers."""
        return () if self._labels is None else self._labels.classes

    @property
    def supports_threads(self) -> bool:
        """True if threads may share the encoder and the augmentation."""
        return supports_threads(self.encoder) and supports_threads(self.augment)

    @property
    def supports_native_batches(self) -> bool:
        """True if threads can make batches without the interpreter."""
        return self.augment is None and supports_native_batches(self.encoder)

    def shard(self, index: int, count: int) -> SequenceStream:
        """Return one shard of the stream; each record is in exactly one shard.

        Args:
            index: The number of the shard, from 0.
            count: The number of shards.

        Returns:
            A new stream, which can be sharded again.

        Raises:
            ArgumentError: ``index`` or ``count`` is out of range.
            FileError: A file is a pipe, which only one reader can read.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("three.fa").write_text(">x\\nACGT\\n>y\\nGG\\n>z\\nTT\\n")
            >>> parts = [SequenceStream("three.fa").shard(i, 2) for i in range(2)]
            >>> sorted(item["id"] for part in parts for item in part)
            ['x', 'y', 'z']
        """
        for path in self.paths:
            check_not_stream(path)
        part = copy.copy(self)
        vars(part).update(
            _shard=self._shard.part(index, count),
            _epoch=self._epoch.independent_counter(),
            _cursor=Cursor(),
            _resume=0,
            report=_empty_report(),
        )
        return part

    def __str__(self) -> str:
        kind = "" if self.task is None else f"; {self.task}: {', '.join(self.classes[:10])}"
        return (
            f"stream of {', '.join(self.paths[:3])}{', ...' * (len(self.paths) > 3)}{kind}"  # noqa: PLR2004 - shown
        )

    def __repr__(self) -> str:
        return f"SequenceStream({self})"

    def _repr_html_(self) -> str:
        """Return the stream as HTML for a notebook."""
        return description_html("SequenceStream", str(self), self.paths)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        # An epoch begins when its first item is requested, because trainers create
        # iterators that they never use.
        cursor = self._begin()
        for piece in self._make_pieces(cursor, _ITEMS_PER_READ):
            positions = piece.chunk.positions.tolist()
            for position, item in zip(positions, piece.items(), strict=True):
                cursor.position = position + 1
                yield item
        cursor.is_done = True

    def batches(
        self, n: int, *, length: int | None = None, multiple: int = 1
    ) -> Iterator[dict[str, Any]]:
        """Yield batches as columns, like ``SequenceDataset.batch``.

        Args:
            n: The number of records in a batch; the last batch may be smaller.
            length: The number of positions in ``inputs``; None pads to the longest sequence
                of each batch.
            multiple: The number of positions is rounded up to a multiple of ``multiple``.

        Returns:
            The batches of the rest of the epoch.

        Raises:
            ArgumentError: ``n`` is below 1.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> [batch["id"] for batch in SequenceStream("a.fa").batches(1)]
            [['x'], ['y']]
        """
        check_integer("n", n, least=1)
        return self._columns(n, length=length, multiple=multiple)

    def _columns(self, n: int, **shape: Any) -> Iterator[dict[str, Any]]:
        cursor = self._begin()
        for piece in self._make_pieces(cursor, n):
            batch = piece.batch(**shape, num_threads=self.num_threads or 1)
            cursor.position = piece.stop
            yield batch
        cursor.is_done = True

    def pieces(self, n: int, *, ahead: bool = False) -> Iterator[StreamBatch]:
        """Yield the records of each batch; any thread can encode a batch, in any order.

        Args:
            n: The number of records in a batch; the last batch may be smaller.
            ahead: If True, a separate thread reads the file ahead.

        Returns:
            Pieces for the rest of the epoch; ``piece.batch()`` returns the batch, and
            ``piece.state`` is the state of the stream after the batch.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> [piece.batch()["id"] for piece in SequenceStream("a.fa").pieces(1)]
            [['x'], ['y']]
        """
        check_integer("n", n, least=1)
        return self._make_pieces(self._begin(), n, ahead=ahead)

    def _make_pieces(
        self, cursor: Cursor, n: int, *, ahead: bool = False
    ) -> Iterator[StreamBatch]:
        # Attributes that are set during an epoch take effect in the next epoch.
        snapshot = copy.copy(self)
        snapshot._check_attributes()  # noqa: SLF001 - same class
        windows = ShuffleWindows(self.shuffle_window, Key(self.seed, cursor.epoch))
        start = windows.start(cursor.position)
        chunks = read_shard(
            self._open_parts(start, self._reading_options()), self.paths, start
        )
        if self._source.id_from_header is not None:
            chunks = map(self._rename_records, chunks)
        if ahead:
            chunks = read_ahead(chunks, 1)
        chunks = windows.shuffle(chunks, cursor.position)
        if self._labels is not None:
            chunks = self._labels.join(chunks, self.report)
        for chunk in resize_chunks(chunks, repeat(n)):
            yield StreamBatch(snapshot, chunk, cursor.epoch)

    def _rename_records(self, chunk: Chunk) -> Chunk:
        source = chunk.source
        batch = self._source.rename(
            chunk.batch, lambda row: source.locate(chunk.start + row)
        )
        return chunk.replace_batch(batch)

    def _check_attributes(self) -> None:
        """Raise for attributes that were changed to invalid values."""
        check_encoder(self.encoder)
        check_augment(self.augment, self.encoder)
        check_integer("shuffle_window", self.shuffle_window)

    def _reading_options(self) -> dict[str, Any]:
        """Return the options for reading; qualities are read only if they are used."""
        if self.supports_native_batches and self._labels is None:
            return {**self._options, "with_qualities": False}
        return self._options

    def _open_parts(self, start: int, options: dict[str, Any]) -> Iterator[FilePart]:
        for path in self.paths:
            self._check_once(path)
            yield open_part(
                path, self._shard, options, start=start, report=self._add_report
            )

    def _check_once(self, path: str) -> None:
        """Raise if standard input is read a second time."""
        if path == _STDIN_PATH and self._is_read:
            raise FileError(
                "-: standard input can be read once only; save it to a file first"
            )
        self._is_read = True

    def _add_report(self, report: ReadReport) -> None:
        counts: dict[str, int] = self.report["left_out"]
        for kind, count in report.left_out.items():
            counts[kind] = counts.get(kind, 0) + count
        self.report["faults"].extend(report.faults)

    def _identity(self) -> dict[str, Any]:
        """Return the files and settings that must equal those of a saved state."""
        return {
            "files": [digest_file(path) for path in self.paths],
            "seed": self.seed,
            "shuffle_window": self.shuffle_window,
            "shard": [self._shard.index, self._shard.count],
        }

    def to_torch(self, *, rank: int | None = None, world_size: int | None = None) -> Any:
        """Return the stream as a ``torch.utils.data.IterableDataset``.

        Each worker of a PyTorch loader, on each rank, reads a separate shard, so an epoch
        has each record once. Call ``set_epoch`` before each epoch; the epoch also applies
        to the workers.

        Args:
            rank: The rank of this process; None reads the rank from ``torch.distributed``.
            world_size: The number of ranks.

        Returns:
            The dataset, with the items of the stream.

        Raises:
            MissingExtraError: PyTorch is not installed.

        Examples:
            >>> from pathlib import Path
            >>> from torch.utils.data import DataLoader
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> loader = DataLoader(SequenceStream("a.fa").to_torch(), batch_size=2)
            >>> [batch["id"] for batch in loader]
            [['x', 'y']]
        """
        try:
            from seqloom.data.stream._torch_stream import TorchStream
        except ImportError as error:
            raise MissingExtraError("to_torch() needs torch: pip install torch") from error
        this_rank = find_rank(rank, world_size, "pad")
        return TorchStream(self, (this_rank.number, this_rank.world))


def _sequence_paths(paths: Any, options: SourceOptions) -> tuple[str, ...]:
    sources = read_sources(paths, options)
    if sources.held:
        raise ArgumentError(
            f"{next(iter(sources.held))}: a stream reads sequence files; SequenceDataset "
            "reads tables and sequences from memory"
        )
    return sources.paths


def _changed_options(**options: Any) -> dict[str, Any]:
    """Return the options that differ from the defaults of `SequenceReader`."""
    defaults = {"on_error": "raise", "num_threads": None}
    return {name: value for name, value in options.items() if value != defaults[name]}


def _empty_report() -> dict[str, Any]:
    return {"left_out": {}, "faults": [], "unlabelled": 0}
