"""Which records `seqloom convert` keeps, and how many it does not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np
from cyclopts import Parameter

from seqloom.cli._options import Count  # noqa: TC001 - read by cyclopts
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from seqloom.io import PairedReader, SequenceBatch, SequenceReader

Encoding: TypeAlias = Literal["phred33", "phred64", "solexa"]
_BATCH = 1 << 14


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class KeepOptions:
    """Says which records are kept.

    Args:
        min_length: Keep sequences of at least so many letters.
        max_length: Keep sequences of at most so many letters.
        min_mean_quality: Keep FASTQ records whose mean score is at least this.
    """

    min_length: Count | None = None
    max_length: Count | None = None
    min_mean_quality: Annotated[float | None, Parameter(negative="")] = None


def _check(keep: KeepOptions) -> None:
    """Refuses what no record can be."""
    least, most = keep.min_length or 0, keep.max_length
    if most is not None and least > most:
        raise ArgumentError(f"--min-length {least} is more than --max-length {most}")
    if keep.min_mean_quality is not None and not math.isfinite(keep.min_mean_quality):
        raise ArgumentError(
            f"--min-mean-quality must be a number, got {keep.min_mean_quality}"
        )


class Selection:
    """Keeps some records and counts why others go."""

    def __init__(self, keep: KeepOptions, encoding: Encoding) -> None:
        _check(keep)
        self._keep = keep
        self._encoding: Encoding = encoding
        self.kept = 0
        self.dropped = {"too short": 0, "too long": 0, "of low quality": 0}

    def of(
        self, reader: SequenceReader | PairedReader
    ) -> Iterator[SequenceBatch | tuple[SequenceBatch, SequenceBatch]]:
        """Reads on, and gives what is kept: of pairs, both reads or none."""
        self._check_qualities(reader)
        for batch in reader.batches(_BATCH):
            mates = batch if isinstance(batch, tuple) else (batch,)
            kept = self._judge(mates)
            self.kept += int(kept.sum())
            rows = kept.nonzero()[0]
            chosen = mates if kept.all() else [mate.take(rows) for mate in mates]
            yield (chosen[0], chosen[1]) if len(chosen) > 1 else chosen[0]

    def _check_qualities(self, reader: SequenceReader | PairedReader) -> None:
        """Refuses to judge by qualities where there are none."""
        if self._keep.min_mean_quality is not None and reader.format != "fastq":
            raise ArgumentError(
                f"{_name(reader)}: --min-mean-quality needs qualities, found FASTA"
            )

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


def _name(reader: SequenceReader | PairedReader) -> str:
    """Names the file that is read, of two the first."""
    from seqloom.io import SequenceReader

    return reader.path if isinstance(reader, SequenceReader) else reader.paths[0]
