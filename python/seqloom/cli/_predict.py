"""``seqloom predict``: a trained model on new files."""

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from seqloom._text import count_of
from seqloom.cli._check import check_free
from seqloom.cli._console import announce, open_console
from seqloom.cli._genotypes import files_read, open_unlabelled
from seqloom.cli._kinds import (
    Kind,
    check_exported,
    check_model,
    check_no_file_options,
    check_reading,
)
from seqloom.cli._options import (
    COVARIATE_DEFAULTS,
    INTERVAL_DEFAULTS,
    PATH,
    PATHS,
    QUIET_DEFAULTS,
    SEQUENCE_DEFAULTS,
    SEQUENCES,
    TRAINED_DEFAULTS,
    CovariateFileOptions,
    Flag,
    IntervalOptions,
    QuietOption,
    SequenceOptions,
    TrainedOptions,
)
from seqloom.cli._read import open_embeddings, show_left_out, show_letters
from seqloom.errors import ArgumentError, FileError

STREAM = "-"


def predict(
    model: Path,
    files: Annotated[list[str], PATHS],
    /,
    *,
    out: Annotated[str, PATH],
    overwrite: Flag = False,
    reverse_complement: Flag = False,
    id_column: Annotated[str, Parameter(group=SEQUENCES)] = "id",
    sequences: SequenceOptions = SEQUENCE_DEFAULTS,
    intervals: IntervalOptions = INTERVAL_DEFAULTS,
    covariates: CovariateFileOptions = COVARIATE_DEFAULTS,
    machine: TrainedOptions = TRAINED_DEFAULTS,
    shown: QuietOption = QUIET_DEFAULTS,
) -> None:
    """Score every sequence or sample once and write a table, in input order.

    The table has the id, then one column a class, named by the class (a label, a value).
    Intervals with names (BED's fourth column) have these in a second column, interval_name.

    Example: seqloom predict runs/splice new.fa.gz --out scores.tsv

    Parts of a genome: seqloom predict runs/p hg.fa --intervals new.bed --out scores.tsv

    In a pipe: zcat *.fa.gz | seqloom predict runs/splice - --out - | head

    Args:
        model: A run folder that `seqloom train` wrote, or what `seqloom export` wrote.
        files: Sequence files, tables with a column of sequences, - for standard input, or
            a PLINK .bed; its variants are found by id and alleles. With --intervals a
            genome. Of a head on embeddings the folder that `seqloom embed` wrote.
        out: The table to write: NAME.tsv, NAME.csv or NAME.parquet; or - for standard
            output.
        overwrite: Replace the table where it is there already.
        reverse_complement: Give the mean of the scores of a sequence and its reverse
            complement, for DNA and RNA whose strand does not matter.
        id_column: The column of ids, where FILES are tables.
        sequences: How sequences are read.
        intervals: Which parts of a genome are scored; their ids are such as chr1:9-99(+).
        covariates: What a model of genotypes reads beside them.
        machine: What computes.
        shown: What is printed.
    """
    from seqloom.infer import predict as score
    from seqloom.infer._score_bar import score_bar

    console = open_console(stderr=out == STREAM, quiet=shown.quiet)
    announce(console, machine)
    paths = paths_of(files)
    options: Any = {"sequences": sequences, "intervals": intervals}
    kind = check_reading(paths, covariates, **options)
    besides = [*covariates.covariates, *intervals.intervals]
    check_out(out, [*files_read(paths), *besides], overwrite=overwrite)
    check_table(out)
    options |= {"kind": kind, "id_column": id_column, "covariates": covariates}
    trained, data = open_both(console, model, paths, machine=machine, options=options)
    with score_bar(console) as tell:
        settings: Any = {"num_threads": machine.threads, "progress": tell}
        scores = score(trained, data, reverse_complement=reverse_complement, **settings)
    if out == STREAM:
        scores.to_tsv(sys.stdout)
    else:
        scores.save(out)
    noun = getattr(data, "noun", "sequences")
    where = "standard output" if out == STREAM else out
    console.print(f"scored {count_of(len(scores), noun)}: {where}")


def open_both(
    console: Console,
    model: Path,
    paths: list[Path],
    *,
    machine: TrainedOptions,
    options: dict[str, Any],
) -> tuple[Any, Any]:
    """Opens a model and files as it reads them; an exported one opens files itself."""
    from seqloom.infer._exported import find_exported
    from seqloom.models import load

    if (export := find_exported(model)) is not None:
        check_exported(machine, *map(options.get, ("sequences", "intervals", "covariates")))
        return export, paths
    trained = load(model, **machine.to_keywords())
    check_model(model, trained, options["kind"])
    data = _open_data(console, paths, trained.encoder, **options)
    if hasattr(data, "report"):
        show_letters(console, data)
        show_left_out(console, data)
    return trained, data


def paths_of(files: list[str]) -> list[Path]:
    """Gives the files' paths; standard input, which ends once, stands alone."""
    if STREAM in files and len(files) > 1:
        raise ArgumentError("-: standard input is read alone; give it, or files")
    return [Path(file) for file in files]


def _open_data(
    console: Console,
    files: list[Path],
    encoder: Any,
    *,
    kind: Kind,
    sequences: SequenceOptions,
    intervals: IntervalOptions,
    id_column: str,
    covariates: CovariateFileOptions,
) -> Any:
    """Opens files without labels."""
    from seqloom.data import IntervalDataset

    if kind == "genotypes":
        return open_unlabelled(console, files, encoder=encoder, covariates=covariates)
    if kind == "embeddings":
        return open_embeddings(files, layer=encoder.layer)
    if kind == "intervals":
        parts = intervals.to_keywords()
        return IntervalDataset(files[0], intervals.intervals, encoder=encoder, **parts)
    return _open_sequences(files, encoder, sequences, id_column=id_column)


def _open_sequences(
    files: list[Path], encoder: Any, sequences: SequenceOptions, *, id_column: str
) -> Any:
    """Opens sequence files; standard input is opened by `seqloom.infer`."""
    from seqloom.data import SequenceDataset

    if files == [Path(STREAM)]:
        check_no_file_options(sequences)
        return sys.stdin.buffer
    reading: dict[str, Any] = {**sequences.to_reading(), "id_column": id_column}
    return SequenceDataset(files, encoder=encoder, labels=False, **reading)


def check_out(out: str, files: list[Path], *, overwrite: bool) -> None:
    """Refuses a file that cannot be written, or that is there already."""
    if out != STREAM:
        _check_target(Path(out), files)
        check_free(Path(out), overwrite=overwrite)


def check_table(out: str) -> None:
    """Refuses a name of a format in which no table is written."""
    from seqloom.infer._scores import check_table_name

    if out != STREAM:
        check_table_name(out)


def _check_target(out: Path, files: list[Path]) -> None:
    """Finds out before the work, not after it, that a file cannot be written."""
    target = out.resolve()
    if _is_device(out.absolute()) or _is_device(target):
        raise FileError(
            f"{out}: cannot be written to; --out needs a file name, or - for "
            "standard output"
        )
    if target.exists() and not target.is_file():
        raise FileError(f"{out}: is not a regular file; --out names the file to write")
    folder = target.parent if out.is_symlink() else out.parent
    if not folder.is_dir():
        raise FileError(f"{out}: there is no folder {folder}; make it first")
    if target.exists() and any(file.exists() and target.samefile(file) for file in files):
        raise FileError(f"{out}: is one of the files to read; --out names another one")


def _is_device(path: Path) -> bool:
    """Says whether a path leads to the system rather than to a disk."""
    return path.is_relative_to("/dev") or path.is_relative_to("/proc")
