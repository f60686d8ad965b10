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
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.io import SequenceBatch, SequenceReader

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
    """Keeps some records and counts why others go.

    Args:
        keep: Which records are kept.
        encoding: How qualities are written.
    """

    def __init__(self, keep: KeepOptions, encoding: Encoding) -> None:
        _check(keep)
        self._keep = keep
        self._encoding: Encoding = encoding
        self.dropped = {"too short": 0, "too long": 0, "of low quality": 0}

    def of(self, reader: SequenceReader) -> Iterator[SequenceBatch]:
        """Reads on, and gives what is kept."""
        if self._keep.min_mean_quality is not None and reader.format != "fastq":
            raise ArgumentError(
                f"{reader.path}: --min-mean-quality needs qualities, found FASTA"
            )
        for batch in reader.batches(_BATCH):
            kept = self._judge(batch)
            yield batch if kept.all() else batch.take(kept.nonzero()[0])

    def _judge(self, batch: SequenceBatch) -> NDArray[np.bool_]:
        """Says which records are kept; each that goes is counted once."""
        kept = np.ones(len(batch), np.bool_)
        lengths, keep = batch.sequences.lengths, self._keep
        if keep.min_length is not None:
            self._drop(kept, lengths < keep.min_length, why="too short")
        if keep.max_length is not None:
            self._drop(kept, lengths > keep.max_length, why="too long")
        if keep.min_mean_quality is not None:
            means = batch.mean_quality(self._encoding)
            self._drop(kept, means < keep.min_mean_quality, why="of low quality")
        return kept

    def _drop(self, kept: NDArray[np.bool_], goes: NDArray[np.bool_], *, why: str) -> None:
        """Leaves records out."""
        self.dropped[why] += int((kept & goes).sum())
        kept &= ~goes

    def report(self, written: int, reader: SequenceReader) -> Iterator[str]:
        """Says how many records were written, and what became of the others."""
        read = written + sum(self.dropped.values())
        yield f"read      {read:,}"
        yield f"written   {written:,}"
        for why, number in self.dropped.items():
            if number:
                yield f"dropped   {number:,} {why}"
        for kind, number in reader.report.left_out.items():
            yield f"left out  {number:,} with a fault ({kind})"
