"""The surest mistakes of a part, and the letters that the model went by."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.infer._attributions import mark_sequence
from seqloom.infer._probe import Probe, letters_to_change, neutral_of, why_not_hidden
from seqloom.infer._scores import order_of
from seqloom.models import Classify, Trained
from seqloom.report import Letters, Section, Table, percent
from seqloom.train._judged import Part

_LISTED = 10
_SHOWN = 8
# Each sequence is cut into so many windows at most, and each is hidden once.
_WINDOWS = 60
# Of a longer sequence the part is shown where most is at stake.
_LONGEST = 200

Floats = NDArray[np.floating[Any]]
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
    wrong = find_wrong(trained.task, part)
    if not wrong.size:
        return None
    table = list_mistakes(part, wrong)
    note = f"Of {wrong.size:,} wrong answers on the {name} part, the surest."
    rows = wrong[: max(1, min(_SHOWN, most // (_WINDOWS + 1)))]
    letters = letters_to_change(examples, rows)
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


def find_wrong(task: Classify, part: Part) -> Rows:
    """Finds the wrong answers, the surest first."""
    called = task.decide(part.scores.to_numpy())
    wrong = np.flatnonzero(called != part.labels)
    surest = order_of(task, part.scores)[wrong, called[wrong]]
    return wrong[np.argsort(-surest, kind="stable")]


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
    return why_not_hidden(trained.encoder)


def _explain(trained: Trained, letters: list[bytes]) -> str:
    """Says how letters were coloured."""
    neutral = (neutral_of(trained.encoder) or b"").decode()
    is_short = max(map(len, letters)) <= _WINDOWS
    each = "each letter" if is_short else f"each of up to {_WINDOWS} pieces"
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
    texts = [it.decode("ascii", "replace") for it in letters]
    mark = partial(mark_sequence, longest=_LONGEST)
    return Letters(
        list(map(mark, _titles(part, rows), texts, weights)),
        toward="spoke for the class that was called",
        away="spoke for the true class",
    )


def weigh_letters(trained: Trained, letters: list[bytes], pairs: Rows) -> list[Floats]:
    """Weighs each letter of sequences for a class (first of a pair) against another one."""

    def margin(outputs: NDArray[np.float32], records: Rows) -> Floats:
        one, other = np.take_along_axis(outputs, pairs[records], axis=1).T
        return one - other

    windows = [-(-len(it) // _WINDOWS) for it in letters]
    return Probe(trained, letters).hide(margin, windows)


def _titles(part: Part, rows: Rows) -> Iterator[str]:
    """Says of each sequence what it is, and what it was called."""
    scores, classes = part.scores.to_numpy(), part.scores.classes
    for row in rows.tolist():
        called, true = int(scores[row].argmax()), classes[int(part.labels[row])]
        share = percent(float(scores[row, called]))
        yield f"{part.scores.ids[row]}: {true}, called {classes[called]} ({share})"
