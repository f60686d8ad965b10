"""Writing sequence records."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom._files import atomic_path
from seqloom._rust import _native
from seqloom._threads import thread_count
from seqloom.io._columns import to_batches
from seqloom.io._form import Form, compression_of, format_of

if TYPE_CHECKING:
    from typing import BinaryIO

    from seqloom.io._columns import Records
    from seqloom.io._form import Compression
    from seqloom.io._settings import Format


def write_sequences(  # noqa: PLR0913 - each is one way in which files differ
    path: str | os.PathLike[str],
    records: Records,
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
        path: The file; ``"-"`` is standard output.
        records: A reader, a batch, or an iterable of records, of batches, of
            ``(id, sequence)`` or of ``(id, sequence, quality)``. An id may go on with a
            blank and a description.
        format: ``"fasta"`` or ``"fastq"``; None: by the name (``.fa``, ``.fas``,
            ``.fasta``, ``.fna``, ``.faa``, ``.ffn``, ``.fq``, ``.fastq``). FASTA leaves
            qualities out.
        compression: ``"none"``, ``"gzip"`` or ``"bgzip"``; None: by the name (``.gz`` is
            gzip, ``.bgz`` bgzip, all others none).
        line_width: Letters a line of FASTA; None: each sequence in one line.
        level: How hard to compress, from 0 (not at all) to 9.
        num_threads: How many threads may compress; None: as many as the machine allows.

    Returns:
        How many records were written.

    Raises:
        ArgumentError: Format or compression cannot be told, or a record is none.
        FileError: The file cannot be written.
        FormatError: A record would not read back as it is.

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
    """
    name = os.fspath(path)
    form = Form(
        format=format or format_of(name),
        compression=compression or compression_of(name),
        line_width=line_width,
        level=level,
        threads=thread_count(num_threads),
    )
    if name == "-":
        return _write(name, records, form=form, file=sys.stdout.buffer)
    with atomic_path(path) as part:
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
        headers, sequences, qualities = batch.headers, batch.sequences, batch.qualities
        writer.write(
            headers.data,
            headers.offsets,
            sequences.data,
            sequences.offsets,
            None if qualities is None else (qualities.data, qualities.offsets),
        )
    return writer.finish()
