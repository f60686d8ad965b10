"""What FASTQ's quality letters stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The letter of score 0, and the lowest letter, of each encoding; the highest is ~ for all.
ZERO = {"phred33": ord("!"), "phred64": ord("@"), "solexa": ord("@")}
LOWEST = {"phred33": ord("!"), "phred64": ord("@"), "solexa": ord(";")}


@dataclass(frozen=True, slots=True)
class QualityBin:
    """How many sequences have a mean quality from ``score`` up to the next whole score.

    Args:
        score: The mean score, rounded down.
        records: How many sequences there are.

    Examples:
        >>> QualityBin(38, 3).records
        3
    """

    score: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QualitySummary:
    """What the qualities of a FASTQ file are.

    Args:
        encoding: How they were read, as declared.
        lowest: The lowest quality letter met.
        highest: The highest quality letter met.
        possible: The encodings in which all letters have a meaning. Several, as a rule:
            which one it is, the letters cannot tell.
        mean: The mean score of all letters, on the scale of ``encoding``.
        by_read: How many sequences have which mean score.

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


def summarise(
    letters: NDArray[np.int64], means: NDArray[np.int64], *, encoding: str
) -> QualitySummary | None:
    """Describes qualities by how often each letter is met, and each mean."""
    met = letters.nonzero()[0]
    if not met.size:
        return None
    scores = np.arange(letters.size) - ZERO[encoding]
    reads = means.nonzero()[0]
    return QualitySummary(
        encoding=encoding,
        lowest=chr(met[0]),
        highest=chr(met[-1]),
        possible=tuple(
            name for name in ("phred33", "phred64", "solexa") if met[0] >= LOWEST[name]
        ),
        mean=float(letters @ scores / letters.sum()),
        by_read=tuple(
            QualityBin(int(letter) - ZERO[encoding], int(means[letter]))
            for letter in range(reads[0], reads[-1] + 1)
        ),
    )


def score_table(encoding: str) -> list[float]:
    """Gives the score of each of the 256 bytes."""
    return [float(letter - ZERO[encoding]) for letter in range(256)]
