"""Options that do not go together, found before any sequence is read."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from seqloom.cli._kinds import Kind
from seqloom.cli._options import (
    FolderOptions,
    LabelOptions,
    PartOptions,
    SequenceOptions,
)
from seqloom.errors import ArgumentError, FileError


def check_labels(
    options: LabelOptions, files: Sequence[Path], *, sequences: SequenceOptions, kind: Kind
) -> None:
    """Refuses a command line without labels; all but sequence files may hold their own."""
    if kind == "genotypes":
        return
    given = {
        "--labels": bool(options.labels),
        "--label-from-header": options.label_from_header is not None,
        "--label-from-file": options.label_from_file,
    }
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise ArgumentError(f"{' and '.join(names)} exclude each other: give one")
    if not names and kind == "embeddings":
        raise ArgumentError(
            "no labels: give --labels TABLE, joined to the embeddings by id"
        )
    if not names and kind == "sequences" and not are_tables(files, sequences):
        raise ArgumentError(
            "no labels: give --labels TABLE, --label-from-header REGEX, or "
            "--label-from-file where each file is a class"
        )


def are_tables(files: Sequence[Path], sequences: SequenceOptions) -> bool:
    """Says whether all files are tables of sequences, with labels perhaps."""
    from seqloom.data._sources import is_sequence_table

    return all(is_sequence_table(file, sequences.sequence_column) for file in files)


def check_folder(options: FolderOptions) -> None:
    """Refuses to go on with a run and to replace it at once."""
    if options.resume and options.overwrite:
        raise ArgumentError("--resume and --overwrite exclude each other: give one")


def check_free(*targets: Path | None, overwrite: bool) -> None:
    """Refuses to replace a file unasked."""
    for target in targets:
        if target is not None and target.is_file() and not overwrite:
            raise FileError(f"{target}: is there already; --overwrite replaces it")


def holds_run(out: Path) -> bool:
    """Says whether a run was begun in a folder, or in its folds'."""
    begun = (out.glob(name) for name in ("config.json", "fold-*/config.json"))
    return any(chain.from_iterable(begun))


def check_parts(options: PartOptions, kind: Kind) -> None:
    """Refuses two ways to choose the epoch, and a test part for every fold."""
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
    """Refuses chromosomes where there are none, and one for two parts."""
    given = {
        "--valid-chromosomes": options.valid_chromosomes,
        "--test-chromosomes": options.test_chromosomes,
    }
    names = [name for name, chromosomes in given.items() if chromosomes]
    if names and kind != "intervals":
        raise ArgumentError(f"{' and '.join(names)}: only with --intervals BED")
    if options.test and options.test_chromosomes:
        raise ArgumentError("--test and --test-chromosomes exclude each other: give one")
    if shared := set(options.valid_chromosomes).intersection(options.test_chromosomes):
        raise ArgumentError(
            f"{' and '.join(names)} both name {', '.join(sorted(shared))}: a chromosome "
            "is of one part"
        )
