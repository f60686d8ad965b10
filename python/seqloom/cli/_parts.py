"""Options and data of the training, validation and test sets of `seqloom train`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from seqloom.cli._options import Files, Folds, Several
from seqloom.cli._read import CommandInputs, show_residue_counts
from seqloom.data import Dataset, Labels, folds, split
from seqloom.data._parts import hash_sequences
from seqloom.data.label._labels import MISSING_TEXTS
from seqloom.data.label._source import read_labels_by_id
from seqloom.data.label._table import column_position, read_frame
from seqloom.errors import ArgumentError, LabelError
from seqloom.infer._kinds import Kind

VALID_SHARE = 0.1
# Duplicates stay in one set if there are at least this many distinct sequences per set.
_MIN_SEQUENCES = 10
_MAX_SHOWN_NAMES = 3  # maximum number of chromosomes in an error message


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOptions:
    """Options that choose the validation and test sets.

    Args:
        valid: Files of the validation set, on which the best epoch is selected. With
            --intervals, give files of intervals.
        valid_chromosomes: Use all intervals on these chromosomes as the validation set.
        valid_share: Hold out this fraction of the records of FILES as the validation set,
            by default 0.1. With a fraction of 0, there is no validation set, and the last
            epoch is saved.
        folds: Cross-validate with this number of folds.
        groups: Tables of groups, such as families or donors, which are joined to records by
            id. --valid-share and --folds never divide a group between two sets.
        group_column: The column of groups, by default group. Without --groups, the column
            is read from the tables of --labels, FILES or --intervals. Special names are
            file (a group for each file), sequence (a group of equal sequences), similar
            (sequences that share half of their k-mers), homology (a quarter of them) and
            fid (families of a .bed).
        test: Files of the test set, which is scored once after training. With
            --intervals, give files of intervals.
        test_chromosomes: Use all intervals on these chromosomes as the test set.
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
    """Raise if options of the validation and test sets contradict each other."""
    _check_chromosomes(options, kind)
    given = {
        "--valid": bool(options.valid),
        "--valid-chromosomes": bool(options.valid_chromosomes),
        "--valid-share": options.valid_share is not None,
        "--folds": options.folds is not None,
    }
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise ArgumentError(f"{' and '.join(names)} exclude each other: give only one")
    if options.folds is not None and (options.test or options.test_chromosomes):
        raise ArgumentError(
            "--folds compares settings, and --test evaluates the final settings: "
            "give --test to a later run, without --folds"
        )
    is_cut = options.valid_share != 0 and not (options.valid or options.valid_chromosomes)
    if (options.groups or options.group_column) and not is_cut:
        raise ArgumentError(
            "--groups and --group-column need a split of FILES, by --valid-share or --folds"
        )
    share = options.valid_share
    if share is not None and not 0 <= share < 1:
        raise ArgumentError(f"--valid-share must be at least 0 and below 1, got {share}")


def _check_chromosomes(options: PartOptions, kind: Kind) -> None:
    """Raise if FILES have no chromosomes, or if two sets would share a chromosome."""
    given = {
        "--valid-chromosomes": options.valid_chromosomes,
        "--test-chromosomes": options.test_chromosomes,
    }
    names = [name for name, chromosomes in given.items() if chromosomes]
    if names and not kind.has_chromosomes:
        raise ArgumentError(f"{' and '.join(names)}: only with --intervals BED")
    if options.test and options.test_chromosomes:
        raise ArgumentError(
            "--test and --test-chromosomes exclude each other: give only one"
        )
    if shared := set(options.valid_chromosomes).intersection(options.test_chromosomes):
        raise ArgumentError(
            f"{' and '.join(names)} both contain {', '.join(sorted(shared))}: a chromosome "
            "can belong to only one set"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """Training records, and validation and test records that were given by options."""

    whole: Dataset
    valid: Dataset | None
    test: Dataset | None

    @property
    def present(self) -> list[Dataset]:
        """The training, validation and test sets that exist."""
        return [it for it in (self.whole, self.valid, self.test) if it is not None]


def open_parts(
    console: Console,
    inputs: CommandInputs,
    parts: PartOptions,
    *,
    labels: Labels,
    encoding: dict[str, Any],
) -> TrainingData:
    """Open the training records, and the validation and test records given by options."""
    whole = inputs.open(console, labels=labels, **encoding)
    console.print(str(whole))
    if whole.labels is None:
        is_table = inputs.kind.reads_tables
        also = ", or the table's column as --label-column" if is_table else ""
        raise LabelError(
            f"{inputs.files[0]}: contains no labels: give --labels TABLE{also}"
        )
    show_residue_counts(console, whole)
    if labels.task == "auto":
        console.print(f"task {whole.task}, inferred from the labels; --task sets another")
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
    inputs: CommandInputs,
    *,
    option: str,
    files: Sequence[Path],
    labels: Labels,
) -> Dataset | None:
    """Open the files of the validation or test set; return None if there are no files."""
    if not files:
        return None
    if "intervals" in inputs.given:  # intervals of the same genome
        given = {**inputs.given, "intervals": tuple(files), "jitter": 0}
        inputs = replace(inputs, given=given)
    else:
        inputs = replace(inputs, files=files)
    try:
        return inputs.open_like(console, whole, labels)
    except LabelError as error:
        place = "the same source as for FILES: headers, file name, or a table column"
        if tables := inputs.given.get("labels"):
            names = " ".join(map(str, tables))
            place = f"--labels: add the table of these files (--labels {names} MORE.tsv)"
        error.add_note(
            f"{option} files need labels, which come from {place}; `seqloom predict` "
            "scores files without labels"
        )
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPart:
    """Datasets and output folder of one run or fold."""

    train: Dataset
    valid: Dataset | None
    folder: Path
    title: str = ""


def split_parts(
    data: TrainingData, options: PartOptions, *, folder: Path, seed: int, groups: Any
) -> Iterator[DataPart]:
    """Yield the datasets and the output folder of the run, or of each fold."""
    whole, count = data.whole, options.folds
    if count is not None:
        groups = _duplicate_groups(whole, count) if groups is None else groups
        pairs = folds(whole, count, groups=groups, seed=seed)
        for number, (train, valid) in enumerate(pairs, start=1):
            title, home = f"fold {number} of {count}", folder / f"fold-{number}"
            yield DataPart(train=train, valid=valid, folder=home, title=title)
        return
    train, valid = whole, data.valid
    share = VALID_SHARE if options.valid_share is None else options.valid_share
    if valid is None and options.valid_chromosomes:
        names = options.valid_chromosomes
        train, valid = hold_out(whole, names, "--valid-chromosomes")
    elif valid is None and share:  # with a fraction of 0, all records are training records
        groups = _duplicate_groups(whole, 2) if groups is None else groups
        train, valid = split(whole, (1 - share, share), groups=groups, seed=seed)
    yield DataPart(train=train, valid=valid, folder=folder)


def _duplicate_groups(whole: Dataset, parts: int) -> str | None:
    """Return groups of duplicate sequences, or None if no sequence is repeated."""
    hashes = hash_sequences(whole)
    distinct = 0 if hashes is None else len(np.unique(hashes))
    return "sequence" if _MIN_SEQUENCES * parts <= distinct < len(whole) else None


def hold_out(
    whole: Dataset, chromosomes: Sequence[str], option: str
) -> tuple[Dataset, Dataset]:
    """Separate the intervals on some chromosomes, and disable their augmentation."""
    names = whole.group("chrom")
    known = dict.fromkeys(names)
    for name in chromosomes:
        if name not in known:
            shown = ", ".join([*known][:_MAX_SHOWN_NAMES]) + (
                ", ..." if len(known) > _MAX_SHOWN_NAMES else ""
            )
            raise ArgumentError(
                f"{option} {name}: no interval has this chromosome; chromosomes: {shown}"
            )
    is_held = np.isin(names, chromosomes)
    if is_held.all():
        raise ArgumentError(
            f"{option}: all intervals are on these chromosomes, so none are left for "
            "training; name fewer chromosomes"
        )
    return whole.select(~is_held), whole.plain().select(is_held)


def read_groups(
    whole: Dataset, inputs: CommandInputs, parts: PartOptions, *, labels: Labels
) -> Any:
    """Return the groups of --groups or --group-column; None if neither option is given."""
    column = parts.group_column or "group"
    tables = parts.groups or inputs.given.get("labels", ())
    kind = inputs.kind
    if not parts.groups:
        if parts.group_column is None:
            return None
        try:
            return whole.group(column)
        except ArgumentError as error:
            # Without --labels, sequences with labels come from tables, which may have a
            # column of groups.
            is_table = kind.reads_tables and kind.has_labels(inputs.files, **inputs.given)
            if not tables and not is_table:
                error.add_note("pass --groups TABLE if another table contains this column")
                raise
    if not tables:
        return _read_groups(whole, inputs.files, column)
    id_column = labels.id_column or kind.id_column
    options = Labels(list(tables), id_column=id_column, label_column=column)
    cells = read_labels_by_id(options).cells
    return {name: _parse_group(group) for name, (group, *_) in cells.items()}


def _read_groups(whole: Dataset, files: Sequence[Path], column: str) -> list[Any]:
    """Read a column of groups from the tables that contain the sequences."""
    frames = [read_frame(str(file)) for file in files]
    for frame in frames:
        column_position(frame.what, frame.names, column, hint="--group-column")
    cells = list(chain.from_iterable(frame.column(column) for frame in frames))
    return [_parse_group(cells[row]) for row in whole.group("ordinal")]


def _parse_group(cell: Any) -> Any:
    """Convert a table cell to a group, or None if the value is missing."""
    return None if cell in MISSING_TEXTS else cell
