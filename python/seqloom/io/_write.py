"""Writing sequence records."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from seqloom._files import atomic_path, check_path
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.io._columns import to_batches
from seqloom.io._form import Form, compression_of, format_of
from seqloom.io._write_batch import write_batch
from seqloom.io._write_pairs import check_two, write_pairs

if TYPE_CHECKING:
    from typing import BinaryIO

    from seqloom.io._columns import Records
    from seqloom.io._form import Compression
    from seqloom.io._pair_columns import Pairs
    from seqloom.io._settings import Format

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
    """Writes sequence records to a file that is whole or absent.

    What the reader would refuse is refused here: what was written reads back as the same
    records, headers and qualities byte for byte.

    Args:
        path: The file; ``"-"`` is standard output. Two files take first and second reads;
            neither appears unless both are whole.
        records: A reader, a batch, or an iterable of records, of batches, of
            ``(id, sequence)`` or of ``(id, sequence, quality)``. An id may go on with a
            blank and a description. Or pairs: a reader of pairs, or an iterable of pairs
            of records or of batches; one file takes their reads in turn.
        format: ``"fasta"`` or ``"fastq"``; None: by the name (``.fa``, ``.fas``,
            ``.fasta``, ``.fna``, ``.faa``, ``.ffn``, ``.fq``, ``.fastq``). FASTA leaves
            qualities out.
        compression: ``"none"``, ``"gzip"`` or ``"bgzip"``; None: by the name (``.gz`` is
            gzip, ``.bgz`` bgzip, ``.bz2``, ``.xz`` and ``.zst`` an error, all others none).
        line_width: Letters a line of FASTA; None: each sequence in one line.
        level: How hard to compress, from 0 (not at all) to 9.
        num_threads: How many threads may compress; None: as many as the machine allows.

    Returns:
        How many records were written; how many pairs, where there are two files.

    Raises:
        ArgumentError: Format or compression cannot be told, or a record is none.
        FileError: The file cannot be written.
        FormatError: A record would not read back as it is, or the two reads of a pair have
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
    names = [check_path("path", each, one="one file, or a pair of them") for each in files]
    forms = [
        Form(
            compression=compression or compression_of(name),
            format=format or format_of(name),
            line_width=line_width,
            level=level,
            threads=count_threads(num_threads),
        )
        for name in names
    ]
    if isinstance(path, tuple):
        check_two(names)
        return write_pairs(names, cast("Pairs", records), forms)
    return _write_one(names[0], cast("Records", records), form=forms[0])


def _write_one(name: str, records: Records, *, form: Form) -> int:
    """Writes one file, or to standard output."""
    if name == "-":
        return _write(name, records, form=form, file=sys.stdout.buffer)
    with atomic_path(name) as part:
        return _write(name, records, form=form, part=part)


def _write(
    name: str,
    records: Records,
    *,
    form: Form,
    part: Path = Path(),
    file: BinaryIO | None = None,
) -> int:
    """Writes to a part that will be the file, or to a file object."""
    writer = _native.SequenceWriter(part, file, name=name, **asdict(form))
    for batch in to_batches(records):
        write_batch(writer, batch)
    return writer.finish()
