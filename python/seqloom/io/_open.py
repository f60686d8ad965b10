"""Opening sequence files: one, two that go together, or one that holds pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, overload

from seqloom._arguments import as_flag
from seqloom.errors import ArgumentError
from seqloom.io._origin import is_same_file
from seqloom.io._pairs import InterleavedFile, PairedReader, TwoFiles
from seqloom.io._reader import SequenceReader
from seqloom.io._settings import ReadSettings

if TYPE_CHECKING:
    from seqloom.io._origin import Origin
    from seqloom.io._settings import Comments, Format, IdRule, OnError, Quality, Whitespace

_TWO = 2


class Options(TypedDict, total=False):
    """The options of `open_sequences` for one file."""

    format: Format | None
    quality: Quality
    on_error: OnError
    comments: Comments
    whitespace: Whitespace
    ids: IdRule
    expect: int | None
    max_record: int | None
    require_eof: bool
    num_threads: int | None


@overload
def open_sequences(
    path: Origin, *, interleaved: Literal[False] = False, **options: Unpack[Options]
) -> SequenceReader: ...
@overload
def open_sequences(
    path: Origin, *, interleaved: Literal[True], **options: Unpack[Options]
) -> PairedReader: ...
@overload
def open_sequences(
    path: tuple[Origin, Origin], **options: Unpack[Options]
) -> PairedReader: ...
def open_sequences(  # noqa: PLR0913 - each is one way in which files differ
    path: Origin | tuple[Origin, Origin],
    *,
    format: Format | None = None,  # noqa: A002 - the word that everybody uses for it
    quality: Quality = "phred33",
    on_error: OnError = "raise",
    comments: Comments = "error",
    whitespace: Whitespace = "error",
    ids: IdRule = "error",
    interleaved: bool = False,
    expect: int | None = None,
    max_record: int | None = None,
    require_eof: bool = True,
    num_threads: int | None = None,
) -> SequenceReader | PairedReader:
    """Opens a sequence file: FASTA or FASTQ, plain or in any usual container.

    The content decides the format and the container (gzip, bgzip, bzip2, xz, zstd), not the
    name. A fault in the file is an error that names file, record, line and byte; no record
    is left out unless ``on_error`` says so.

    Args:
        path: The file: its path, ``"-"`` for standard input, or a file object in binary
            mode, which is read from its current position and stays open. A pair of files
            holds first and second reads in the same order.
        format: The required format, ``"fasta"`` or ``"fastq"``; None: either.
        quality: The encoding of FASTQ's qualities: ``"phred33"``, ``"phred64"`` or
            ``"solexa"``. A letter that the encoding does not have is an error; `inspect`
            says which encodings a file may have.
        on_error: ``"raise"``: the first fault in a record is an error. ``"skip"``: records
            with a fault are left out and counted in ``reader.report``. ``"collect"``: the
            report has the faults too. Damaged compressed data is always an error.
        comments: ``"error"`` or ``"skip"`` for lines of FASTA that begin with ``;`` or
            ``#`` before a header.
        whitespace: ``"error"`` or ``"strip"`` for blanks among the letters of FASTA.
        ids: ``"error"`` for a header without an id, or ``"number"``: the id is the number
            of the record in the file, from 0 on.
        interleaved: True if first and second reads alternate in the file.
        expect: The number of records (or pairs) that the file must hold. It detects a file
            that was cut between two records, which the bytes alone do not show.
        max_record: The largest number of letters in a sequence; None: 64 Mi letters for
            FASTQ and no limit for FASTA.
        require_eof: Whether a bgzip file without its closing block is an error.
        num_threads: Number of threads that decompress; None or 0: all cores.

    Returns:
        A reader at the first record; for pairs, a reader of both reads.

    Raises:
        MissingFileError: The file does not exist.
        FileError: The path is a folder, or the file may not be read.
        FormatError: The file is empty, not a sequence file, or not of the required format.
        ArgumentError: An option has an unknown value, or two options exclude each other.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("two.fa").write_text(">a first\\nACGT\\nAC\\n>b\\nGG\\n")
        >>> with open_sequences("two.fa") as reader:
        ...     [(record.id, record.sequence) for record in reader]
        [('a', b'ACGTAC'), ('b', b'GG')]
        >>> _ = Path("cut.fq").write_text("@a\\nACGT\\n+\\nIIII\\n@b\\nACGT\\n+\\nII\\n")
        >>> with open_sequences("cut.fq", on_error="skip") as reader:
        ...     len(list(reader)), reader.report.left_out
        (1, {'cut': 1})
    """
    settings = ReadSettings(
        format=format,
        quality=quality,
        on_error=on_error,
        comments=comments,
        whitespace=whitespace,
        ids=ids,
        expect=expect,
        max_record=max_record,
        require_eof=require_eof,
        num_threads=num_threads,
    )
    interleaved = as_flag("interleaved", interleaved)
    if isinstance(path, tuple):
        if len(path) != _TWO:
            raise ArgumentError(
                f"path must be one file or a pair of two, got {len(path)} files"
            )
        return _open_two(path, settings, interleaved=interleaved)
    if not interleaved:
        return SequenceReader(path, settings)
    _check_pairs(settings)
    reads = None if expect is None else 2 * expect
    reader = SequenceReader(path, replace(settings, expect=reads))
    return PairedReader(InterleavedFile(reader))


def _open_two(
    paths: tuple[Origin, Origin], settings: ReadSettings, *, interleaved: bool
) -> PairedReader:
    """Opens a file of first reads and a file of second reads."""
    if interleaved:
        raise ArgumentError(
            "interleaved=True means one file with both reads, got a pair of files"
        )
    if is_same_file(*paths):
        raise ArgumentError(
            f"{paths[0]}: both paths are the same file; for reads that alternate in one "
            "file give its path once, with interleaved=True"
        )
    _check_pairs(settings)
    first = SequenceReader(paths[0], settings)
    try:
        return PairedReader(TwoFiles(first, SequenceReader(paths[1], settings)))
    except BaseException:
        first.close()
        raise


def _check_pairs(settings: ReadSettings) -> None:
    """Refuses options that would separate the reads of a pair."""
    if settings.on_error != "raise":
        raise ArgumentError(
            f"on_error={settings.on_error!r} would leave out single reads of pairs; for "
            "pairs give on_error='raise'"
        )
