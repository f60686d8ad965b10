"""What is allowed, but seldom meant: a line each."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from seqloom.cli._parts import DataPart, PartOptions
from seqloom.data import Dataset
from seqloom.infer._kinds import kind_of
from seqloom.models import Trained

_EXAMPLES = 3


def warn_of_files(console: Console, files: Sequence[Path], parts: PartOptions) -> None:
    """Say which files are to teach and to choose or to judge."""
    for option, others in (("--valid", parts.valid), ("--test", parts.test)):
        for other in (it for it in others if any(it.samefile(file) for file in files)):
            console.print(
                f"warning: {option} {other} is a training file too; "
                "what it says of the model is too good"
            )


def warn_of_classes(console: Console, whole: Dataset) -> None:
    """Say which classes look like names, are of one record, or look like each other."""
    if whole.task != "classify":
        return
    classes, records = len(whole.classes), len(whole)
    noun = whole.noun
    if 2 * classes > records:
        console.print(
            f"warning: {classes:,} classes for {records:,} {noun}: hardly any two "
            "share one; numbers need --task regress, another column --label-column"
        )
    elif single := [name for name, count in whole.class_counts.items() if count == 1]:
        each, one = "each of " if len(single) > 1 else "", noun.removesuffix("s")
        console.print(
            f"warning: {each}{_list(single)} has a single {one}, which cannot both teach "
            f"and judge: correct the label where it is a slip, or add {one}s of the class"
        )
    _warn_of_similar_names(console, whole.classes)


def _warn_of_similar_names(console: Console, classes: Sequence[str]) -> None:
    """Say which classes are told apart by capitals or blanks alone."""
    spellings: dict[str, list[str]] = {}
    for name in classes:
        spellings.setdefault("".join(name.split()).casefold(), []).append(name)
    for names in spellings.values():
        if len(names) > 1:
            console.print(
                f"warning: {_list(names)} differ in capitals or blanks only and are read "
                "as several classes: write them alike in the labels if one is meant"
            )


def _list(names: Sequence[str]) -> str:
    """List classes, the first of them where there are many."""
    shown = ", ".join(map(repr, names[:_EXAMPLES]))
    more = ", ..." if len(names) > _EXAMPLES else ""
    return f"the class{'es' if len(names) > 1 else ''} {shown}{more}"


def warn_of_part(console: Console, part: DataPart) -> None:
    """Say which classes are asked for, but not taught."""
    if part.valid is None or part.train.task != "classify":
        return
    taught, asked = part.train.class_counts, part.valid.class_counts
    where = f"{part.title}: " if part.title else ""
    if untaught := [name for name in asked if asked[name] and not taught.get(name)]:
        console.print(
            f"warning: {where}the validation part has {_list(untaught)}, but the training "
            "part has no record of it to learn from"
        )


def warn_of_overlaps(console: Console, part: DataPart, test: Dataset | None) -> None:
    """Say how many parts of a genome judge a model that has seen letters of them."""
    if not kind_of(part.train).has_chromosomes:
        return
    for name, other in (("validation", part.valid), ("test", test)):
        count = 0 if other is None else count_overlaps(part.train, other)
        if count:
            console.print(
                f"warning: {count:,} of {len(other or ()):,} {name} intervals overlap "
                "training intervals, so that what they say of the model is too good; "
                f"--{name.removesuffix('ation')}-chromosomes keeps them apart"
            )


def count_overlaps(train: Dataset, others: Dataset) -> int:
    """Count the other intervals that overlap a training interval, jitter included."""
    train_spans, other_spans = _group_spans(train), _group_spans(others)
    return sum(
        _count_overlapping(train_spans[chromosome], spans)
        for chromosome, spans in other_spans.items()
        if chromosome in train_spans
    )


def _group_spans(data: Dataset) -> dict[str, NDArray[np.int64]]:
    """Group by chromosome: starts and stops of shape (2, intervals), widened by jitter."""
    chromosomes = np.asarray(data.group("chrom"))
    spans = np.array([data.group("start"), data.group("stop")], np.int64)
    spans += np.array([[-1], [1]]) * data.jitter
    return {str(name): spans[:, chromosomes == name] for name in np.unique(chromosomes)}


def _count_overlapping(train: NDArray[np.int64], others: NDArray[np.int64]) -> int:
    """Count the other spans on one chromosome that overlap a training span."""
    starts: NDArray[np.int64] = train[0]
    other_stops: NDArray[np.int64] = others[1]
    order = np.argsort(starts)
    max_stops = np.maximum.accumulate(train[1, order])
    # For each other span: how many training spans start before it stops. It overlaps one of
    # them if the largest of their stops is beyond its start.
    counts = np.searchsorted(starts[order], other_stops)
    overlaps = max_stops[np.maximum(counts - 1, 0)] > others[0]
    return int((overlaps & (counts > 0)).sum())


def warn_of_judges(console: Console, trained: Trained, files: Sequence[Path]) -> None:
    """Say which of the files that judge a model have taught it."""
    known = trained.trained_on
    for file in () if known is None else known.find_again(files):
        console.print(
            f"warning: the model was trained on {file}; what this says of the model is "
            "too good: give files that it has not seen"
        )
