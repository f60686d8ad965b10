"""Report sections that show residues: wrong predictions, and logos of the classes."""

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data._parts import read_sequences
from seqloom.infer._attributions import colour_sequence
from seqloom.infer._probe import (
    EncoderProbe,
    find_hiding_symbol,
    reason_against_hiding,
    sequences_to_mutate,
)
from seqloom.infer._scores import ranking_values
from seqloom.models import Classify, Trained
from seqloom.report import Letters, Logo, MarkedSequence, Section, Table, percent
from seqloom.train._evaluation import Part

_MAX_LISTED_MISTAKES = 10
_MAX_COLOURED_RESIDUES = 8
# Maximum number of occlusion windows in a sequence.
_MAX_WINDOWS = 60
# The maximum number of residues to show. A sequence above this limit is reduced to the
# range with the largest weights.
_LOGO_RESIDUES = 200

Floats = NDArray[np.floating[Any]]
Rows = NDArray[np.int64]
# Limits of logos: records (evenly sampled), residues in total, positions around the
# middle.
_MAX_RECORDS = 4096
_MAX_TOTAL_RESIDUES = 1 << 23
_MAX_POSITIONS = 100
_MAX_LOGOS = 6
_TWO_CLASSES = 2
_RESIDUES_IN = {
    "dna": "ACGT",
    "iupac": "ACGT",
    "rna": "ACGU",
    "protein": "ACDEFGHIKLMNPQRSTVWY",
}
# The maximum probability that logos of random sequences show any symbol.
_MAX_FAMILY_ERROR = 0.05
_LOGO_NOTE = (
    "Height: the frequency of a residue at this position in the training records of the "
    "class{of}, minus its frequency in all other classes. Only significant differences are "
    "shown (family-wise error rate 5 %). Motifs at varying positions are not visible here."
)
_NO_DIFFERENCE = (
    "At no position do the residue frequencies of the classes differ significantly. Motifs "
    "at varying positions are not visible here."
)

Counts = NDArray[np.int64]
Frequencies = NDArray[np.float64]


def mistakes_section(
    trained: Trained, examples: Any, part: Part, *, name: str, most: int
) -> Section | None:
    """List the most confident wrong predictions, with residues coloured by importance.

    The method is occlusion (Zeiler and Fergus, 2014). A window of residues is replaced by N
    (X in proteins) and the sequence is scored again. The weight of the window is the
    decrease of the log odds of the predicted class against the true class.

    Args:
        trained: The trained model.
        examples: The records that were scored.
        part: The scores and labels of the records.
        name: The name of the set, such as ``"test"``.
        most: The maximum number of changed sequences to score for occlusion.

    Returns:
        The report section; None if no prediction is wrong, or the model is not a
        classifier.
    """
    if not isinstance(trained.task, Classify):
        return None
    wrong = find_mistakes(trained.task, part)
    if not wrong.size:
        return None
    table = list_mistakes(part, wrong)
    note = f"The most confident of {wrong.size:,} wrong predictions on the {name} set."
    rows = wrong[: max(1, min(_MAX_COLOURED_RESIDUES, most // (_MAX_WINDOWS + 1)))]
    letters = sequences_to_mutate(examples, rows)
    reason = "these records are not sequences"
    if letters is not None:
        reason = reason_against_hiding(trained.encoder)
    if letters is None or reason is not None:
        note = f"{note} Their sequences are not shown, because {reason}."
        return Section(title="Worst mistakes", note=note, table=table)
    neutral = (find_hiding_symbol(trained.encoder) or b"").decode()
    is_short = max(map(len, letters)) <= _MAX_WINDOWS
    each = "each residue" if is_short else f"each of up to {_MAX_WINDOWS} windows"
    first = "the first" if len(letters) == 1 else f"the first {len(letters)}"
    note += (
        f" In {first}, {each} in turn was replaced by {neutral} and the sequence was "
        "scored again (occlusion). The darker a residue, the more replacing it changed the "
        "log ratio of the two probabilities. Positions count from 0."
    )
    drawing = _mark_mistakes(trained, letters, part=part, rows=rows)
    return Section(title="Worst mistakes", note=note, drawings=(drawing,), details=table)


def find_mistakes(task: Classify, part: Part) -> Rows:
    """Return the indices of wrongly predicted records, the most confident first."""
    called = task.decide(part.scores.to_numpy())
    wrong = np.flatnonzero(called != part.labels)
    surest = ranking_values(task, part.scores)[wrong, called[wrong]]
    return wrong[np.argsort(-surest, kind="stable")]


def list_mistakes(part: Part, wrong: Rows) -> Table:
    """Return the table of the most confident wrong predictions."""
    scores, ids, classes = part.scores.to_numpy(), part.scores.ids, part.scores.classes
    first: list[int] = wrong[:_MAX_LISTED_MISTAKES].tolist()
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


def _mark_mistakes(
    trained: Trained, letters: list[bytes], *, part: Part, rows: Rows
) -> Letters:
    """Return wrongly predicted sequences with coloured residues."""
    scores, classes = part.scores.to_numpy()[rows], part.scores.classes
    called, true = scores.argmax(axis=1), np.asarray(part.labels)[rows]
    weights = weigh_residues(trained, letters, np.column_stack([called, true]))
    lines: list[MarkedSequence] = []
    for number, row in enumerate(rows.tolist()):
        share = percent(float(scores[number, called[number]]))
        names = classes[int(true[number])], classes[int(called[number])]
        title = f"{part.scores.ids[row]}: {names[0]}, predicted {names[1]} ({share})"
        text = letters[number].decode("ascii", "replace")
        lines.append(colour_sequence(title, text, weights[number], longest=_LOGO_RESIDUES))
    return Letters(
        lines, toward="supports the predicted class", away="supports the true class"
    )


def weigh_residues(trained: Trained, letters: list[bytes], pairs: Rows) -> list[Floats]:
    """Return the weight of each residue for the first class compared with the second."""

    def margin(outputs: NDArray[np.float32], records: Rows) -> Floats:
        one, other = np.take_along_axis(outputs, pairs[records], axis=1).T
        return one - other

    windows = [-(-len(it) // _MAX_WINDOWS) for it in letters]
    return EncoderProbe(trained, letters).hide(margin, windows)


def class_logos(examples: Any, classes: Sequence[str]) -> Section | None:
    """Draw sequence logos of the positions where residue frequencies of classes differ.

    The height of a residue is the difference of two frequencies at a position: that in the
    class, minus that in all other classes. Only significant differences are drawn: by the
    normal approximation and Bonferroni's correction, 95 % of logos of random sequences show
    no residue.

    Args:
        examples: The training records, with labels.
        classes: The names of the classes.

    Returns:
        The report section; None if the records are not sequences, or have a single class.
    """
    members = _RESIDUES_IN.get(getattr(examples.encoder, "alphabet", ""))
    most = min(_MAX_RECORDS, int(_MAX_TOTAL_RESIDUES // examples.lengths.mean()) + 1)
    rows = np.arange(0, len(examples), -(-len(examples) // most))
    letters = (
        read_sequences(examples, rows) if members and len(classes) >= _TWO_CLASSES else None
    )
    if letters is None or members is None:
        return None
    labels = np.asarray(examples.labels)[rows]
    logos = _draw_logos(letters, labels, classes, members=members)
    if not logos:
        return None
    drawn = [logo for logo in logos if np.any(logo.heights)]
    of = f" ({len(rows):,} of them, evenly sampled)" if len(rows) < len(examples) else ""
    return Section(
        title="Residue frequencies by class",
        note=_LOGO_NOTE.format(of=of) if drawn else _NO_DIFFERENCE,
        drawings=drawn,
    )


def _draw_logos(
    letters: list[bytes], labels: Counts, classes: Sequence[str], *, members: str
) -> list[Logo]:
    """Draw sequence logos; sequences of different lengths are aligned at the middle."""
    sizes = {len(it) for it in letters}
    width, is_even = min(_MAX_POSITIONS, max(sizes)), len(sizes) == 1
    start = max(sizes) // 2 - width // 2 if is_even else -(width // 2)
    axis = "position, from 0" if is_even else "position relative to the middle"
    counts = count_residues(letters, labels, members=members, width=width)
    unit = "frequency difference"
    return [
        Logo(title, members, heights, unit=unit, first=start, axis=axis)
        for title, heights in _class_differences(counts, labels, classes)
    ]


def count_residues(
    letters: Sequence[bytes], labels: Counts, *, members: str, width: int
) -> Counts:
    """Count residues around the middle, as an array ``(classes, positions, residues)``."""
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


def _class_differences(
    counts: Counts, labels: Counts, classes: Sequence[str]
) -> Iterator[tuple[str, Frequencies]]:
    """Yield the title and the heights of each logo."""
    sizes = np.bincount(labels, minlength=len(classes))
    there = np.flatnonzero(sizes)
    if len(there) < _TWO_CLASSES:
        return
    if len(classes) == _TWO_CLASSES:
        yield (
            f"{classes[1]} minus {classes[0]}",
            _significant_differences(counts[1], counts[0]),
        )
        return
    for number in sorted(np.argsort(-sizes, kind="stable")[:_MAX_LOGOS].tolist()):
        if sizes[number]:
            others = counts.sum(axis=0) - counts[number]
            yield (
                f"{classes[number]} minus all others",
                _significant_differences(counts[number], others),
            )


def _significant_differences(one: Counts, other: Counts) -> Frequencies:
    """Return the differences of frequencies; differences that are not significant are 0."""
    totals = [np.maximum(it.sum(axis=1, keepdims=True), 1) for it in (one, other)]
    shares = [it / total for it, total in zip((one, other), totals, strict=True)]
    spread = sum(p * (1 - p) / n for p, n in zip(shares, totals, strict=True))
    gap = shares[0] - shares[1]
    least = NormalDist().inv_cdf(1 - _MAX_FAMILY_ERROR / (2 * gap.size))
    return np.where(np.abs(gap) > least * np.sqrt(spread), gap, 0.0)
