"""Histograms of qualities, residues and lengths of a sequence file, and their plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.report import Plot, Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._rust import _native

# (character of score 0, lowest character) of each encoding; the highest character is
# always ~.
ZERO_CHARACTERS = {"phred33": ord("!"), "phred64": ord("@"), "solexa": ord("@")}
LOWEST_CHARACTERS = {"phred33": ord("!"), "phred64": ord("@"), "solexa": ord(";")}


@dataclass(frozen=True, slots=True)
class QualityBin:
    """A bin of sequences whose mean quality is in [``score``, ``score + 1``).

    Args:
        score: Mean quality score of the sequences, rounded down.
        records: Number of sequences.

    Examples:
        >>> QualityBin(38, 3).records
        3
    """

    score: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QualitySummary:
    """Summary of the qualities of a FASTQ file.

    Args:
        encoding: Quality encoding that was used to read the file.
        lowest: Lowest quality character in the file.
        highest: Highest quality character in the file.
        possible: Quality encodings that contain all quality characters of the file. Several
            encodings often fit, because they share most characters.
        mean: Mean quality score of all residues, decoded with ``encoding``.
        by_read: Histogram of the mean quality scores of the sequences.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.io import inspect
        >>> _ = Path("a.fq").write_text("@a\\nACGT\\n+\\nIII?\\n")
        >>> found = inspect("a.fq").quality
        >>> found.lowest, found.highest, found.mean
        ('?', 'I', 37.5)
        >>> found.possible
        ('phred33', 'solexa')
    """

    encoding: str
    lowest: str
    highest: str
    possible: tuple[str, ...]
    mean: float
    by_read: tuple[QualityBin, ...]


def summarise_quality(
    letters: NDArray[np.int64], means: NDArray[np.int64], *, encoding: str
) -> QualitySummary | None:
    """Summarise the qualities from the counts of quality characters and of mean scores."""
    met = letters.nonzero()[0]
    if not met.size:
        return None
    scores = np.arange(letters.size) - ZERO_CHARACTERS[encoding]
    reads = means.nonzero()[0]
    return QualitySummary(
        encoding=encoding,
        lowest=chr(met[0]),
        highest=chr(met[-1]),
        possible=tuple(
            name
            for name in ("phred33", "phred64", "solexa")
            if met[0] >= LOWEST_CHARACTERS[name]
        ),
        mean=float(letters @ scores / letters.sum()),
        by_read=tuple(
            QualityBin(int(letter) - ZERO_CHARACTERS[encoding], int(means[letter]))
            for letter in range(reads[0], reads[-1] + 1)
        ),
    )


_MAX_PLOTTED_SCORE = 42
_QUANTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBin:
    """Residues and qualities at positions ``start`` to ``stop`` (inclusive, from 0).

    Args:
        start: First position of the bin.
        stop: Last position of the bin.
        letters: Count of each residue, ignoring case; ``"-"`` counts all characters
            outside A to Z, such as gaps.
        mean_quality: Mean quality score; None for FASTA.
        quartiles: Lower quartile, median and upper quartile of the quality scores; None for
            FASTA.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.io import inspect
        >>> _ = Path("a.fq").write_text("@a\\nAC\\n+\\nII\\n@b\\nAG\\n+\\nI+\\n")
        >>> last = inspect("a.fq").positions[-1]
        >>> last.start, last.letters, last.mean_quality
        (1, {'C': 1, 'G': 1}, 25.0)
    """

    start: int
    stop: int
    letters: dict[str, int]
    mean_quality: float | None = None
    quartiles: tuple[int, int, int] | None = None


def bin_positions(
    profile: _native.SequenceProfile, longest: int, *, encoding: str
) -> tuple[PositionBin, ...]:
    """Convert the counts at each position to bins."""
    letters, width = profile.letters.astype(np.int64), profile.width
    qualities = profile.qualities.astype(np.int64)
    zero = ZERO_CHARACTERS[encoding]
    return tuple(
        PositionBin(
            start=i * width,
            stop=min((i + 1) * width, longest) - 1,
            letters={
                chr(column + 64) if column else "-": int(row[column])
                for column in np.roll(row.nonzero()[0], -1 if row[0] else 0).tolist()
            },
            **(_describe_scores(qualities[i], zero) if i < len(qualities) else {}),
        )
        for i, row in enumerate(letters)
    )


def _describe_scores(counts: NDArray[np.int64], zero: int) -> dict[str, Any]:
    """Return the mean and quartiles of the quality scores in one bin."""
    below = counts.cumsum()
    total = int(below[-1])
    if not total:
        return {}
    quartiles = [int(np.searchsorted(below, share * total)) - zero for share in _QUANTILES]
    mean = float(counts @ np.arange(counts.size)) / total - zero
    return {"mean_quality": mean, "quartiles": tuple(quartiles)}


@dataclass(frozen=True, slots=True)
class LengthBin:
    """A bin of sequences with ``start`` to ``stop`` residues (inclusive).

    Args:
        start: Smallest length in the bin.
        stop: Largest length in the bin.
        records: Number of sequences.

    Examples:
        >>> LengthBin(1, 10, 3).records
        3
    """

    start: int
    stop: int
    records: int


def plot_lengths(histogram: tuple[LengthBin, ...], *, is_log: bool) -> Plot:
    """Plot a histogram of sequence lengths."""
    edges = [part.start for part in histogram] + [histogram[-1].stop + 1]
    edges[0] = max(edges[0], 1) if is_log else edges[0]
    bars = Trace("", edges, [part.records for part in histogram], shape="bars")
    return Plot(
        "lengths",
        [bars],
        x_label="residues",
        y_label="sequences",
        x_range=(edges[0] - 3, edges[1] + 3) if len(histogram) == 1 else None,
        x_scale="log" if is_log else "whole",
        y_scale="whole",
    )


def plot_quality(positions: tuple[PositionBin, ...], quality: QualitySummary) -> Plot:
    """Plot the mean and interquartile range of quality by position."""
    read = tuple(part for part in positions if part.quartiles is not None)
    quartiles = [part.quartiles or (0, 0, 0) for part in read]
    low, _, high = (list(column) for column in zip(*quartiles, strict=True))
    means = [part.mean_quality or 0.0 for part in read]
    return Plot(
        f"quality by position, encoding {quality.encoding}",
        [Trace("mean and interquartile range", _centres(read), means, low=low, high=high)],
        x_label="position",
        y_label="score",
        y_range=(0, max(_MAX_PLOTTED_SCORE, *high)),
    )


def plot_mean_qualities(quality: QualitySummary) -> Plot:
    """Plot a histogram of the mean quality of the sequences."""
    bins = quality.by_read
    edges = [part.score for part in bins] + [bins[-1].score + 1]
    bars = Trace("", edges, [part.records for part in bins], shape="bars")
    return Plot(
        "mean quality of a sequence",
        [bars],
        x_label="score",
        y_label="sequences",
        x_scale="whole",
        y_scale="whole",
    )


def plot_residues(letters: dict[str, int]) -> Plot:
    """Plot the fraction of each residue among all residues of the file."""
    total = max(sum(letters.values()), 1)
    edges = [number - 0.5 for number in range(len(letters) + 1)]
    bars = Trace("", edges, [n / total for n in letters.values()], shape="bars")
    return Plot(
        "residues",
        [bars],
        x_range=(edges[0], edges[-1]),
        x_names=list(letters),
        y_scale="share",
    )


def plot_bases(positions: tuple[PositionBin, ...], bases: list[str]) -> Plot:
    """Plot the fraction of each base by position."""
    totals = [max(sum(part.letters.values()), 1) for part in positions]
    traces: list[Trace] = []
    for base in bases:
        counts = (part.letters.get(base, 0) for part in positions)
        shares = [count / total for count, total in zip(counts, totals, strict=True)]
        traces.append(Trace(base, _centres(positions), shares))
    return Plot("composition by position", traces, x_label="position", y_scale="share")


def _centres(positions: tuple[PositionBin, ...]) -> list[float]:
    """Return the central position of each bin."""
    return [(part.start + part.stop) / 2 for part in positions]
