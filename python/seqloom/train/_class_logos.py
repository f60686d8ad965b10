"""How the letters of the classes differ, position by position."""

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data._letter_hashes import letters_of
from seqloom.report import Logo, Section

# What is counted: so many records, evenly over the part, with so many letters in all, and
# of these the letters about the middle.
_RECORDS = 4096
_LETTERS = 1 << 23
_POSITIONS = 100
_DRAWN = 6
_TWO = 2
_MEMBERS = {
    "dna": "ACGT",
    "iupac": "ACGT",
    "rna": "ACGU",
    "protein": "ACDEFGHIKLMNPQRSTVWY",
}
# How often one letter or more is drawn by chance alone, in a logo of nothing.
_CHANCE = 0.05
_NOTHING = (
    "At no position do the letters of the classes differ by more than chance may explain. "
    "A motif at a varying position does not show here."
)

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def class_logos(examples: Any, classes: Sequence[str]) -> Section | None:
    """Draws where the letters of a class differ from those of all others.

    The height of a letter is the difference of two frequencies: its share at this position
    among the records of the class, minus its share among the others. It is drawn where
    chance alone would draw no letter of the logo in 95 of 100 cases (by the normal
    distribution, with Bonferroni's correction for the number of letters and positions).

    Args:
        examples: The records to learn from, with labels.
        classes: The classes' names.

    Returns:
        The section; None where records have no letters, or there is one class.
    """
    members = _MEMBERS.get(getattr(examples.encoder, "alphabet", ""))
    rows = _choose(examples.lengths)
    letters = letters_of(examples, rows) if members and len(classes) >= _TWO else None
    if letters is None or members is None:
        return None
    labels = np.asarray(examples.labels)[rows]
    logos = list(_draw(letters, labels, classes, members=members))
    if not logos:
        return None
    drawn = [logo for logo in logos if np.any(logo.heights)]
    return Section(
        title="How the letters of the classes differ",
        note=_note(len(letters), len(examples)) if drawn else _NOTHING,
        drawings=drawn,
    )


def _choose(lengths: Counts) -> Counts:
    """Chooses records evenly; of long sequences fewer."""
    most = min(_RECORDS, int(_LETTERS // lengths.mean()) + 1)
    return np.arange(0, len(lengths), -(-len(lengths) // most))


def _draw(
    letters: list[bytes], labels: Counts, classes: Sequence[str], *, members: str
) -> Iterator[Logo]:
    """Draws the logos, from the first position or, where lengths differ, the middle."""
    sizes = {len(it) for it in letters}
    width = min(_POSITIONS, max(sizes))
    counts = count_letters(letters, labels, members=members, width=width)
    is_even = len(sizes) == 1
    place: dict[str, Any] = {
        "first": max(sizes) // 2 - width // 2 if is_even else -(width // 2),
        "axis": "position, from 0" if is_even else "position from each sequence's middle",
    }
    for title, heights in _differences(counts, labels, classes):
        yield Logo(title, members, heights, unit="difference of frequencies", **place)


def count_letters(
    letters: Sequence[bytes], labels: Counts, *, members: str, width: int
) -> Counts:
    """Counts letters about the middle, ``(classes, positions, letters)``."""
    codes = np.full(256, len(members))
    for number, member in enumerate(members):
        codes[[ord(member), ord(member.lower())]] = number
    if "T" in members and "U" not in members:
        codes[[ord("U"), ord("u")]] = (
            members.index("T") if members == "ACGT" else len(members)
        )
    rows = np.full((len(letters), width), len(members))
    for row, sequence in zip(rows, letters, strict=True):
        _centre(row, codes[np.frombuffer(sequence, np.uint8)])
    shape = int(labels.max()) + 1, width, len(members) + 1
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, (labels[:, None], np.arange(width), rows), 1)
    return counts[..., :-1]


def _centre(row: Counts, codes: Counts) -> None:
    """Writes a sequence into a row, middle on middle."""
    shift = len(row) // 2 - len(codes) // 2
    first, stop = max(shift, 0), min(shift + len(codes), len(row))
    row[first:stop] = codes[first - shift : stop - shift]


def _differences(
    counts: Counts, labels: Counts, classes: Sequence[str]
) -> Iterator[tuple[str, Floats]]:
    """Gives a title and heights for each class that is drawn."""
    sizes = np.bincount(labels, minlength=len(classes))
    there = np.flatnonzero(sizes)
    if len(there) < _TWO:
        return
    if len(classes) == _TWO:
        yield f"{classes[1]} minus {classes[0]}", _heights(counts[1], counts[0])
        return
    for number in sorted(np.argsort(-sizes, kind="stable")[:_DRAWN].tolist()):
        if sizes[number]:
            others = counts.sum(axis=0) - counts[number]
            yield f"{classes[number]} minus all others", _heights(counts[number], others)


def _heights(one: Counts, other: Counts) -> Floats:
    """Subtracts frequencies; a difference that chance may explain is 0."""
    totals = [np.maximum(it.sum(axis=1, keepdims=True), 1) for it in (one, other)]
    shares = [it / total for it, total in zip((one, other), totals, strict=True)]
    spread = sum(p * (1 - p) / n for p, n in zip(shares, totals, strict=True))
    gap = shares[0] - shares[1]
    least = NormalDist().inv_cdf(1 - _CHANCE / (2 * gap.size))
    return np.where(np.abs(gap) > least * np.sqrt(spread), gap, 0.0)


def _note(counted: int, there: int) -> str:
    """Says what the heights are."""
    of = "" if counted == there else f" ({counted:,} of them, evenly taken)"
    return (
        "Height: the share of a letter at this position among the training records of the "
        f"class{of}, minus its share among the others. Drawn where chance alone would draw "
        "no letter in 95 of 100 cases. A motif at a varying position does not show here."
    )
