"""Parts of a genome on the command line: how they are opened, and held out."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.cli._options import IntervalOptions, LabelOptions
from seqloom.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.data import IntervalDataset, Subset
    from seqloom.data.interval._intervals import Intervals

_SHOWN = 3


def open_intervals(
    genome: Path,
    options: IntervalOptions,
    *,
    labels: LabelOptions,
    columns: tuple[str, ...] = (),
    **settings: Any,
) -> "IntervalDataset":
    """Opens parts of a genome with their labels, from tables or columns of their own."""
    from seqloom.data import IntervalDataset
    from seqloom.data.interval._intervals import read_intervals

    columns = labels.label_column or columns or ("label",)
    found = read_intervals(options.intervals)
    data = IntervalDataset(
        genome,
        found,
        labels=_labels_of(labels, found, columns),
        id_column=labels.id_column or "id",
        label_column=columns[0] if len(columns) == 1 else columns,
        unlabelled=labels.unlabelled,
        **labels.to_marks(),
        **options.to_keywords(),
        **settings,
    )
    _check_agreement(found.what, data)
    return data


def hold_out(
    whole: Any, chromosomes: Sequence[str], option: str
) -> "tuple[Subset, Subset]":
    """Cuts the intervals of some chromosomes off; those stand still."""
    from seqloom.data import Subset
    from seqloom.data._subset import without_augment

    names = whole.group("chrom")
    known = dict.fromkeys(names)
    for name in chromosomes:
        if name not in known:
            shown = ", ".join([*known][:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
            raise ArgumentError(f"{option} {name}: no interval lies there, but in {shown}")
    is_held = np.isin(names, chromosomes)
    if is_held.all():
        raise ArgumentError(
            f"{option}: all intervals lie there, none is left to learn from"
        )
    return Subset(whole, ~is_held), Subset(without_augment(whole), is_held)


def are_intervals(data: Any) -> bool:
    """Says whether records are parts of a genome."""
    from seqloom.data import IntervalDataset

    return isinstance(getattr(data, "dataset", data), IntervalDataset)


def count_overlaps(train: Any, others: Any) -> int:
    """Counts the intervals that share a letter with a training interval, jitter and all."""
    taught, asked = _spans_of(train), _spans_of(others)
    return sum(
        _count_reached(taught[chrom], spans)
        for chrom, spans in asked.items()
        if chrom in taught
    )


def _spans_of(data: Any) -> "dict[str, NDArray[np.int64]]":
    """Lists starts and stops by chromosome, as far as jitter may move them."""
    chroms = np.asarray(data.group("chrom"))
    spans = np.array([data.group("start"), data.group("stop")], np.int64)
    spans += np.array([[-1], [1]]) * getattr(data, "dataset", data).jitter
    return {str(name): spans[:, chroms == name] for name in np.unique(chroms)}


def _count_reached(taught: "NDArray[np.int64]", asked: "NDArray[np.int64]") -> int:
    """Counts the spans that one of the others reaches into."""
    starts: NDArray[np.int64] = taught[0]
    stops: NDArray[np.int64] = asked[1]
    order = np.argsort(starts)
    furthest = np.maximum.accumulate(taught[1, order])
    before = np.searchsorted(starts[order], stops)  # so many begin before each one's stop
    reached = furthest[np.maximum(before - 1, 0)] > asked[0]
    return int((reached & (before > 0)).sum())


def _labels_of(options: LabelOptions, found: "Intervals", columns: tuple[str, ...]) -> Any:
    """Spells where labels come from as `IntervalDataset` takes it."""
    if options.label_from_file:
        if "file" in found.columns:
            raise LabelError(
                f"{found.what}: has a column 'file' itself: give --label-column file, or "
                "rename the column"
            )
        return "file"
    if options.labels:
        return list(options.labels)
    if options.id_column:
        raise ArgumentError("--id-column is of --labels TABLE: give that too")
    lacking = [name for name in columns if name not in found.columns]
    if lacking:
        known = f"; it has {', '.join(found.columns)}: give one as --label-column, or"
        raise LabelError(
            f"{found.what}: has no column {lacking[0]!r} of labels"
            f"{known if found.columns else ': give'} --labels TABLE, or --label-from-file "
            "where each file is a class"
        )
    return columns


def _check_agreement(what: str, data: "IntervalDataset") -> None:
    """Refuses intervals that stand twice, as two classes."""
    if data.task != "classify" or data.labels is None:
        return
    first: dict[str, int] = {}
    labels: list[int] = data.labels.tolist()
    pairs = zip(data.ids, labels, strict=True)
    found = [(it, label) for it, label in pairs if first.setdefault(it, label) != label]
    if found:
        name, label = found[0]
        one, other = data.classes[first[name]], data.classes[label]
        raise LabelError(
            f"{what}: intervals that stand there as two classes: {len(found):,}, such as "
            f"{name}, as {one!r} and as {other!r}; leave one line of each out"
        )
