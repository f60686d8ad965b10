"""Warn about input that is allowed but probably a mistake."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from seqloom.cli._parts import DataPart, PartOptions
from seqloom.data import Dataset
from seqloom.infer._kinds import get_kind
from seqloom.models import Trained

_MAX_LISTED = 3
# The metrics of a class with fewer records than this are unreliable. Sets with fewer than
# ten times as many records get no warning.
_FEW_RECORDS = 10


def warn_about_files(console: Console, files: Sequence[Path], parts: PartOptions) -> None:
    """Warn about training files that are also validation or test files."""
    for option, others in (("--valid", parts.valid), ("--test", parts.test)):
        for other in (it for it in others if any(it.samefile(file) for file in files)):
            console.print(
                f"warning: {option} {other} is also a training file, "
                "so its metrics are too optimistic"
            )


def warn_about_classes(console: Console, whole: Dataset) -> None:
    """Warn about classes that look like ids, have few records, or have similar names."""
    if whole.task != "classify":
        return
    classes, records = len(whole.classes), len(whole)
    noun = whole.noun
    if 2 * classes > records:
        console.print(
            f"warning: {classes:,} classes for {records:,} {noun}: almost every label "
            "is unique; use --task regress for numbers, --label-column for another column"
        )
    elif single := [name for name, count in whole.class_counts.items() if count == 1]:
        each, one = "each of " if len(single) > 1 else "", noun.removesuffix("s")
        console.print(
            f"warning: {each}{_list_classes(single)} has a single {one}, which cannot be "
            f"in both the training and the test set: correct the label, or add {one}s of "
            "the class"
        )
    few = [
        f"{name!r} ({count})"
        for name, count in whole.class_counts.items()
        if 1 < count < _FEW_RECORDS
    ]
    if few and records >= 10 * _FEW_RECORDS:
        console.print(
            f"warning: classes with fewer than {_FEW_RECORDS} {noun}: {', '.join(few)}. "
            f"Their metrics are unreliable, and a set may lack them: add {noun} of these "
            "classes"
        )
    _warn_about_similar_names(console, whole.classes)


def _warn_about_similar_names(console: Console, classes: Sequence[str]) -> None:
    """Warn about class names that differ only in capitals or white space."""
    spellings: dict[str, list[str]] = {}
    for name in classes:
        spellings.setdefault("".join(name.split()).casefold(), []).append(name)
    for names in spellings.values():
        if len(names) > 1:
            console.print(
                f"warning: {_list_classes(names)} differ only in capitals or white space "
                "and are different classes: use one spelling if they are the same class"
            )


def _list_classes(names: Sequence[str]) -> str:
    """Join class names; if there are many, list only the first few."""
    shown = ", ".join(map(repr, names[:_MAX_LISTED]))
    more = ", ..." if len(names) > _MAX_LISTED else ""
    return f"the class{'es' if len(names) > 1 else ''} {shown}{more}"


def warn_about_untrained_classes(console: Console, part: DataPart) -> None:
    """Warn about validation classes that have no training record."""
    if part.valid is None or part.train.task != "classify":
        return
    taught, asked = part.train.class_counts, part.valid.class_counts
    where = f"{part.title}: " if part.title else ""
    if untrained := [name for name in asked if asked[name] and not taught.get(name)]:
        console.print(
            f"warning: {where}the validation set has {_list_classes(untrained)}, but the "
            "training set has no record of it"
        )


def warn_about_overlaps(console: Console, part: DataPart, test: Dataset | None) -> None:
    """Warn if validation or test intervals overlap training intervals."""
    if not get_kind(part.train).has_chromosomes:
        return
    for name, other in (("validation", part.valid), ("test", test)):
        count = 0 if other is None else count_overlaps(part.train, other)
        if count:
            console.print(
                f"warning: {count:,} of {len(other or ()):,} {name} intervals overlap "
                "training intervals, so their metrics are too optimistic; "
                f"--{name.removesuffix('ation')}-chromosomes separates them"
            )


def count_overlaps(train: Dataset, others: Dataset) -> int:
    """Count the evaluation intervals that overlap a training interval widened by jitter."""
    train_spans, other_spans = _group_spans(train), _group_spans(others)
    return sum(
        _count_overlapping(train_spans[chromosome], spans)
        for chromosome, spans in other_spans.items()
        if chromosome in train_spans
    )


def _group_spans(data: Dataset) -> dict[str, NDArray[np.int64]]:
    """Return starts and stops ``(2, intervals)`` by chromosome, widened by jitter."""
    chromosomes = np.asarray(data.group("chrom"))
    spans = np.array([data.group("start"), data.group("stop")], np.int64)
    spans += np.array([[-1], [1]]) * data.jitter
    return {str(name): spans[:, chromosomes == name] for name in np.unique(chromosomes)}


def _count_overlapping(train: NDArray[np.int64], others: NDArray[np.int64]) -> int:
    """Count the evaluation intervals of a chromosome that overlap a training interval."""
    starts: NDArray[np.int64] = train[0]
    other_stops: NDArray[np.int64] = others[1]
    order = np.argsort(starts)
    max_stops = np.maximum.accumulate(train[1, order])
    # Two intervals overlap if each interval starts before the end of the other
    # interval.
    counts = np.searchsorted(starts[order], other_stops)
    overlaps = max_stops[np.maximum(counts - 1, 0)] > others[0]
    return int((overlaps & (counts > 0)).sum())


def warn_about_training_files(
    console: Console, trained: Trained, files: Sequence[Path]
) -> None:
    """Warn if a file to evaluate was also a training file of the model."""
    known = trained.trained_on
    for file in () if known is None else known.find_again(files):
        console.print(
            f"warning: the model was trained on {file}, so these metrics are too "
            "optimistic: give files that were not used for training"
        )
