"""Opening sequence files: one, two that go together, or one that holds pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, overload

from seqloom._arguments import as_flag
from seqloom.errors import ArgumentError
from seqloom.io._mates import Alternating, TwoFiles
from seqloom.io._origin import is_same_file
from seqloom.io._pairs import PairedReader
from seqloom.io._reader import SequenceReader
from seqloom.io._settings import Settings

if TYPE_CHECKING:
    from seqloom.io._origin import Origin
    from seqloom.io._settings import Comments, Format, IdRule, OnError, Quality, Whitespace

_TWO = 2


class Options(TypedDict, total=False):
    """Names what a file is read with, as `open_sequences` describes it."""

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

    Format and container (gzip, bgzip, bzip2, xz, zstd) are told from the content, not from
    the name. What is wrong with a file is an error that names file, record, line and byte;
    nothing is left out unless asked for.

    Args:
        path: The file: its path, ``"-"`` for standard input, or a file object in binary
            mode, which is read from where it stands and stays open. A pair of them: two
            files that hold first and second reads in the same order.
        format: What the file must be (``"fasta"``, ``"fastq"``); None takes what it is.
        quality: How FASTQ's qualities are written: ``"phred33"``, ``"phred64"`` or
            ``"solexa"``. A letter that the encoding does not have is an error; which
            encodings are possible, `inspect` tells.
        on_error: ``"raise"`` at the first fault in a record, or go on with the next:
            ``"skip"`` counts in ``reader.report`` what was left out, ``"collect"`` keeps
            the faults there too. Damaged compressed data always raises.
        comments: Whether lines of FASTA before the first header, or before any other,
            that begin with ``;`` or ``#`` are an ``"error"``, or ``"skip"``.
        whitespace: Whether blanks among the letters of FASTA are an ``"error"``, or
            ``"strip"``.
        ids: Whether a header without a word is an ``"error"``, or the record's ``"number"``
            in the file, from 0 on, becomes its id.
        interleaved: Whether first and second reads alternate in the file.
        expect: How many records the file must hold (of pairs: how many pairs). It finds
            what the bytes cannot tell: a file that was cut between two records.
        max_record: The longest sequence that is read; by default 64 Mi letters for FASTQ
            and no limit for FASTA.
        require_eof: Whether bgzip must end with the block that says so.
        num_threads: How many threads may unpack; None: as many as the machine allows.

    Returns:
        A reader at the first record; of pairs, one that gives both reads at once.

    Raises:
        MissingFileError: There is no such file.
        FileError: It is a folder or may not be read.
        FormatError: It is empty, no sequence file, or not of the wanted format.
        ArgumentError: An option has no such value, or options exclude each other.

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
    settings = Settings(
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
            raise ArgumentError(f"a pair is two files, got {len(path)}")
        return _open_two(path, settings, interleaved=interleaved)
    return _open_pairs(path, settings) if interleaved else SequenceReader(path, settings)


def _open_two(
    paths: tuple[Origin, Origin], settings: Settings, *, interleaved: bool
) -> PairedReader:
    """Opens two files that go together."""
    if interleaved:
        raise ArgumentError("interleaved=True is for one file, got two")
    if is_same_file(*paths):
        raise ArgumentError(
            f"{paths[0]}: both files are the same one; reads that alternate in one file "
            "need interleaved=True"
        )
    _check_pairs(settings)
    first = SequenceReader(paths[0], settings)
    try:
        return PairedReader(TwoFiles(first, SequenceReader(paths[1], settings)))
    except BaseException:
        first.close()
        raise


def _open_pairs(path: Origin, settings: Settings) -> PairedReader:
    """Opens one file that holds pairs."""
    _check_pairs(settings)
    expect = None if settings.expect is None else 2 * settings.expect
    return PairedReader(Alternating(SequenceReader(path, replace(settings, expect=expect))))


def _check_pairs(settings: Settings) -> None:
    """Refuses what would part mates."""
    if settings.on_error != "raise":
        raise ArgumentError(
            f"on_error={settings.on_error!r} would leave reads out and part them from "
            "their mates; pairs need on_error='raise'"
        )
