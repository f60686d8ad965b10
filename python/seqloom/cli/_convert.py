"""``seqloom convert``: another container, another format, a selection."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from cyclopts import Parameter, validators

from seqloom.cli._console import open_console
from seqloom.cli._convert_files import open_with_meter, resolve_paths
from seqloom.cli._options import PATH, Count, Files, Flag, Threads, takes_options
from seqloom.errors import ArgumentError
from seqloom.io._settings import Quality, TextOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from seqloom.io import PairedReader, SequenceBatch, SequenceReader

_BATCH = 1 << 14
Level = Annotated[int, Parameter(validator=validators.Number(gte=0, lte=9))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions(TextOptions):
    """Says how IN is to be read.

    Args:
        on_error: At a fault in a record: stop, or leave it out and count it.
    """

    on_error: Literal["raise", "skip"] = "raise"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepOptions:
    """Says which records are kept.

    Args:
        min_length: Keep sequences of at least this number of letters.
        max_length: Keep sequences of at most this number of letters.
        min_mean_quality: Keep FASTQ records whose mean score is at least this.
    """

    min_length: Count | None = None
    max_length: Count | None = None
    min_mean_quality: float | None = None


@takes_options()
def convert(
    source: Annotated[str, PATH, Parameter(name="IN")],
    target: Annotated[str | None, PATH, Parameter(name="OUT")] = None,
    /,
    *,
    out: Files = (),
    interleaved: Flag = False,
    format: Literal["fasta", "fastq"] | None = None,  # noqa: A002 - the option's name
    compression: Literal["none", "gzip", "bgzip"] | None = None,
    keep: KeepOptions,
    read: ReadOptions,
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


class Selection:
    """Selects records, and counts why others are dropped."""

    def __init__(self, keep: KeepOptions, encoding: Quality) -> None:
        least, most = keep.min_length or 0, keep.max_length
        if most is not None and least > most:
            raise ArgumentError(f"--min-length {least} is more than --max-length {most}")
        quality = keep.min_mean_quality
        if quality is not None and not math.isfinite(quality):
            raise ArgumentError(f"--min-mean-quality must be a number, got {quality}")
        self._keep = keep
        self._encoding: Quality = encoding
        self.kept = 0
        self.dropped = {"too short": 0, "too long": 0, "of low quality": 0}

    def of(
        self, reader: SequenceReader | PairedReader
    ) -> Iterator[SequenceBatch | tuple[SequenceBatch, SequenceBatch]]:
        """Reads on, and gives what is kept: of pairs, both reads or none."""
        from seqloom.io import SequenceReader

        if self._keep.min_mean_quality is not None and reader.format != "fastq":
            path = reader.path if isinstance(reader, SequenceReader) else reader.paths[0]
            raise ArgumentError(f"{path}: --min-mean-quality needs qualities, found FASTA")
        for batch in reader.batches(_BATCH):
            mates = batch if isinstance(batch, tuple) else (batch,)
            kept = self._judge(mates)
            self.kept += int(kept.sum())
            rows = kept.nonzero()[0]
            chosen = mates if kept.all() else [mate.take(rows) for mate in mates]
            yield (chosen[0], chosen[1]) if len(chosen) > 1 else chosen[0]

    def _judge(self, mates: Sequence[SequenceBatch]) -> NDArray[np.bool_]:
        """Says which records or pairs are kept; each that goes is counted once."""
        kept = np.ones(len(mates[0]), np.bool_)
        lengths, keep = [mate.sequences.lengths for mate in mates], self._keep
        if keep.min_length is not None:
            short = [length < keep.min_length for length in lengths]
            self._drop(kept, short, why="too short")
        if keep.max_length is not None:
            long = [length > keep.max_length for length in lengths]
            self._drop(kept, long, why="too long")
        if keep.min_mean_quality is not None:
            means = [mate.mean_quality(self._encoding) for mate in mates]
            low = [mean < keep.min_mean_quality for mean in means]
            self._drop(kept, low, why="of low quality")
        return kept

    def _drop(
        self, kept: NDArray[np.bool_], goes: Sequence[NDArray[np.bool_]], *, why: str
    ) -> None:
        """Leaves out records, or pairs of which either read goes."""
        gone = np.any(goes, axis=0)
        self.dropped[why] += int((kept & gone).sum())
        kept &= ~gone

    def report(self, reader: SequenceReader | PairedReader) -> Iterator[str]:
        """Says how much was written, and what became of the rest."""
        from seqloom.io import PairedReader

        is_paired = isinstance(reader, PairedReader)
        left_out = {} if is_paired else reader.report.left_out
        what = " pairs" if is_paired else ""
        yield f"read      {self.kept + sum(self.dropped.values()):,}{what}"
        yield f"written   {self.kept:,}{what}"
        for why, number in self.dropped.items():
            if number:
                yield f"dropped   {number:,}{what} {why}"
        for kind, number in left_out.items():
            yield f"left out  {number:,} with a fault ({kind})"
        if not self.kept:
            yield "warning: nothing was kept, and what was written is empty"
