"""The surest mistakes of a part, and the letters that the model went by."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data import SequenceDataset
from seqloom.data._items import letters_of
from seqloom.infer._predict import score
from seqloom.models import Classify, Trained
from seqloom.report import Letters, MarkedSequence, Section, Table, percent
from seqloom.train._judged import Part

_LISTED = 10
_SHOWN = 8
# Each sequence is cut into so many windows at most, and each is hidden once.
_WINDOWS = 60
# Of a longer sequence the part is shown where most is at stake.
_LONGEST = 200
# The letter that says nothing of what stands there.
_NEUTRAL = {"dna": b"N", "rna": b"N", "iupac": b"N", "protein": b"X"}
_TINY = float(np.finfo(np.float32).tiny)

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


def mistakes_section(
    trained: Trained, examples: Any, part: Part, *, name: str, most: int
) -> Section | None:
    """Lists the surest wrong answers and colours their letters.

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
    wrong = find_wrong(part)
    if not wrong.size:
        return None
    table = list_mistakes(part, wrong)
    note = f"Of {wrong.size:,} wrong answers on the {name} part, the surest."
    rows = wrong[: max(1, min(_SHOWN, most // (_WINDOWS + 1)))]
    letters = letters_of(examples, rows)
    if (reason := _why_not(trained, letters)) is not None:
        note = f"{note} Their letters are not shown, because {reason}."
        return Section(title="Worst mistakes", note=note, table=table)
    shown = letters or []
    return Section(
        title="Worst mistakes",
        note=f"{note} {_explain(trained, shown)}",
        drawings=(_draw(trained, shown, part=part, rows=rows),),
        details=table,
    )


def find_wrong(part: Part) -> Rows:
    """Finds the wrong answers, the surest first."""
    scores = part.scores.to_numpy()
    wrong = np.flatnonzero(scores.argmax(axis=1) != part.labels)
    return wrong[np.argsort(-scores.max(axis=1)[wrong], kind="stable")]


def list_mistakes(part: Part, wrong: Rows) -> Table:
    """Lists the first wrong answers."""
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


def _why_not(trained: Trained, letters: list[bytes] | None) -> str | None:
    """Says why letters cannot be hidden; None if they can."""
    if letters is None:
        return "these records are no sequences of letters"
    neutral = _neutral_of(trained)
    if neutral is None:
        return "the encoder's alphabet has no letter that stands for any other"
    if trained.encoder.refuses(neutral):
        return f"the encoder refuses {neutral.decode()}, which would hide them"
    return None


def _neutral_of(trained: Trained) -> bytes | None:
    """Gives the letter that hides others, where the encoder's alphabet has one."""
    if not hasattr(trained.encoder, "refuses"):
        return None
    return _NEUTRAL.get(getattr(trained.encoder, "alphabet", ""))


def _explain(trained: Trained, letters: list[bytes]) -> str:
    """Says how letters were coloured."""
    neutral = (_neutral_of(trained) or b"").decode()
    is_short = max(map(len, letters)) <= _WINDOWS
    each = "each letter" if is_short else f"each of {_WINDOWS} pieces"
    first = "the first" if len(letters) == 1 else f"the first {len(letters)}"
    return (
        f"In {first} {each} was replaced by {neutral} in turn, and the sequence was scored "
        "again (occlusion). The darker a letter, the more this changed the logarithm of "
        "the ratio of the two probabilities. Positions count from 0."
    )


def _draw(trained: Trained, letters: list[bytes], *, part: Part, rows: Rows) -> Letters:
    """Colours the letters of some sequences."""
    called = part.scores.to_numpy()[rows].argmax(axis=1)
    pairs = np.column_stack([called, np.asarray(part.labels)[rows]])
    weights = weigh_letters(trained, letters, pairs)
    titles = list(_titles(part, rows))
    return Letters(
        [_mark(*it) for it in zip(titles, letters, weights, strict=True)],
        toward="spoke for the class that was called",
        away="spoke for the true class",
    )


def weigh_letters(trained: Trained, letters: list[bytes], pairs: Rows) -> list[Floats]:
    """Weighs each letter of sequences for a class (first of a pair) against another one."""
    neutral = _neutral_of(trained) or b""
    spans = [_spans(len(it)) for it in letters]
    texts = [
        text
        for sequence, edges in zip(letters, spans, strict=True)
        for text in (sequence, *_hide(sequence, edges, neutral))
    ]
    data = SequenceDataset(texts, encoder=trained.encoder, labels=False)
    scores = np.maximum(score(trained, data).to_numpy(), _TINY).astype(float)
    starts = np.cumsum([0, *(len(edges) for edges in spans)])[:-1]
    found: list[Floats] = []
    for start, edges, (one, other) in zip(starts, spans, pairs.tolist(), strict=True):
        ratios = np.log(scores[start : start + len(edges)])[:, [one, other]]
        margins = ratios[:, 0] - ratios[:, 1]
        found.append(np.repeat(margins[0] - margins[1:], np.diff(edges)))
    return found


def _spans(length: int) -> Rows:
    """Cuts a sequence into windows: where each begins, and where the last one ends."""
    windows = min(length, _WINDOWS)
    return np.linspace(0, length, windows + 1).astype(np.int64)


def _hide(sequence: bytes, edges: Rows, neutral: bytes) -> Iterator[bytes]:
    """Hides each window once."""
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield sequence[:start] + neutral * (stop - start) + sequence[stop:]


def _titles(part: Part, rows: Rows) -> Iterator[str]:
    """Says of each sequence what it is, and what it was called."""
    scores, classes = part.scores.to_numpy(), part.scores.classes
    for row in rows.tolist():
        called, true = int(scores[row].argmax()), classes[int(part.labels[row])]
        share = percent(float(scores[row, called]))
        yield f"{part.scores.ids[row]}: {true}, called {classes[called]} ({share})"


def _mark(title: str, letters: bytes, weights: Floats) -> MarkedSequence:
    """Marks a sequence; of a long one the part with the largest weights in sum."""
    sums = np.cumsum(np.append(0.0, np.abs(weights)))
    width = min(_LONGEST, len(letters))
    first = int(np.argmax(sums[width:] - sums[:-width]))
    stop = first + width
    is_part = width < len(letters)
    note = f"letters {first:,} to {stop - 1:,} of {len(letters):,}" if is_part else ""
    text = letters[first:stop].decode("ascii", "replace")
    return MarkedSequence(title, text, weights[first:stop], first=first, note=note)
