"""The training, validation and test records of `seqloom train`: options, groups, folds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from seqloom.cli._options import Files, Folds, Several
from seqloom.cli._read import Inputs, show_letters
from seqloom.data import Dataset, Labels, folds, split
from seqloom.data._parts import hash_letters
from seqloom.data.label._labels import MISSING
from seqloom.data.label._source import labels_by_id
from seqloom.data.label._table import column_position, read_frame
from seqloom.errors import ArgumentError, LabelError
from seqloom.infer._kinds import Kind

DEFAULT_SHARE = 0.1
# This number of different sequences for each part is enough to keep equal ones together.
_MIN_SEQUENCES = 10
_MAX_SHOWN = 3  # chromosomes that an error lists


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOptions:
    """Says which records choose the epoch, and which judge the result.

    Args:
        valid: Files to choose the epoch by; of --intervals, other intervals.
        valid_chromosomes: Choose the epoch by all intervals of these chromosomes.
        valid_share: Or this share of FILES, cut off first, by default 0.1; 0: keep the last
            epoch.
        folds: Or cross-validation: the number of parts, each of which is left out once.
        groups: Tables of groups, such as families or donors, joined by id as labels are:
            --valid-share and --folds cut no group.
        group_column: The column of groups, by default group. Without --groups one of
            --labels, of FILES or of --intervals; or file; or sequence, where equal
            sequences are a group; or fid of a .bed.
        test: Files to score once, after training; of --intervals, other intervals.
        test_chromosomes: Score all intervals of these chromosomes once, after training.
    """

    valid: Files = ()
    valid_chromosomes: Several = ()
    valid_share: float | None = None
    folds: Folds | None = None
    groups: Files = ()
    group_column: str | None = None
    test: Files = ()
    test_chromosomes: Several = ()


def check_parts(options: PartOptions, kind: Kind) -> None:
    """Raise for two ways to choose the epoch, and for a test part with folds."""
    _check_chromosomes(options, kind)
    given = {
        "--valid": bool(options.valid),
        "--valid-chromosomes": bool(options.valid_chromosomes),
        "--valid-share": options.valid_share is not None,
        "--folds": options.folds is not None,
    }
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise ArgumentError(f"{' and '.join(names)} exclude each other: give one")
    if options.folds is not None and (options.test or options.test_chromosomes):
        raise ArgumentError(
            "--folds compares settings, --test judges the ones that were chosen: "
            "give --test to a later run, without --folds"
        )
    is_cut = options.valid_share != 0 and not (options.valid or options.valid_chromosomes)
    if (options.groups or options.group_column) and not is_cut:
        raise ArgumentError(
            "--groups and --group-column: only where FILES are cut, by --valid-share or "
            "--folds"
        )
    share = options.valid_share
    if share is not None and not 0 <= share < 1:
        raise ArgumentError(f"--valid-share must be at least 0 and below 1, got {share}")


def _check_chromosomes(options: PartOptions, kind: Kind) -> None:
    """Raise for chromosomes of records without, and for one in two parts."""
    given = {
        "--valid-chromosomes": options.valid_chromosomes,
        "--test-chromosomes": options.test_chromosomes,
    }
    names = [name for name, chromosomes in given.items() if chromosomes]
    if names and not kind.has_chromosomes:
        raise ArgumentError(f"{' and '.join(names)}: only with --intervals BED")
    if options.test and options.test_chromosomes:
        raise ArgumentError("--test and --test-chromosomes exclude each other: give one")
    if shared := set(options.valid_chromosomes).intersection(options.test_chromosomes):
        raise ArgumentError(
            f"{' and '.join(names)} both name {', '.join(sorted(shared))}: a chromosome "
            "is of one part"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """Holds the records to train on and, where options name them, those of other parts."""

    whole: Dataset
    valid: Dataset | None
    test: Dataset | None

    @property
    def present(self) -> list[Dataset]:
        """The parts that exist."""
        return [it for it in (self.whole, self.valid, self.test) if it is not None]


def open_parts(
    console: Console,
    inputs: Inputs,
    parts: PartOptions,
    *,
    labels: Labels,
    encoding: dict[str, Any],
) -> TrainingData:
    """Open the training records, and the validation and test records that are named."""
    whole = inputs.open(console, labels=labels, **encoding)
    console.print(str(whole))
    if whole.labels is None:
        is_table = inputs.kind.reads_tables
        also = ", or of a table its column, --label-column" if is_table else ""
        raise LabelError(
            f"{inputs.files[0]}: holds no labels to learn: give --labels TABLE{also}"
        )
    show_letters(console, whole)
    if labels.task == "auto":
        console.print(f"task {whole.task}, guessed from the labels; --task names another")
    valid, test = (
        _open_part(console, whole, inputs, option=option, files=files, labels=labels)
        for option, files in (("--valid", parts.valid), ("--test", parts.test))
    )
    if parts.test_chromosomes:
        whole, test = hold_out(whole, parts.test_chromosomes, "--test-chromosomes")
    return TrainingData(whole=whole, valid=valid, test=test)


def _open_part(
    console: Console,
    whole: Dataset,
    inputs: Inputs,
    *,
    option: str,
    files: Sequence[Path],
    labels: Labels,
) -> Dataset | None:
    """Open the files of the validation or test part, if there are any."""
    if not files:
        return None
    if "intervals" in inputs.given:  # files of intervals, in the same genome
        given = {**inputs.given, "intervals": tuple(files), "jitter": 0}
        inputs = replace(inputs, given=given)
    else:
        inputs = replace(inputs, files=files)
    try:
        return inputs.open_like(console, whole, labels)
    except LabelError as error:
        place = "where those of FILES do: its headers, its name, or a column of its table"
        if tables := inputs.given.get("labels"):
            names = " ".join(map(str, tables))
            place = (
                f"--labels too: give its table there as well (--labels {names} MORE.tsv)"
            )
        error.add_note(
            f"{option} files need labels, which come from {place}; `seqloom predict` "
            "scores files without labels"
        )
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPart:
    """Holds what one run learns from, chooses by and writes to."""

    train: Dataset
    valid: Dataset | None
    folder: Path
    title: str = ""


def parts_of(
    data: TrainingData, options: PartOptions, *, folder: Path, seed: int, groups: Any
) -> Iterator[DataPart]:
    """Yield the one run to make, or one for each fold, in a folder of its own."""
    whole, count = data.whole, options.folds
    if count is not None:
        groups = _equal_sequences(whole, count) if groups is None else groups
        pairs = folds(whole, count, groups=groups, seed=seed)
        for number, (train, valid) in enumerate(pairs, start=1):
            title, home = f"fold {number} of {count}", folder / f"fold-{number}"
            yield DataPart(train=train, valid=valid, folder=home, title=title)
        return
    train, valid = whole, data.valid
    share = DEFAULT_SHARE if options.valid_share is None else options.valid_share
    if valid is None and options.valid_chromosomes:
        names = options.valid_chromosomes
        train, valid = hold_out(whole, names, "--valid-chromosomes")
    elif valid is None and share:  # a share of 0 leaves nothing to choose the epoch by
        groups = _equal_sequences(whole, 2) if groups is None else groups
        train, valid = split(whole, (1 - share, share), groups=groups, seed=seed)
    yield DataPart(train=train, valid=valid, folder=folder)


def _equal_sequences(whole: Dataset, parts: int) -> str | None:
    """Keep equal sequences in one part, where there are any, and enough of others."""
    hashes = hash_letters(whole)
    distinct = 0 if hashes is None else len(np.unique(hashes))
    return "sequence" if _MIN_SEQUENCES * parts <= distinct < len(whole) else None


def hold_out(
    whole: Dataset, chromosomes: Sequence[str], option: str
) -> tuple[Dataset, Dataset]:
    """Return the rest, and the intervals of some chromosomes, which are not augmented."""
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


def groups_of(whole: Dataset, inputs: Inputs, parts: PartOptions, *, labels: Labels) -> Any:
    """Return the groups that --groups or --group-column names; None without either."""
    column = parts.group_column or "group"
    tables = parts.groups or inputs.given.get("labels", ())
    kind = inputs.kind
    if not parts.groups:
        if parts.group_column is None:
            return None
        try:
            return whole.group(column)
        except ArgumentError as error:
            # FILES are tables with further columns if sequences in files have labels.
            is_table = kind.reads_tables and kind.has_labels(inputs.files, **inputs.given)
            if not tables and not is_table:
                error.add_note("--groups TABLE names a table with a column of groups")
                raise
    if not tables:
        return _read_groups(whole, inputs.files, column)
    id_column = labels.id_column or kind.id_column
    options = Labels(list(tables), id_column=id_column, label_column=column)
    cells = labels_by_id(options).cells
    return {name: _group(group) for name, (group, *_) in cells.items()}


def _read_groups(whole: Dataset, files: Sequence[Path], column: str) -> list[Any]:
    """Read a column of the tables that sequences are in."""
    frames = [read_frame(str(file)) for file in files]
    for frame in frames:
        column_position(frame.what, frame.names, column, hint="--group-column")
    cells = list(chain.from_iterable(frame.column(column) for frame in frames))
    return [_group(cells[row]) for row in whole.group("ordinal")]


def _group(cell: Any) -> Any:
    """Return a group; None for a mark of a missing value."""
    return None if cell in MISSING else cell
