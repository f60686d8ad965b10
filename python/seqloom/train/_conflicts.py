"""Records that no model can tell apart: the same letters with labels of several classes."""

from typing import Any

import numpy as np

from seqloom.data._items import hash_letters
from seqloom.models import Classify
from seqloom.models._examples import noun_of


def describe_conflicts(train: Any) -> str:
    """Says how many sequences stand in more than one class; nothing where none does."""
    if getattr(train, "task", None) != Classify.name or train.labels is None:
        return ""
    if (hashes := hash_letters(train)) is None:
        return ""
    labels = np.asarray(train.labels)
    order = np.lexsort((labels, hashes))
    hashes, labels = hashes[order], labels[order]
    differs = np.flatnonzero((hashes[1:] == hashes[:-1]) & (labels[1:] != labels[:-1]))
    if not differs.size:
        return ""
    one, other = (_name(train, row) for row in order[differs[0] :][:2].tolist())
    return (
        f"{_count(train, len(np.unique(hashes[differs])))} in more than one class, such as "
        f"{one} and {other}, which have the same letters: no model can tell them apart"
    )


def _count(train: Any, count: int) -> str:
    """Counts sequences, with their verb."""
    noun = noun_of(train)
    return f"{count:,} {noun} stand" if count > 1 else f"1 {noun.removesuffix('s')} stands"


def _name(train: Any, row: int) -> str:
    """Names a record and its class."""
    return f"{train.ids[row]!r} ({train.classes[int(train.labels[row])]})"
