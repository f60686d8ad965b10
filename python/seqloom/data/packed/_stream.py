"""Records of files as packed batches: read, turned into tokens and packed by Rust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from seqloom._arguments import as_choice
from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.data._describe import as_html
from seqloom.data._encoder import in_file
from seqloom.data._ids import Ids, ids_of
from seqloom.data._paths import expand, file_digest, index_of, ready_index
from seqloom.data._position import check_integer
from seqloom.data.packed._progress import Progress, hex_of
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

    from seqloom.data.packed._progress import Place
    from seqloom.io import SequenceIndex

    Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


_MOST = (1 << 31) - 1  # cu_seqlens is int32


class PackedStream:
    """Packs the records of files end to end, without padding: files to batches of tokens.

    Threads of Rust read, make tokens and pack; no object of Python is made for a record. A
    batch begins with the record that has waited longest, and takes the longest others that
    still fit, among at least ``window`` that wait; inside it they stand in the order of the
    files. So which batches there are depends on the records and these settings, never on
    threads. With ``max_length`` longer records are cut, and their pieces, which the rest of
    this page calls windows, are packed as records are.

    A batch is a dict: ``input_ids`` and ``position_ids`` (int32, one row), ``cu_seqlens``
    (int32: where windows begin and end), ``max_seqlen``, ``num_sequences``,
    ``sequence_ids``, ``ordinals`` (int64: the number of the record over all files),
    ``starts`` (int64: the first letter of the window in its record), ``lengths`` (int64:
    the letters of the whole record, without a final ``*`` that ``Tokens`` leaves out), and
    ``keep`` (int32, two columns: which letters of the window, counted from its first, a
    merge of all windows takes).

    Args:
        files: A file, a pattern, or several of them.
        tokens: ``Tokens``, which None stands for with ``"esm2"``; a Hugging Face tokenizer;
            or any function of one sequence (bytes), called in Python for each window.
        max_tokens: Tokens in a batch at most.
        window: How many records or pieces wait at least before a batch is chosen among
            them. More make fuller batches and need more memory.
        max_length: Letters in a window at most; a longer record is cut into several. None
            cuts none: a record that a batch cannot hold is an error.
        overlap: Letters that neighbouring windows share. A merge takes each letter from the
            window in which it lies farther from the edge.
        records: The first record of the one file and the one behind the last; read through
            its index, which is made where it is missing.
        empty: ``"error"`` at a record without letters, or ``"keep"`` it: then it is its
            special tokens alone.
        num_threads: Number of threads; None or 0: all cores. With 1 nothing runs ahead.
        quality: What a letter of quality means, for FASTQ.
        comments: ``"skip"`` leaves out lines of FASTA that begin with ``;`` or ``#``.
        whitespace: ``"strip"`` leaves out blanks among the letters of FASTA.
        ids: ``"number"`` gives records whose header has no word their number.

    Raises:
        ArgumentError: An argument has a wrong value, or excludes another one.
        FileError: A file is missing, or it is a pipe.

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
        self.paths = expand(files)
        for path in self.paths:
            check_rereadable(path)
        self.max_tokens = check_integer("max_tokens", max_tokens, least=1, most=_MOST)
        self.window = check_integer("window", window, least=1)
        self.max_length, self.overlap = max_length, check_integer("overlap", overlap)
        self.records = _range_of(records, self.paths)
        self.empty = as_choice("empty", empty, ("error", "keep"))
        self.num_threads = num_threads
        self._threads = count_threads(num_threads)
        self._options = _options(
            quality=quality, comments=comments, whitespace=whitespace, ids=ids
        )
        self._tokens, self._tokeniser = tokens, Tokeniser.of(tokens)
        self._check_windows()
        # Of the iteration that runs or ran last, and of where the next one begins.
        self._progress, self._resume_from = self._beginning(), self._beginning()
        self._digests: list[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs; it makes the kernel of the tokens again."""
        return {name: it for name, it in vars(self).items() if name != "_tokeniser"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._tokeniser = Tokeniser.of(self._tokens)

    @property
    def content(self) -> str | None:
        """A hash (xxh3) of all ids and letters that were read; None before the end."""
        content = self._progress.content
        return None if content is None else hex_of(content)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        progress = self._progress = self._resume_from
        self._resume_from = self._beginning()
        if progress.is_done:
            return
        native = progress.native = self._open(progress.start)
        try:
            while (made := _next_batch(native)) is not None:
                progress.position += 1
                yield self._batch(made)
            self._raise_refusal(native)
            progress.content = native.content()
            progress.is_done = True
        finally:
            native.close()

    def state_dict(self) -> dict[str, Any]:
        """Save which batch comes next, in values that JSON can hold.

        It holds the windows that were read and wait, by number. A stream that goes on reads
        their records again: through the index of the file where there is one, or else from
        the beginning of the file, without making tokens of what was packed.

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
        """Make the next ``iter`` go on where a state was saved.

        Args:
            state: A result of ``state_dict``, of this or another process, with any number
                of threads.

        Raises:
            ArgumentError: The state is incomplete, or was saved with other files or other
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
        self._resume_from = Progress.load(state, self._identity())
        self._progress = self._resume_from

    def __str__(self) -> str:
        shown = f"{', '.join(self.paths[:3])}{', ...' * (len(self.paths) > 3)}"  # noqa: PLR2004 - shown
        return f"{shown}: batches of at most {self.max_tokens:,} tokens"

    def __repr__(self) -> str:
        return f"PackedStream({self})"

    def _repr_html_(self) -> str:
        """Show the stream in a notebook."""
        return as_html("PackedStream", str(self), self.paths)

    def _check_windows(self) -> None:
        """Refuse windows that do not fit."""
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

    def _beginning(self) -> Progress:
        """Stand before the first record."""
        return Progress.first(0 if self.records is None else self.records[0])

    def _open(self, place: Place) -> _native.PackedStream:
        """Begin to read at a place."""
        index = self._index(place)
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
            **self._options,
        )

    def _index(self, place: Place) -> SequenceIndex | None:
        """Find the index that leads to a place; at the beginning none is needed."""
        file, record, _ = place[0]
        if self.records is not None:
            index = index_of(self.paths[0], self.num_threads)
            if self.records[1] > len(index):
                raise OutOfRangeError(
                    f"records end before {self.records[1]:,}, but {index.path} has "
                    f"{len(index):,}"
                )
            return index
        # An index is made with the default settings; with others its places do not apply.
        is_clean = self._options["comments"] == self._options["whitespace"] == "error"
        is_found = record > 0 and is_clean and self._options["ids"] == "error"
        return ready_index(self.paths[file]) if is_found else None

    def _batch(self, made: tuple[Any, ...]) -> dict[str, Any]:
        """Put the columns together."""
        (tokens, positions), bounds, longest, names, columns, keep, _ = made
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

    def _raise_refusal(self, native: _native.PackedStream) -> None:
        """Raise the error of a record that could not be packed, if there was one."""
        refusal = native.refusal()
        if refusal is not None:
            function = self._tokeniser.function
            fault = None if function is None else function.fault
            raise_refusal(refusal, self.paths, max_tokens=self.max_tokens, fault=fault)

    def _identity(self) -> dict[str, Any]:
        """Name what a state belongs to."""
        if self._digests is None:
            self._digests = [file_digest(path) for path in self.paths]
        return {
            "files": self._digests,
            "tokens": self._tokeniser.name,
            "max_tokens": self.max_tokens,
            "window": self.window,
            "max_length": self.max_length,
            "overlap": self.overlap,
            "records": None if self.records is None else [*self.records],
            "empty": self.empty,
            **self._options,
        }


def _next_batch(native: _native.PackedStream) -> Any:
    """Wait for the next batch; an error for a header without an id names what helps."""
    try:
        return native.next()
    except FormatError as error:
        add_remedy(error)
        raise


def _options(**options: str) -> dict[str, str]:
    """Check how files are read."""
    ReadSettings(**options)  # pyright: ignore[reportArgumentType] - judged there
    return options


def _range_of(records: Any, paths: tuple[str, ...]) -> tuple[int, int] | None:
    """Check which records are read."""
    if records is None:
        return None
    if len(paths) != 1:
        raise ArgumentError(
            f"records={records!r} are of one file, but there are {len(paths)} files"
        )
    try:
        first, stop = records
    except (TypeError, ValueError):
        raise ArgumentError(
            f"records must be a pair: the first record and the one behind the last; got "
            f"{records!r}"
        ) from None
    first = check_integer("the first of records", first)
    return first, check_integer("the last of records", stop, least=first)


def raise_refusal(
    refusal: Any,
    paths: tuple[str, ...],
    *,
    max_tokens: int,
    fault: BaseException | None,
) -> NoReturn:
    """Raise the error of a refused record; it names file, record, and what helps."""
    file, record, header, letters, kind, tokens, found = refusal
    path: str = paths[int(file)]
    name = ids_of(Ragged.from_list([header]))[0]
    where = f"{path}: record {record} ({name})"
    if kind == "letter":
        raise _letter(found, (path, record), name) from None
    if kind == "other":
        raise _name_record(fault, where) from None
    if kind == "empty":
        raise _empty(where, path, record)
    raise _long(where, (letters, tokens), max_tokens)


def _empty(where: str, path: str, record: int) -> FormatError:
    """Make the error of a record without letters."""
    return FormatError(
        f"{where}: no letters, expected at least one; take the record out of "
        'the file (PackedStream(..., empty="keep") packs such records)',
        path=path,
        record=record,
    )


def _long(where: str, sizes: tuple[int, int], max_tokens: int) -> ShapeError:
    """Make the error of a record that no batch can hold."""
    letters, tokens = sizes
    return ShapeError(
        f"{where}: {letters:,} letters are {tokens:,} tokens, more than "
        f"max_tokens={max_tokens:,}: pass max_tokens={tokens} or more, or max_length= with "
        "overlap= to cut long records into windows"
    )


def _letter(found: tuple[int, int, str], at: tuple[str, int], name: str) -> AlphabetError:
    """Make the error of a letter that the tokens do not have."""
    position, letter, expected = found
    error = AlphabetError("", position=position, character=chr(letter), expected=expected)
    return in_file(error, at, name, augmented=False)


def _name_record(fault: BaseException | None, where: str) -> BaseException:
    """Add to the error of a user's function the record that it was given."""
    if fault is None:
        return ShapeError(f"{where}: tokens gave no tokens for it")
    fault.add_note(where)
    return fault
