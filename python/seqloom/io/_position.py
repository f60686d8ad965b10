"""What stands at each position of a file's sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.io._quality import ZERO

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._rust import _native

_QUARTERS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBin:
    """What stands at positions ``start`` to ``stop``, both included, counted from 0.

    Args:
        start: The first position.
        stop: The last position.
        letters: How often each letter stands there, without regard to case; what is no
            letter, such as a gap, is ``"-"``.
        mean_quality: The mean score there; None for FASTA.
        quartiles: The lower quartile, the median and the upper quartile of the scores
            there; None for FASTA.

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


def positions_of(
    profile: _native.SequenceProfile, longest: int, *, encoding: str
) -> tuple[PositionBin, ...]:
    """Reads the bins out of a profile."""
    letters, width = profile.letters.astype(np.int64), profile.width
    qualities = profile.qualities.astype(np.int64)
    zero = ZERO[encoding]
    return tuple(
        PositionBin(
            start=i * width,
            stop=min((i + 1) * width, longest) - 1,
            letters=_named(row),
            **(_scores(qualities[i], zero) if i < len(qualities) else {}),
        )
        for i, row in enumerate(letters)
    )


def _named(counts: NDArray[np.int64]) -> dict[str, int]:
    """Names the columns that are not empty."""
    return {
        chr(column + 64) if column else "-": int(counts[column])
        for column in np.roll(counts.nonzero()[0], -1 if counts[0] else 0).tolist()
    }


def _scores(counts: NDArray[np.int64], zero: int) -> dict[str, Any]:
    """Describes the scores of one bin."""
    below = counts.cumsum()
    total = int(below[-1])
    if not total:
        return {}
    places = [int(np.searchsorted(below, share * total)) - zero for share in _QUARTERS]
    mean = float(counts @ np.arange(counts.size)) / total - zero
    return {"mean_quality": mean, "quartiles": tuple(places)}
