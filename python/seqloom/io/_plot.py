"""A summary as the panels of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.report import Bars, Lines, Shares

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.io._position import PositionBin
    from seqloom.io._quality import QualitySummary
    from seqloom.io._summary import LengthBin, Summary

_BASES = {"dna": "ACGTN", "rna": "ACGUN"}
_WIDE = 20
_TOP_SCORE = 42


def panels_of(summary: Summary) -> Iterator[Bars | Lines | Shares]:
    """Gives what can be drawn of a file: of FASTQ four panels, of FASTA two."""
    yield _lengths(summary.histogram, is_wide=summary.longest > _WIDE * summary.median)
    if summary.quality is not None:
        yield _qualities(summary.positions, summary.quality)
        yield _means(summary.quality)
    yield _letters(summary)


def bases_of(summary: Summary) -> list[str]:
    """Gives the bases to show: the four, and N where it is met; of proteins none."""
    bases = _BASES.get(summary.alphabet or "", "")
    return [base for base in bases if base != "N" or base in summary.letters]


def shares_of(positions: tuple[PositionBin, ...], letter: str) -> list[float]:
    """Gives a letter's share at each position."""
    return [
        each.letters.get(letter, 0) / max(sum(each.letters.values()), 1)
        for each in positions
    ]


def middles_of(positions: tuple[PositionBin, ...]) -> list[float]:
    """Gives the middle of each bin."""
    return [(each.start + each.stop) / 2 for each in positions]


def _lengths(histogram: tuple[LengthBin, ...], *, is_wide: bool) -> Bars:
    """Shows how lengths are spread."""
    edges = [each.start for each in histogram] + [histogram[-1].stop + 1]
    counts = [each.records for each in histogram]
    edges[0] = max(edges[0], 1) if is_wide else edges[0]
    return Bars("lengths", edges, counts, axis="letters", is_wide=is_wide)


def _qualities(positions: tuple[PositionBin, ...], quality: QualitySummary) -> Lines:
    """Shows quality by position, with the middle half of the scores."""
    read = [each for each in positions if each.quartiles is not None]
    quartiles = [each.quartiles or (0, 0, 0) for each in read]
    low, _, high = (list(column) for column in zip(*quartiles, strict=True))
    means = [each.mean_quality or 0.0 for each in read]
    return Lines(
        f"quality by position, read as {quality.encoding}",
        middles_of(tuple(read)),
        {"mean": means},
        band=("middle half", low, high),
        axis="position",
        top=max(_TOP_SCORE, *high),
    )


def _means(quality: QualitySummary) -> Bars:
    """Shows how the mean qualities of sequences are spread."""
    bins = quality.by_read
    edges = [each.score for each in bins] + [bins[-1].score + 1]
    counts = [each.records for each in bins]
    return Bars("mean quality of a sequence", edges, counts, axis="score")


def _letters(summary: Summary) -> Lines | Shares:
    """Shows bases by position; of proteins, all letters together."""
    if not bases_of(summary):
        total = max(sum(summary.letters.values()), 1)
        shares = {letter: n / total for letter, n in summary.letters.items()}
        return Shares("letters", shares)
    return Lines(
        "composition by position",
        middles_of(summary.positions),
        {base: shares_of(summary.positions, base) for base in bases_of(summary)},
        axis="position",
        is_share=True,
    )
