"""Opens genome intervals on the command line, and splits them by chromosome."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.cli._options import IntervalOptions
from seqloom.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.data import Dataset, Labels
    from seqloom.data.interval._intervals import Intervals

_MAX_SHOWN = 3  # chromosomes that an error lists


def open_intervals(
    genome: Path,
    options: IntervalOptions,
    *,
    labels: "Labels",
    **settings: Any,
) -> "Dataset":
    """Opens the intervals with labels, from label tables or from the intervals' columns."""
    from seqloom.data import IntervalDataset
    from seqloom.data.interval._intervals import read_intervals

    intervals = read_intervals(options.intervals)
    data = IntervalDataset(
        genome,
        intervals,
        labels=_choose_labels(labels, intervals),
        **options.to_keywords(),
        **settings,
    )
    _check_one_class_each(intervals.what, data)
    return data


def hold_out(
    whole: Any, chromosomes: Sequence[str], option: str
) -> "tuple[Dataset, Dataset]":
    """Returns the rest, and the intervals of some chromosomes, which are not augmented."""
    names = whole.group("chrom")
    known = dict.fromkeys(names)
    for name in chromosomes:
        if name not in known:
            shown = ", ".join([*known][:_MAX_SHOWN]) + (
                ", ..." if len(known) > _MAX_SHOWN else ""
            )
            raise ArgumentError(
                f"{option} {name}: no interval has this chromosome; chromosomes: {shown}"
            )
    is_held = np.isin(names, chromosomes)
    if is_held.all():
        raise ArgumentError(
            f"{option}: all intervals have these chromosomes, no interval is left to train "
            "on; name fewer"
        )
    return whole.select(~is_held), whole.plain().select(is_held)


def are_intervals(data: Any) -> bool:
    """Returns True if the records are genome intervals."""
    from seqloom.data import Dataset

    return isinstance(data, Dataset) and data.source.kind == "IntervalDataset"


def count_overlaps(train: Any, others: Any) -> int:
    """Counts the other intervals that overlap a training interval, jitter included."""
    train_spans, other_spans = _group_spans(train), _group_spans(others)
    return sum(
        _count_overlapping(train_spans[chromosome], spans)
        for chromosome, spans in other_spans.items()
        if chromosome in train_spans
    )


def _group_spans(data: Any) -> "dict[str, NDArray[np.int64]]":
    """Groups by chromosome: starts and stops of shape (2, intervals), widened by jitter."""
    chromosomes = np.asarray(data.group("chrom"))
    spans = np.array([data.group("start"), data.group("stop")], np.int64)
    spans += np.array([[-1], [1]]) * data.jitter
    return {str(name): spans[:, chromosomes == name] for name in np.unique(chromosomes)}


def _count_overlapping(train: "NDArray[np.int64]", others: "NDArray[np.int64]") -> int:
    """Counts the other spans on one chromosome that overlap a training span."""
    starts: NDArray[np.int64] = train[0]
    other_stops: NDArray[np.int64] = others[1]
    order = np.argsort(starts)
    max_stops = np.maximum.accumulate(train[1, order])
    # For each other span: how many training spans start before it stops. It overlaps one of
    # them if the largest of their stops is beyond its start.
    counts = np.searchsorted(starts[order], other_stops)
    overlaps = max_stops[np.maximum(counts - 1, 0)] > others[0]
    return int((overlaps & (counts > 0)).sum())


def _choose_labels(labels: "Labels", intervals: "Intervals") -> "Labels":
    """Takes labels from the intervals' own columns where no table is given."""
    if labels.source == "file" and "file" in intervals.columns:
        raise LabelError(
            f"{intervals.what}: its column 'file' conflicts with --label-from-file: "
            "give --label-column file instead, or rename the column"
        )
    if labels.source is not None:
        return labels
    if labels.id_column:
        raise ArgumentError(
            "--id-column names a column of --labels TABLE: give --labels TABLE too"
        )
    columns = tuple(labels.label_column or ("label",))
    missing = [name for name in columns if name not in intervals.columns]
    if missing:
        from seqloom.data.label._table import list_names, name_nearest

        known = f"; it has {list_names(intervals.columns)}"
        known += f"{name_nearest(missing[0], intervals.columns)}: give one as "
        known += "--label-column, or"
        raise LabelError(
            f"{intervals.what}: has no column {missing[0]!r} for the labels"
            f"{known if intervals.columns else ': give'} --labels TABLE, or "
            "--label-from-file where each file is one class"
        )
    return replace(labels, source=columns)


def _check_one_class_each(what: str, data: "Dataset") -> None:
    """Refuses an interval that is listed with two different classes."""
    if data.task != "classify" or data.labels is None:
        return
    first: dict[str, int] = {}
    labels: list[int] = data.labels.tolist()
    pairs = zip(data.ids, labels, strict=True)
    conflicts = [
        (id_, label) for id_, label in pairs if first.setdefault(id_, label) != label
    ]
    if conflicts:
        name, label = conflicts[0]
        one, other = data.classes[first[name]], data.classes[label]
        raise LabelError(
            f"{what}: intervals listed with two different classes: {len(conflicts):,}, "
            f"such as {name}, as {one!r} and as {other!r}; keep one line for each interval"
        )
