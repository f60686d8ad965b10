"""Estimates the shift of fragment ends from the motif that the enzyme prefers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._threads import count_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.data.interval._spans import Genome

    Integers = NDArray[np.int64]
    Motif = NDArray[np.float64]

# The shifts after which the ends on both strands are one base: the middle of the 9 bases
# between the cuts of Tn5, or the base after the cut of DNase I.
CONVENTIONS = {"atac": (4, -4), "dnase": (0, 1)}
_MAX_DISTANCE = 8
_HALF_WIDTH = 10
_RADIUS = _MAX_DISTANCE + _HALF_WIDTH
_MIN_ENDS = 1000
_MAX_FRAGMENTS = 100_000
# Motifs of ATAC-seq and DNase-seq data have scores of 0.98 at the right shift, and of at
# most 0.64 at others. Random variation has less than this multiple of its expected sum of
# squares.
_MIN_SCORE = 0.8
_MIN_DISTANCE = 0.1
_MIN_SIGNAL = 3


def estimate_shift(
    assay: str, genome: Genome, sample: tuple[Integers, Integers, Integers]
) -> tuple[int, int] | None:
    """Return the shifts that the ends of fragments have; None if the motif is unclear.

    The sample has the contigs, starts and stops of fragments.

    The motifs of both strands, each in the direction of its reads, coincide at the right
    shifts. The motif of Tn5 also is its own reverse complement, because both halves of the
    enzyme bind in the same way. The motif of DNase I shows only how the shifts differ; the
    shift of the plus strand is assumed to be 0.
    """
    # Neighbouring fragments may have repetitive sequence, such as that of a telomere.
    rows = slice(None, None, max(sample[0].size // _MAX_FRAGMENTS, 1))
    plus = _find_motif(genome, sample[0][rows], sample[1][rows])
    minus = _find_motif(genome, sample[0][rows], sample[2][rows] - 1)
    if plus is None or minus is None:
        return None
    is_symmetric = assay == "atac"
    scores = _score_distances(plus, minus[::-1, ::-1], is_symmetric=is_symmetric)
    *_, second, best = np.sort(scores.ravel()).tolist()
    if best < _MIN_SCORE or best - second < _MIN_DISTANCE:
        return None
    row, column = np.argwhere(scores == best)[0].tolist()
    if is_symmetric:
        plus_shift, minus_shift = CONVENTIONS["atac"]
        return plus_shift + _MAX_DISTANCE - row, column - _MAX_DISTANCE + minus_shift
    return 0, column - _MAX_DISTANCE


def _find_motif(genome: Genome, chroms: Integers, places: Integers) -> Motif | None:
    """Return how the shares of A, C, G and T around positions differ from their means.

    The result is None if they differ no more than those of random positions.
    """
    is_inside = (places >= _RADIUS) & (places + _RADIUS < genome.lengths[chroms])
    chroms, places = chroms[is_inside], places[is_inside]
    if places.size < _MIN_ENDS:
        return None
    bounds = places - _RADIUS, places + _RADIUS + 1
    letters = genome.fetch(chroms, *bounds, num_threads=count_threads()).data
    table = letters.reshape(places.size, -1) | 0x20
    counts = np.stack([(table == base).sum(0) for base in b"acgt"], axis=1)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    motif = shares - shares.mean(0)
    random = (shares * (1 - shares)).sum() / places.size
    return motif if (motif**2).sum() > _MIN_SIGNAL * random else None


def _score_distances(plus: Motif, minus: Motif, *, is_symmetric: bool) -> NDArray[Any]:
    """Return the score of each pair of distances from the ends to a common position.

    A score is the share of the sum of squares that remains in the mean of the aligned
    motifs: 1 if they are equal.
    """
    distances = range(-_MAX_DISTANCE, _MAX_DISTANCE + 1)
    others = [_align(minus, it, is_symmetric=is_symmetric) for it in distances]
    ones = [_align(plus, it, is_symmetric=is_symmetric) for it in distances]
    total = 2 * ((plus**2).sum() + (minus**2).sum())
    if not is_symmetric:
        ones = ones[_MAX_DISTANCE : _MAX_DISTANCE + 1]
    return np.array([[((a + b) ** 2).sum() / total for b in others] for a in ones])


def _align(motif: Motif, distance: int, *, is_symmetric: bool) -> Motif:
    """Return the motif around a position, or its mean with the reverse complement."""
    middle = _RADIUS + distance
    part = motif[middle - _HALF_WIDTH : middle + _HALF_WIDTH + 1]
    return (part + part[::-1, ::-1]) / 2 if is_symmetric else part
