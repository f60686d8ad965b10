"""``seqloom convert``: another container, another format, a selection."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators
from rich.console import Console

from seqloom.cli._meter import metered
from seqloom.cli._options import Count, Threads
from seqloom.cli._selection import Encoding, KeepOptions, Selection
from seqloom.errors import FileError

Level = Annotated[int, Parameter(validator=validators.Number(gte=0, lte=9))]


def _check_place(kind: object, name: str) -> None:
    """Takes - for a stream; a misspelt option is no file."""
    del kind  # part of the protocol
    if name.startswith("-") and name != "-":
        raise ValueError(f"Unknown option: {name}; a file of that name is ./{name}.")


_PLACE = Parameter(allow_leading_hyphen=True, validator=_check_place)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Says how IN is to be read.

    Args:
        quality: How FASTQ's qualities are written; they are kept as they are.
        on_error: At a fault in a record: stop, or leave it out and count it.
        comments: Lines of FASTA that begin with ; or #: an error, or left out.
        whitespace: Blanks among letters of FASTA: an error, or left out.
    """

    quality: Encoding = "phred33"
    on_error: Literal["raise", "skip"] = "raise"
    comments: Literal["error", "skip"] = "error"
    whitespace: Literal["error", "strip"] = "error"


KEEP_DEFAULTS = KeepOptions()
READ_DEFAULTS = ReadOptions()


def convert(
    source: Annotated[str, _PLACE, Parameter(name="IN")],
    target: Annotated[str, _PLACE, Parameter(name="OUT")],
    /,
    *,
    format: Literal["fasta", "fastq"] | None = None,  # noqa: A002 - the option's name
    compression: Literal["none", "gzip", "bgzip"] | None = None,
    keep: KeepOptions = KEEP_DEFAULTS,
    read: ReadOptions = READ_DEFAULTS,
    line_width: Count = 60,
    level: Level = 6,
    threads: Threads | None = None,
    overwrite: bool = False,
) -> None:
    """Write a sequence file anew: another container or format, or some of its records.

    Example: seqloom convert reads.fq.gz long.fa.bgz --min-length 100

    Args:
        source: A sequence file, or - for standard input.
        target: The file to write, whole or not at all; - is standard output.
        format: What OUT is written in; otherwise by its name.
        compression: What OUT is packed in; otherwise by its name (.gz, .bgz).
        keep: Which records are kept.
        read: How IN is read.
        line_width: Letters a line of FASTA.
        level: How hard to compress, from 0 to 9.
        threads: Threads to use; otherwise as many as the machine allows.
        overwrite: Replace OUT where it is there already.
    """
    from seqloom.io import write_sequences

    if not overwrite:
        _check_free(target)
    selection = Selection(keep, read.quality)
    progress = Console(stderr=True)
    with metered(source, progress, num_threads=threads, **asdict(read)) as reader:
        written = write_sequences(
            target,
            selection.of(reader),
            format=format or (reader.format if target == "-" else None),
            compression=compression,
            line_width=line_width,
            level=level,
            num_threads=threads,
        )
    console = Console(stderr=target == "-", markup=False, highlight=False, emoji=False)
    for line in selection.report(written, reader):
        console.print(line)


def _check_free(target: str) -> None:
    """Refuses to replace a file: two mates given as IN and OUT would lose the second."""
    if target != "-" and Path(target).is_file():
        raise FileError(f"{target}: is there already; --overwrite replaces it")
