"""Warnings about records with scores that may be meaningless, ambiguous or too good."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._warning import warn_user
from seqloom.data._parts import read_sequences
from seqloom.errors import SeqloomError
from seqloom.infer._loop import check_lengths
from seqloom.infer._scores import measure_scores
from seqloom.io import open_sequences
from seqloom.io._summary import count_residues, find_alphabet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.infer._scores import Scores
    from seqloom.models import Examples, Task, Trained

# Number of records that are sampled to detect the alphabet.
_MAX_SAMPLED_RECORDS = 1000
# If a sample of this size contains no protein-only residues, the sequence is not a
# protein.
_MIN_NON_PROTEIN_RESIDUES = 100
_AMBIGUITY_CODES = "RYSWKMBDHV"
_MAX_AMBIGUITY_SHARE = 0.25  # the largest fraction of ambiguity codes in DNA
_MAX_SAMPLED_RESIDUES = 1 << 22  # limits memory use
# In a random split, up to this fraction of records may have lengths that no training
# record has.
_MAX_UNSEEN_LENGTH_SHARE = 0.01
# The metric of fewer records is not shown.
_MIN_OTHER_RECORDS = 5
UNFINISHED_WARNING = (
    "training of this model did not finish: its weights are those of the best epoch so "
    "far; resume the run, or train it again"
)


def warn_of_records(trained: Trained, examples: Examples) -> None:
    """Warn if the model is unfinished, or if records differ from the training records."""
    warn_of_unfinished(trained)
    if kind := find_other_alphabet(trained.encoder, sample_sequences(examples)):
        text = describe_other_alphabet(kind, trained.encoder.alphabet)
        warn_user(text)
    # There is no warning about lengths that the model cannot read, because such lengths
    # raise an error.
    check_lengths(trained.model, examples)
    known = trained.trained_on
    if known is not None and (warning := known.warn_about_lengths(examples)):
        warn_user(warning)


def warn_of_unfinished(trained: Trained) -> None:
    """Warn if the training of a model did not finish."""
    if not trained.is_finished:
        warn_user(UNFINISHED_WARNING)


def warn_of_unsuitable_set(trained: Trained, part: Any, name: str) -> None:
    """Warn if a dataset passed to `fit` has unsuitable residues or lengths."""
    if kind := find_other_alphabet(trained.encoder, sample_sequences(part)):
        alphabet, other = trained.encoder.alphabet, kind.split(maxsplit=1)[0]
        warn_user(
            f"the sequences of the {name} set look like {kind}, but the encoder reads "
            f"{alphabet}: use the alphabet {other!r} (--alphabet {other}), or sequences of "
            f"{alphabet}"
        )
    known = trained.trained_on
    if known is None or name == "training":
        return
    if warning := known.warn_about_lengths(part, share=_MAX_UNSEEN_LENGTH_SHARE):
        warn_user(f"the {name} set: {warning}")


def warn_of_tokens(tokens: Any, paths: Sequence[str]) -> None:
    """Warn if the residues of files do not suit the tokenizer of `embed`."""
    letters = _read_sequences(paths[0]) if hasattr(tokens, "alphabet") else []
    if kind := find_other_alphabet(tokens, letters):
        warn_user(
            f"the sequences look like {kind}, but the model reads {tokens.alphabet}: such "
            f"embeddings are meaningless; give sequences of {tokens.alphabet}"
        )


def warn_of_duplicate_ids(ids: Sequence[str], noun: str) -> None:
    """Warn about duplicate ids, because tables cannot be joined by duplicate ids."""
    counts: dict[str, int] = {}
    for name in ids:
        counts[name] = counts.get(name, 0) + 1
    twice = [name for name, count in counts.items() if count > 1]
    if not twice:
        return
    more = f", and {len(twice) - 1:,} more ids occur several times" if twice[1:] else ""
    warn_user(
        f"{counts[twice[0]]:,} {noun} have the id {twice[0]!r}{more}: tables cannot "
        "be joined by id; use the order of the rows, or make ids distinct"
    )


def describe_missing_scores(scores: Scores) -> str:
    """Describe records whose scores are not finite; return "" if all scores are finite."""
    rows = np.flatnonzero(~np.isfinite(scores.to_numpy()).all(axis=1))
    if not rows.size:
        return ""
    more = f" and of {rows.size - 1:,} more" if rows.size > 1 else ""
    return (
        f"the scores of the record {scores.ids[int(rows[0])]!r}{more} are not finite; "
        "check the inputs for NaN and infinity, and leave such records out"
    )


def describe_duplicates(
    task: Task,
    labels: NDArray[Any],
    scores: Scores,
    *,
    known: NDArray[np.bool_] | None,
    what: str = "records",
    similar: tuple[NDArray[np.bool_], int] | None = None,
) -> str:
    """Describe duplicates of training sequences, and the metric without the duplicates."""
    if known is None or not (known.any() or similar is not None):
        return ""
    text = f"{known.sum():,} of {known.size:,} {what} duplicate training sequences"
    if similar is not None:
        mask, k = similar
        count = int((mask & ~known).sum())
        shared = (
            f"share at least half of their {k}-mers with training sequences "
            '(groups="similar" and --group-column similar keep similar records in one set)'
        )
        if known.any():
            text = f"{text}, and {count:,} more {shared}"
        else:
            text = f"{count:,} of {known.size:,} {what} {shared}"
        known = known | mask
    if (~known).sum() < _MIN_OTHER_RECORDS:
        what = "in the training set" if similar is None else "similar to training sequences"
        return f"{text}: use records that are not {what}"
    name, value = next(iter(measure_scores(task, labels, scores).items()))
    other = measure_scores(task, labels, scores, rows=~known)[name]
    name = name.replace("_", " ")
    return f"{text}: {name} {other:.4f} without these records, {value:.4f} with all records"


def sample_sequences(examples: Any) -> list[bytes]:
    """Return the first sequences; empty if records are not sequences."""
    if read_sequences(examples, np.arange(0)) is None:
        return []
    lengths = np.cumsum(np.asarray(examples.lengths[:_MAX_SAMPLED_RECORDS]))
    count = min(lengths.size, 1 + int(np.searchsorted(lengths, _MAX_SAMPLED_RESIDUES)))
    return read_sequences(examples, np.arange(count)) or []


def _read_sequences(path: str) -> list[bytes]:
    """Read the first sequences of a file."""
    found: list[bytes] = []
    # Errors of the file are ignored here, because the job that reads the file raises
    # them.
    with suppress(SeqloomError), open_sequences(path) as reader:
        for record in islice(reader, _MAX_SAMPLED_RECORDS):
            found.append(bytes(record.sequence))
            if sum(map(len, found)) > _MAX_SAMPLED_RESIDUES:
                break
    return found


def find_other_alphabet(encoder: Any, letters: Sequence[bytes]) -> str:
    """Describe the alphabet of sequences if it differs from the encoder's."""
    alphabet = getattr(encoder, "alphabet", None)
    if alphabet not in {"dna", "rna", "protein"} or not letters:
        return ""
    counts = np.bincount(np.frombuffer(b"".join(letters), np.uint8), minlength=256)
    if alphabet == "protein":
        found = find_alphabet(counts, few=_MIN_NON_PROTEIN_RESIDUES)
        is_clear = found.name in {"dna", "rna"} and not found.strange
        return str(found.name) if is_clear else ""
    # Ambiguity codes of bases, such as R, are not counted, because they are also amino
    # acids.
    met = count_residues(counts)
    codes, total = sum(met.get(code, 0) for code in _AMBIGUITY_CODES), sum(met.values())
    if codes <= _MAX_AMBIGUITY_SHARE * total:
        return ""
    return f"protein ({codes:,} of {total:,} residues are of {_AMBIGUITY_CODES})"


def describe_other_alphabet(kind: str, alphabet: str) -> str:
    """Describe records whose alphabet differs from that of the training records."""
    advice = "; translate the sequences first" if alphabet == "protein" else ""
    return (
        f"the sequences look like {kind}, but the model was trained on {alphabet}: such "
        f"scores are meaningless{advice}"
    )
