"""The letters that a model went by, and those in which the classes differ."""

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data._parts import letters_of
from seqloom.infer._attributions import mark_sequence
from seqloom.infer._probe import Probe, letters_to_change, neutral_of, why_not_hidden
from seqloom.infer._scores import order_of
from seqloom.models import Classify, Trained
from seqloom.report import Letters, Logo, MarkedSequence, Section, Table, percent
from seqloom.train._evaluation import Part

_LISTED = 10
_SHOWN = 8
# Each sequence is cut into so many windows at most, and each is hidden once.
_WINDOWS = 60
# Of a longer sequence the part is shown where most is at stake.
_LONGEST = 200

Floats = NDArray[np.floating[Any]]
Rows = NDArray[np.int64]
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
_NOTE = (
    "Height: the share of a letter at this position among the training records of the "
    "class{of}, minus its share among the others. Drawn where chance alone would draw no "
    "letter in 95 of 100 cases. A motif at a varying position does not show here."
)
_NOTHING = (
    "At no position do the letters of the classes differ by more than chance may explain. "
    "A motif at a varying position does not show here."
)

Counts = NDArray[np.int64]
Frequencies = NDArray[np.float64]


def mistakes_section(
    trained: Trained, examples: Any, part: Part, *, name: str, most: int
) -> Section | None:
    """List the surest wrong answers and colour their letters.

    Occlusion (Zeiler and Fergus, 2014): a window of letters is hidden behind N (X in a
    protein), and the sequence is scored anew. What its letters count is by how much that
    lowers the logarithm of the probability of the class that was called over that of the
    true class.

    Args:
        trained: The model.
        examples: The records that were scored.
        part: Their scores and labels.
        name: What they are called, such as ``"test"``.
        most: How many records may be scored for this.

    Returns:
        The section; None where there are no wrong answers, or no classes.
    """
    if not isinstance(trained.task, Classify):
        return None
    wrong = find_wrong(trained.task, part)
    if not wrong.size:
        return None
    table = list_mistakes(part, wrong)
    note = f"Of {wrong.size:,} wrong answers on the {name} part, the surest."
    rows = wrong[: max(1, min(_SHOWN, most // (_WINDOWS + 1)))]
    letters = letters_to_change(examples, rows)
    reason = "these records are no sequences of letters"
    if letters is not None:
        reason = why_not_hidden(trained.encoder)
    if letters is None or reason is not None:
        note = f"{note} Their letters are not shown, because {reason}."
        return Section(title="Worst mistakes", note=note, table=table)
    neutral = (neutral_of(trained.encoder) or b"").decode()
    is_short = max(map(len, letters)) <= _WINDOWS
    each = "each letter" if is_short else f"each of up to {_WINDOWS} pieces"
    first = "the first" if len(letters) == 1 else f"the first {len(letters)}"
    note += (
        f" In {first} {each} was replaced by {neutral} in turn, and the sequence was "
        "scored again (occlusion). The darker a letter, the more this changed the "
        "logarithm of the ratio of the two probabilities. Positions count from 0."
    )
    drawing = _draw(trained, letters, part=part, rows=rows)
    return Section(title="Worst mistakes", note=note, drawings=(drawing,), details=table)


def find_wrong(task: Classify, part: Part) -> Rows:
    """Find the wrong answers, the surest first."""
    called = task.decide(part.scores.to_numpy())
    wrong = np.flatnonzero(called != part.labels)
    surest = order_of(task, part.scores)[wrong, called[wrong]]
    return wrong[np.argsort(-surest, kind="stable")]


def list_mistakes(part: Part, wrong: Rows) -> Table:
    """List the first wrong answers."""
    scores, ids, classes = part.scores.to_numpy(), part.scores.ids, part.scores.classes
    first: list[int] = wrong[:_LISTED].tolist()
    rows = [
        (
            ids[i],
            classes[int(part.labels[i])],
            classes[int(scores[i].argmax())],
            float(scores[i].max()),
        )
        for i in first
    ]
    return Table("Worst mistakes", ("id", "true", "predicted", "probability"), rows)


def _draw(trained: Trained, letters: list[bytes], *, part: Part, rows: Rows) -> Letters:
    """Colour the letters of some sequences."""
    scores, classes = part.scores.to_numpy()[rows], part.scores.classes
    called, true = scores.argmax(axis=1), np.asarray(part.labels)[rows]
    weights = weigh_letters(trained, letters, np.column_stack([called, true]))
    lines: list[MarkedSequence] = []
    for number, row in enumerate(rows.tolist()):
        share = percent(float(scores[number, called[number]]))
        names = classes[int(true[number])], classes[int(called[number])]
        title = f"{part.scores.ids[row]}: {names[0]}, called {names[1]} ({share})"
        text = letters[number].decode("ascii", "replace")
        lines.append(mark_sequence(title, text, weights[number], longest=_LONGEST))
    return Letters(
        lines,
        toward="spoke for the class that was called",
        away="spoke for the true class",
    )


def weigh_letters(trained: Trained, letters: list[bytes], pairs: Rows) -> list[Floats]:
    """Weigh each letter of sequences for a class (first of a pair) against another one."""

    def margin(outputs: NDArray[np.float32], records: Rows) -> Floats:
        one, other = np.take_along_axis(outputs, pairs[records], axis=1).T
        return one - other

    windows = [-(-len(it) // _WINDOWS) for it in letters]
    return Probe(trained, letters).hide(margin, windows)


def class_logos(examples: Any, classes: Sequence[str]) -> Section | None:
    """Draw where the letters of a class differ from those of all others.

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
    most = min(_RECORDS, int(_LETTERS // examples.lengths.mean()) + 1)
    rows = np.arange(0, len(examples), -(-len(examples) // most))
    letters = letters_of(examples, rows) if members and len(classes) >= _TWO else None
    if letters is None or members is None:
        return None
    labels = np.asarray(examples.labels)[rows]
    logos = _draw_logos(letters, labels, classes, members=members)
    if not logos:
        return None
    drawn = [logo for logo in logos if np.any(logo.heights)]
    of = f" ({len(rows):,} of them, evenly taken)" if len(rows) < len(examples) else ""
    return Section(
        title="How the letters of the classes differ",
        note=_NOTE.format(of=of) if drawn else _NOTHING,
        drawings=drawn,
    )


def _draw_logos(
    letters: list[bytes], labels: Counts, classes: Sequence[str], *, members: str
) -> list[Logo]:
    """Draw the logos, from the first position or, where lengths differ, the middle."""
    sizes = {len(it) for it in letters}
    width, is_even = min(_POSITIONS, max(sizes)), len(sizes) == 1
    start = max(sizes) // 2 - width // 2 if is_even else -(width // 2)
    axis = "position, from 0" if is_even else "position from each sequence's middle"
    counts = count_letters(letters, labels, members=members, width=width)
    unit = "difference of frequencies"
    return [
        Logo(title, members, heights, unit=unit, first=start, axis=axis)
        for title, heights in _differences(counts, labels, classes)
    ]


def count_letters(
    letters: Sequence[bytes], labels: Counts, *, members: str, width: int
) -> Counts:
    """Count letters about the middle, ``(classes, positions, letters)``."""
    codes = np.full(256, len(members))
    for number, member in enumerate(members):
        codes[[ord(member), ord(member.lower())]] = number
    if "T" in members and "U" not in members:
        uracil = members.index("T") if members == "ACGT" else len(members)
        codes[[ord("U"), ord("u")]] = uracil
    rows = np.full((len(letters), width), len(members))
    for row, sequence in zip(rows, letters, strict=True):
        shift = width // 2 - len(sequence) // 2
        first, stop = max(shift, 0), min(shift + len(sequence), width)
        places = np.frombuffer(sequence, np.uint8)[first - shift : stop - shift]
        row[first:stop] = codes[places]
    shape = int(labels.max()) + 1, width, len(members) + 1
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, (labels[:, None], np.arange(width), rows), 1)
    return counts[..., :-1]


def _differences(
    counts: Counts, labels: Counts, classes: Sequence[str]
) -> Iterator[tuple[str, Frequencies]]:
    """Return a title and heights for each class that is drawn."""
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


def _heights(one: Counts, other: Counts) -> Frequencies:
    """Subtract frequencies; a difference that chance may explain is 0."""
    totals = [np.maximum(it.sum(axis=1, keepdims=True), 1) for it in (one, other)]
    shares = [it / total for it, total in zip((one, other), totals, strict=True)]
    spread = sum(p * (1 - p) / n for p, n in zip(shares, totals, strict=True))
    gap = shares[0] - shares[1]
    least = NormalDist().inv_cdf(1 - _CHANCE / (2 * gap.size))
    return np.where(np.abs(gap) > least * np.sqrt(spread), gap, 0.0)
