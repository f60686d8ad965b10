"""Warnings about records whose scores may be meaningless, ambiguous or too good."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._warning import warn_user
from seqloom.data._parts import letters_of
from seqloom.errors import SeqloomError
from seqloom.infer._loop import check_lengths
from seqloom.infer._scores import measure_scores
from seqloom.io import open_sequences
from seqloom.io._summary import count_letters, find_alphabet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.infer._scores import Scores
    from seqloom.models import Examples, Task, Trained

_LOOKED_AT = 1000  # records that tell what sequences are made of
# So many letters without one that only proteins have are no protein.
_LETTERS_OF_PROOF = 100
_CODES = "RYSWKMBDHV"  # each stands for several bases
_MOST_CODES = 0.25  # a larger share of codes is no DNA
_LETTERS = 1 << 22  # of records together; more would take memory
# Records of a part of `fit` outside of the training lengths that a random split explains.
_FEW = 0.01
UNFINISHED = (
    "training of this model did not finish: its weights are those of the best epoch so "
    "far; resume the run, or train it again"
)


def warn_of_records(trained: Trained, examples: Examples) -> None:
    """Warn of an unfinished model, and of records unlike those that it was trained on."""
    warn_of_unfinished(trained)
    if kind := find_other_kind(trained.encoder, sample_letters(examples)):
        text = describe_other_kind(kind, trained.encoder.alphabet)
        warn_user(text)
    # Lengths that the model cannot read at all are an error, and no warning before it.
    check_lengths(trained.model, examples)
    known = trained.trained_on
    if known is not None and (doubt := known.describe_strange_lengths(examples)):
        warn_user(doubt)


def warn_of_unfinished(trained: Trained) -> None:
    """Warn of a model whose training was stopped before its end."""
    if not trained.is_finished:
        warn_user(UNFINISHED)


def warn_of_part(trained: Trained, part: Any, name: str) -> None:
    """Warn of a part of `fit` of another kind than its encoder reads, or other lengths."""
    if kind := find_other_kind(trained.encoder, sample_letters(part)):
        alphabet, other = trained.encoder.alphabet, kind.split(maxsplit=1)[0]
        warn_user(
            f"the sequences of the {name} part look like {kind}, but the encoder reads "
            f"{alphabet}: give the encoder the alphabet {other!r} (--alphabet {other}), or "
            f"give sequences of {alphabet}",
        )
    known = trained.trained_on
    if known is None or name == "training":
        return
    if doubt := known.describe_strange_lengths(part, share=_FEW):
        warn_user(f"the {name} part: {doubt}")


def warn_of_tokens(tokens: Any, paths: Sequence[str]) -> None:
    """Warn of files of another kind than the tokens of `embed` are for."""
    letters = _read_letters(paths[0]) if hasattr(tokens, "alphabet") else []
    if kind := find_other_kind(tokens, letters):
        warn_user(
            f"the sequences look like {kind}, but the model reads {tokens.alphabet}: such "
            f"embeddings mean nothing; give sequences of {tokens.alphabet}",
        )


def warn_of_twice(ids: Sequence[str], noun: str) -> None:
    """Warn of an id that several records have, by which no table can be joined."""
    counts: dict[str, int] = {}
    for name in ids:
        counts[name] = counts.get(name, 0) + 1
    twice = [name for name, count in counts.items() if count > 1]
    if not twice:
        return
    more = f", and {len(twice) - 1:,} more ids occur several times" if twice[1:] else ""
    warn_user(
        f"{counts[twice[0]]:,} {noun} have the id {twice[0]!r}{more}: a table of scores "
        "cannot be joined by id; its rows are in the order of the input, or make ids "
        "distinct first",
    )


def describe_missing_scores(scores: Scores) -> str:
    """Return which records have scores that are no numbers; empty if all are numbers."""
    rows = np.flatnonzero(~np.isfinite(scores.to_numpy()).all(axis=1))
    if not rows.size:
        return ""
    more = f" and of {rows.size - 1:,} more" if rows.size > 1 else ""
    return (
        f"the scores of the record {scores.ids[int(rows[0])]!r}{more} are not finite and "
        "mean nothing; look for NaN and infinity in the inputs, and leave such records out"
    )


def describe_known(
    task: Task,
    labels: NDArray[Any],
    scores: Scores,
    *,
    known: NDArray[np.bool_] | None,
    what: str = "records",
) -> str:
    """Report how many records are duplicates of training records, and the other score."""
    if known is None or not known.any():
        return ""
    text = f"{known.sum():,} of {known.size:,} {what} have the letters of a training record"
    if known.all():
        return f"{text}: give records that the model has not seen"
    name, value = next(iter(measure_scores(task, labels, scores).items()))
    other = measure_scores(task, labels, scores, rows=~known)[name]
    name = name.replace("_", " ")
    return f"{text}: {name} {other:.4f} on the other {(~known).sum():,}, {value:.4f} on all"


def sample_letters(examples: Any) -> list[bytes]:
    """Fetch the letters of the first records; none of records without letters."""
    if letters_of(examples, np.arange(0)) is None:
        return []
    lengths = np.cumsum(np.asarray(examples.lengths[:_LOOKED_AT]))
    count = min(lengths.size, 1 + int(np.searchsorted(lengths, _LETTERS)))
    return letters_of(examples, np.arange(count)) or []


def _read_letters(path: str) -> list[bytes]:
    """Read the letters of the first records of a file."""
    found: list[bytes] = []
    # The job that reads the file reports its faults.
    with suppress(SeqloomError), open_sequences(path) as reader:
        for record in islice(reader, _LOOKED_AT):
            found.append(bytes(record.sequence))
            if sum(map(len, found)) > _LETTERS:
                break
    return found


def find_other_kind(encoder: Any, letters: Sequence[bytes]) -> str:
    """Name what letters look like where the encoder reads another kind, with the proof."""
    alphabet = getattr(encoder, "alphabet", None)
    if alphabet not in {"dna", "rna", "protein"} or not letters:
        return ""
    counts = np.bincount(np.frombuffer(b"".join(letters), np.uint8), minlength=256)
    if alphabet == "protein":
        found = find_alphabet(counts, few=_LETTERS_OF_PROOF)
        is_clear = found.name in {"dna", "rna"} and not found.strange
        return str(found.name) if is_clear else ""
    # The ambiguity codes of bases are also residues of proteins.
    met = count_letters(counts)
    codes, total = sum(met.get(code, 0) for code in _CODES), sum(met.values())
    if codes <= _MOST_CODES * total:
        return ""
    return f"protein ({codes:,} of {total:,} letters are of {_CODES})"


def describe_other_kind(kind: str, alphabet: str) -> str:
    """Describe records of another kind than the training records."""
    advice = "; translate the sequences first" if alphabet == "protein" else ""
    return (
        f"the sequences look like {kind}, but the model was trained on {alphabet}: such "
        f"scores mean nothing{advice}"
    )
