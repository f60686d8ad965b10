"""`PackedStream`, which reads, tokenises and packs records in Rust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from seqloom._arguments import as_choice
from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.data._describe import description_html
from seqloom.data._encoder import add_file_position
from seqloom.data._ids import Ids, headers_to_ids
from seqloom.data._paths import digest_file, expand_paths, open_existing_index, open_index
from seqloom.data._position import check_integer
from seqloom.data.packed._progress import StreamProgress, format_hash
from seqloom.data.packed._tokeniser import Tokeniser
from seqloom.errors import (
    AlphabetError,
    ArgumentError,
    FormatError,
    OutOfRangeError,
    ShapeError,
)
from seqloom.io._settings import ReadSettings, add_remedy, check_rereadable

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from seqloom.data.packed._progress import StreamPosition
    from seqloom.io import SequenceIndex

    Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


_MAX_INT32 = (1 << 31) - 1  # limit of cu_seqlens, which is int32


class PackedStream:
    """Reads files as packed batches of tokens, without padding.

    Rust threads read, tokenise and pack; no Python object is created for a record. A batch
    contains the oldest waiting record, and the longest of at least ``window`` waiting
    records that still fit. Records in a batch are in file order. The batches depend only on
    the records and these settings, not on the number of threads. With ``max_length``,
    longer records are split into pieces, called windows, which are packed like records.

    A batch is a dict with ``input_ids`` and ``position_ids`` (int32, one row),
    ``cu_seqlens`` (int32, the offsets of the windows), ``max_seqlen``, ``num_sequences``
    and ``sequence_ids``. ``ordinals`` (int64) are the indices of the records over all
    files. ``starts`` (int64) are the offsets of the windows in their records. ``lengths``
    (int64) are the lengths of the whole records, without a final ``*`` that ``Tokens``
    drops. ``keep`` (int32, two columns) is the range of residues in each window that is
    used when the windows of a record are merged.

    Args:
        files: One or more files or patterns.
        tokens: ``Tokens``, a Hugging Face tokenizer, or a function of one sequence (bytes),
            called in Python for each window. None means ``Tokens("esm2")``.
        max_tokens: The maximum number of tokens in a batch.
        window: The minimum number of waiting records, or windows of records, from which a
            batch is chosen. A larger window fills batches better but needs more memory.
        max_length: The maximum length of a window; longer records are split. With None,
            records are not split, and a record with more than ``max_tokens`` tokens raises
            an error.
        overlap: The number of residues that neighbouring windows share. When window results
            are merged, the result of a residue is taken from the window in which the
            residue is farther from an end.
        records: A range (first, stop) of the records of a single file, read through an
            index; a missing index is built.
        empty: ``"error"`` raises for a record without residues; ``"keep"`` packs only its
            special tokens.
        num_threads: The number of threads; None or 0 uses all cores. With a single thread,
            batches are not read ahead.
        quality: The encoding of quality characters in FASTQ.
        comments: ``"skip"`` ignores FASTA lines that begin with ``;`` or ``#``.
        whitespace: ``"strip"`` removes blanks within FASTA sequences.
        ids: ``"number"`` uses the record's index as its id if the header is empty.

    Raises:
        ArgumentError: An argument is invalid, or contradicts another one.
        FileError: A file is missing, or is a pipe.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("p.fa").write_text(">a\\nMKTV\\n>b\\nMK\\n>c\\nMKT\\n")
        >>> for batch in PackedStream("p.fa", max_tokens=10):
        ...     batch["sequence_ids"], batch["cu_seqlens"].tolist()
        (['a', 'b'], [0, 6, 10])
        (['c'], [0, 5])
    """

    def __init__(
        self,
        files: Paths,
        tokens: Any = None,
        *,
        max_tokens: int = 4096,
        window: int = 256,
        max_length: int | None = None,
        overlap: int = 0,
        records: tuple[int, int] | None = None,
        empty: str = "error",
        num_threads: int | None = None,
        quality: str = "phred33",
        comments: str = "error",
        whitespace: str = "error",
        ids: str = "error",
    ) -> None:
        self.paths = expand_paths(files)
        for path in self.paths:
            check_rereadable(path)
        self.max_tokens = check_integer("max_tokens", max_tokens, least=1, most=_MAX_INT32)
        self.window = check_integer("window", window, least=1)
        self.max_length, self.overlap = max_length, check_integer("overlap", overlap)
        self.records = _check_range(records, self.paths)
        self.empty = as_choice("empty", empty, ("error", "keep"))
        self.num_threads = num_threads
        self._threads = count_threads(num_threads)
        self._read_options = _read_options(
            quality=quality, comments=comments, whitespace=whitespace, ids=ids
        )
        self._tokens, self._tokeniser = tokens, Tokeniser.of(tokens)
        self._check_windows()
        # The position of the last iteration, and the start of the next.
        self._progress, self._resume_from = self._first_position(), self._first_position()
        self._digests: list[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, which creates the tokeniser again."""
        return {name: it for name, it in vars(self).items() if name != "_tokeniser"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._tokeniser = Tokeniser.of(self._tokens)

    @property
    def content(self) -> str | None:
        """A hash (xxh3) of all ids and sequences; None until the last record is read."""
        content = self._progress.content
        return None if content is None else format_hash(content)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        progress = self._progress = self._resume_from
        self._resume_from = self._first_position()
        if progress.is_done:
            return
        native = progress.native = self._open_native(progress.start)
        try:
            while (columns := _next_batch(native)) is not None:
                progress.position += 1
                yield self._make_batch(columns)
            self._raise_rejection(native)
            progress.content = native.content()
            progress.is_done = True
        finally:
            native.close()

    def state_dict(self) -> dict[str, Any]:
        """Return the current position as a dict of JSON values.

        The state contains the numbers of the windows that wait to be packed. A resumed
        stream reads the records of these windows again. The stream finds these records
        through the index of the file; without an index, it reads the file from its
        beginning. Records that were already packed are not tokenised again.

        Returns:
            The state, for ``load_state_dict``.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("p.fa").write_text(">a\\nMKTV\\n>b\\nMK\\n>c\\nMKT\\n")
            >>> stream = PackedStream("p.fa", max_tokens=10)
            >>> _ = next(iter(stream))
            >>> stream.state_dict()["position"]
            1
        """
        is_loaded = self._resume_from.position > 0 or self._resume_from.is_done
        progress = self._resume_from if is_loaded else self._progress
        return progress.save(self._identity())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume the next iteration at a saved position.

        Args:
            state: A result of ``state_dict``, from any process, with any number of threads.

        Raises:
            ArgumentError: The state is incomplete, or was saved with other files or
                settings.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("p.fa").write_text(">a\\nMKTV\\n>b\\nMK\\n>c\\nMKT\\n")
            >>> first, second = (PackedStream("p.fa", max_tokens=10) for _ in range(2))
            >>> _ = next(iter(first))
            >>> second.load_state_dict(first.state_dict())
            >>> [batch["sequence_ids"] for batch in second]
            [['c']]
        """
        self._resume_from = StreamProgress.load(state, self._identity())
        self._progress = self._resume_from

    def __str__(self) -> str:
        shown = f"{', '.join(self.paths[:3])}{', ...' * (len(self.paths) > 3)}"  # noqa: PLR2004 - shown
        return f"{shown}: batches of at most {self.max_tokens:,} tokens"

    def __repr__(self) -> str:
        return f"PackedStream({self})"

    def _repr_html_(self) -> str:
        """Return the stream as HTML for a notebook."""
        return description_html("PackedStream", str(self), self.paths)

    def _check_windows(self) -> None:
        if self.max_length is None:
            if self.overlap:
                raise ArgumentError(f"overlap={self.overlap} needs max_length=, got None")
            return
        check_integer("max_length", self.max_length, least=1)
        if self.overlap >= self.max_length:
            raise ArgumentError(
                f"overlap must be below max_length={self.max_length}, got {self.overlap}"
            )
        self._tokeniser.check_windows(self.max_length, self.max_tokens)

    def _first_position(self) -> StreamProgress:
        return StreamProgress.first(0 if self.records is None else self.records[0])

    def _open_native(self, place: StreamPosition) -> _native.PackedStream:
        index = self._open_index(place)
        return _native.PackedStream(
            list(self.paths),
            None if index is None else index.native,
            self._tokeniser.kernel,
            self._tokeniser.function,
            place,
            max_tokens=self.max_tokens,
            window=self.window,
            max_length=self.max_length,
            overlap=self.overlap,
            keeps_empty=self.empty == "keep",
            stop=None if self.records is None else self.records[1],
            threads=self._threads,
            **self._read_options,
        )

    def _open_index(self, place: StreamPosition) -> SequenceIndex | None:
        """Return the index for reading from a position; None if it is not needed."""
        file, record, _ = place[0]
        if self.records is not None:
            index = open_index(self.paths[0], self.num_threads)
            if self.records[1] > len(index):
                raise OutOfRangeError(
                    f"records ends at {self.records[1]:,}, but {index.path} has only "
                    f"{len(index):,} records"
                )
            return index
        # The offsets of an index are valid only for the default settings.
        options = self._read_options
        is_clean = options["comments"] == options["whitespace"] == "error"
        is_found = record > 0 and is_clean and options["ids"] == "error"
        return open_existing_index(self.paths[file]) if is_found else None

    def _make_batch(self, columns_of_batch: tuple[Any, ...]) -> dict[str, Any]:
        (tokens, positions), bounds, longest, names, columns, keep, _ = columns_of_batch
        ordinals, starts, lengths = columns
        return {
            "input_ids": tokens.view(np.int32),
            "position_ids": positions.view(np.int32),
            "cu_seqlens": bounds,
            "max_seqlen": longest,
            "num_sequences": ordinals.size,
            "sequence_ids": Ids(names.to_list, ordinals.size),
            "ordinals": ordinals,
            "starts": starts,
            "lengths": lengths,
            "keep": keep.reshape(-1, 2),
        }

    def _raise_rejection(self, native: _native.PackedStream) -> None:
        refusal = native.refusal()
        if refusal is not None:
            function = self._tokeniser.function
            fault = None if function is None else function.fault
            raise_rejection(refusal, self.paths, max_tokens=self.max_tokens, fault=fault)

    def _identity(self) -> dict[str, Any]:
        """Return the files and settings that must equal those of a saved state."""
        if self._digests is None:
            self._digests = [digest_file(path) for path in self.paths]
        return {
            "files": self._digests,
            "tokens": self._tokeniser.name,
            "max_tokens": self.max_tokens,
            "window": self.window,
            "max_length": self.max_length,
            "overlap": self.overlap,
            "records": None if self.records is None else [*self.records],
            "empty": self.empty,
            **self._read_options,
        }


def _next_batch(native: _native.PackedStream) -> Any:
    """Wait for the next batch; add a hint to the error for a header without an id."""
    try:
        return native.next()
    except FormatError as error:
        add_remedy(error)
        raise


def _read_options(**options: str) -> dict[str, str]:
    ReadSettings(**options)  # pyright: ignore[reportArgumentType] - checked there
    return options


def _check_range(records: Any, paths: tuple[str, ...]) -> tuple[int, int] | None:
    if records is None:
        return None
    if len(paths) != 1:
        raise ArgumentError(
            f"records={records!r} needs a single file, but there are {len(paths)} files"
        )
    try:
        first, stop = records
    except (TypeError, ValueError):
        raise ArgumentError(
            f"records must be a pair (first, stop) of record numbers; got {records!r}"
        ) from None
    first = check_integer("the start of records", first)
    return first, check_integer("the stop of records", stop, least=first)


def raise_rejection(
    refusal: Any, paths: tuple[str, ...], *, max_tokens: int, fault: BaseException | None
) -> NoReturn:
    """Raise the error for a rejected record, with its file and a hint."""
    file, record, header, letters, kind, tokens, found = refusal
    path: str = paths[int(file)]
    name = headers_to_ids(Ragged.from_list([header]))[0]
    where = f"{path}: record {record} ({name})"
    if kind == "letter":
        raise _residue_error(found, (path, record), name) from None
    if kind == "other":
        raise _name_record(fault, where) from None
    if kind == "empty":
        raise _empty_record_error(where, path, record)
    raise _long_record_error(where, (letters, tokens), max_tokens)


def _empty_record_error(where: str, path: str, record: int) -> FormatError:
    return FormatError(
        f"{where}: no residues, expected at least one; remove the record from "
        'the file (PackedStream(..., empty="keep") packs such records)',
        path=path,
        record=record,
    )


def _long_record_error(where: str, sizes: tuple[int, int], max_tokens: int) -> ShapeError:
    letters, tokens = sizes
    return ShapeError(
        f"{where}: {letters:,} residues are {tokens:,} tokens, more than "
        f"max_tokens={max_tokens:,}: pass max_tokens={tokens} or more, or max_length= with "
        "overlap= to split long records into windows"
    )


def _residue_error(
    found: tuple[int, int, str], at: tuple[str, int], name: str
) -> AlphabetError:
    position, letter, expected = found
    error = AlphabetError("", position=position, character=chr(letter), expected=expected)
    return add_file_position(error, at, name, augmented=False)


def _name_record(fault: BaseException | None, where: str) -> BaseException:
    """Return the error of a custom tokeniser, with the record that it tokenised."""
    if fault is None:
        return ShapeError(f"{where}: the tokens function returned no tokens")
    fault.add_note(where)
    return fault
