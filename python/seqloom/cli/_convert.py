"""``seqloom convert``: another container, another format, a selection."""

from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from cyclopts import Parameter, validators

from seqloom.cli._machine import open_console
from seqloom.cli._meter import open_with_meter
from seqloom.cli._options import PATH, Count, Files, Flag, Threads
from seqloom.cli._paths import resolve_paths
from seqloom.cli._selection import Encoding, KeepOptions, Selection

Level = Annotated[int, Parameter(validator=validators.Number(gte=0, lte=9))]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Says how IN is to be read.

    Args:
        quality: How FASTQ's qualities are written; they are kept as they are.
        on_error: At a fault in a record: stop, or leave it out and count it.
        comments: Lines of FASTA that begin with ; or #: an error, or left out.
        whitespace: Blanks among letters of FASTA: an error, or left out.
        ids: Headers without a word: an error, or numbered.
    """

    quality: Encoding = "phred33"
    on_error: Literal["raise", "skip"] = "raise"
    comments: Literal["error", "skip"] = "error"
    whitespace: Literal["error", "strip"] = "error"
    ids: Literal["error", "number"] = "error"


KEEP_DEFAULTS = KeepOptions()
READ_DEFAULTS = ReadOptions()


def convert(
    source: Annotated[str, PATH, Parameter(name="IN")],
    target: Annotated[str | None, PATH, Parameter(name="OUT")] = None,
    /,
    *,
    out: Files = (),
    interleaved: Flag = False,
    format: Literal["fasta", "fastq"] | None = None,  # noqa: A002 - the option's name
    compression: Literal["none", "gzip", "bgzip"] | None = None,
    keep: KeepOptions = KEEP_DEFAULTS,
    read: ReadOptions = READ_DEFAULTS,
    line_width: Count = 60,
    level: Level = 6,
    threads: Threads | None = None,
    overwrite: Flag = False,
) -> None:
    """Write a sequence file anew: another container or format, or some of its records.

    Example: seqloom convert reads.fq.gz long.fa.bgz --min-length 100

    Pairs: seqloom convert R1 R2 --out OUT1 OUT2. Their ids are checked, and a pair is kept
    if both of its reads are.

    Args:
        source: A sequence file, or - for standard input.
        target: The file to write, whole or not at all; - is standard output. With --out:
            the file of the second reads.
        out: The files to write, of which neither appears unless both are whole. For
            standard output: --out=-
        interleaved: One file holds both reads of each pair: IN, OUT, or both.
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

    paths = resolve_paths(source, target, out, interleaved=interleaved)
    if not overwrite:
        paths.check_free()
    selection = Selection(keep, read.quality)
    options = {"interleaved": paths.holds_pairs, "num_threads": threads, **asdict(read)}
    with open_with_meter(paths.source, open_console(stderr=True), **options) as reader:
        write_sequences(
            paths.target,
            selection.of(reader),
            format=format or (reader.format if paths.target == "-" else None),
            compression=compression,
            line_width=line_width,
            level=level,
            num_threads=threads,
        )
    console = open_console(stderr=paths.target == "-")
    for line in selection.report(reader):
        console.print(line)
