"""Writing sequence records: to one file, or first and second reads to two."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from seqloom._arguments import as_choice
from seqloom._files import atomic_path, atomic_paths, check_path
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError
from seqloom.io._columns import to_batches, to_pairs
from seqloom.io._pairs import check_mates
from seqloom.io._settings import check_number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from seqloom.io._columns import Pairs, Records
    from seqloom.io._records import SequenceBatch
    from seqloom.io._settings import Format

Compression: TypeAlias = Literal["none", "gzip", "bgzip"]

_FORMATS = {
    **dict.fromkeys((".fa", ".fas", ".fasta", ".faa", ".ffn", ".fna"), "fasta"),
    **dict.fromkeys((".fastq", ".fq"), "fastq"),
}
_CONTAINERS = {".bgz": "bgzip", ".gz": "gzip"}
_READ_ONLY = {".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
_HIGHEST = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The checked options of `write_sequences` for one file."""

    format: str
    compression: str
    line_width: int | None
    level: int
    threads: int

    def __post_init__(self) -> None:
        as_choice("format", self.format, ("fasta", "fastq"))
        as_choice("compression", self.compression, ("none", "gzip", "bgzip"))
        if self.line_width is not None:
            check_number("line_width", self.line_width)
        check_number("level", self.level, least=0)
        if self.level > _HIGHEST:
            raise ArgumentError(f"level must be from 0 to {_HIGHEST}, got {self.level}")


def _find_format(name: str) -> str:
    """Returns the format that a file's name says."""
    *_, suffix, last = ["", "", *PurePath(name).suffixes]
    found = _FORMATS.get((suffix if last.lower() in _CONTAINERS else last).lower())
    if found is None:
        raise ArgumentError(
            f"{name}: cannot tell the format from the name; use one that ends in .fa, "
            ".fasta, .fq or .fastq (and .gz or .bgz), or name the format: fasta or fastq"
        )
    return found


def _find_compression(name: str) -> str:
    """Returns the compression that a file's name says; refuses one we cannot write."""
    suffix = PurePath(name).suffix.lower()
    if container := _READ_ONLY.get(suffix):
        raise ArgumentError(
            f"{name}: seqloom reads {container} but does not write it; use a name that "
            "ends in .gz or .bgz, or name the compression: none, gzip or bgzip"
        )
    return _CONTAINERS.get(suffix, "none")


Target: TypeAlias = str | os.PathLike[str]


def write_sequences(  # noqa: PLR0913 - each is one way in which files differ
    path: Target | tuple[Target, Target],
    records: Records | Pairs,
    *,
    format: Format | None = None,  # noqa: A002 - the word that everybody uses for it
    compression: Compression | None = None,
    line_width: int | None = 60,
    level: int = 6,
    num_threads: int | None = None,
) -> int:
    """Writes sequence records to a file, which appears only when it is complete.

    The written file reads back as the same records, headers and qualities byte for byte;
    records that the reader would refuse are an error.

    Args:
        path: The file; ``"-"`` is standard output. A pair of files takes first and second
            reads; neither file appears unless both are complete.
        records: A reader, a batch, or an iterable of records, of batches, of
            ``(id, sequence)`` or of ``(id, sequence, quality)``. An id may be followed by
            a blank and a description. Or pairs: a reader of pairs, or an iterable of pairs
            of records or of batches; in one file their reads alternate.
        format: ``"fasta"`` or ``"fastq"``; None: by the name (``.fa``, ``.fas``,
            ``.fasta``, ``.fna``, ``.faa``, ``.ffn``, ``.fq``, ``.fastq``). FASTA has no
            qualities: they are left out.
        compression: ``"none"``, ``"gzip"`` or ``"bgzip"``; None: by the name (``.gz`` is
            gzip, ``.bgz`` bgzip, ``.bz2``, ``.xz`` and ``.zst`` an error, all others none).
        line_width: Letters in a line of FASTA; None: each sequence in one line.
        level: Compression level, from 0 (none) to 9 (smallest file).
        num_threads: Number of threads that compress; None or 0: all cores.

    Returns:
        The number of records written; the number of pairs for a pair of files.

    Raises:
        ArgumentError: The name does not say the format or the compression, or ``records``
            holds something else than records.
        FileError: The file cannot be written.
        FormatError: A record would not read back the same, or the two reads of a pair have
            different ids.

    Examples:
        >>> write_sequences("two.fa.gz", [("a first", "ACGT"), ("b", "GG")])
        2
        >>> from seqloom.io import open_sequences
        >>> with open_sequences("two.fa.gz") as reader:
        ...     write_sequences("again.fa", reader)
        2
        >>> from pathlib import Path
        >>> Path("again.fa").read_text()
        '>a first\\nACGT\\n>b\\nGG\\n'
        >>> _ = Path("both.fa").write_text(">a/1\\nAC\\n>a/2\\nGT\\n")
        >>> with open_sequences("both.fa", interleaved=True) as reader:
        ...     write_sequences(("r1.fa", "r2.fa"), reader)
        1
        >>> Path("r2.fa").read_text()
        '>a/2\\nGT\\n'
    """
    files = path if isinstance(path, tuple) else (path,)
    names = [check_path("path", file, one="one file, or a pair of paths") for file in files]
    outputs = [
        Output(
            compression=compression or _find_compression(name),
            format=format or _find_format(name),
            line_width=line_width,
            level=level,
            threads=count_threads(num_threads),
        )
        for name in names
    ]
    if isinstance(path, tuple):
        _check_two(names)
        return _write_pairs(names, cast("Pairs", records), outputs)
    return _write_one(names[0], cast("Records", records), output=outputs[0])


def _write_one(name: str, records: Records, *, output: Output) -> int:
    """Writes one file, or to standard output."""
    if name == "-":
        return _write(name, records, output=output, file=sys.stdout.buffer)
    with atomic_path(name) as part:
        return _write(name, records, output=output, part=part)


def _write(
    name: str,
    records: Records,
    *,
    output: Output,
    part: Path = Path(),
    file: BinaryIO | None = None,
) -> int:
    """Writes to a temporary path, or to a file object."""
    writer = _native.SequenceWriter(part, file, name=name, **asdict(output))
    for batch in to_batches(records):
        _write_batch(writer, batch)
    return writer.finish()


def _write_batch(writer: _native.SequenceWriter, batch: SequenceBatch) -> None:
    """Hands all records of a batch to a writer."""
    headers, sequences, qualities = batch.headers, batch.sequences, batch.qualities
    writer.write(
        headers.data,
        headers.offsets,
        sequences.data,
        sequences.offsets,
        None if qualities is None else (qualities.data, qualities.offsets),
    )


_TWO = 2


def _check_two(names: Sequence[str]) -> None:
    """Refuses two targets that cannot be written at the same time."""
    if len(names) != _TWO:
        raise ArgumentError(
            f"path must be one file or a pair of two, got {len(names)} files"
        )
    if "-" in names:
        raise ArgumentError(
            "-: standard output is one file, but a pair is two: name both files, or give "
            "one path for reads that alternate"
        )
    if len(set(map(os.path.realpath, names))) < _TWO:
        raise ArgumentError(f"{names[0]}: both paths are the same file; name two files")


def _write_pairs(names: Sequence[str], pairs: Pairs, outputs: Sequence[Output]) -> int:
    """Writes two files; neither appears unless both are complete."""
    count = 0
    with atomic_paths(names) as parts:
        writers = [
            _native.SequenceWriter(part, None, name=name, **asdict(output))
            for part, name, output in zip(parts, names, outputs, strict=True)
        ]
        for pair in to_pairs(pairs):
            check_mates(pair, paths=tuple(names), start=count)
            for writer, batch in zip(writers, pair, strict=True):
                _write_batch(writer, batch)
            count += len(pair[0])
        for writer in writers:
            writer.finish()
    return count
