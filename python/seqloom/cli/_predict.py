"""``seqloom predict`` and ``seqloom evaluate``: a trained model on new files."""

import sys
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

from seqloom._text import count_of
from seqloom.cli._console import announce, check_free, open_console
from seqloom.cli._options import (
    FURTHER,
    GENOTYPES,
    INTERVALS,
    LABELS,
    MACHINE,
    OUTPUT,
    PATH,
    PATHS,
    SEQUENCES,
    Flag,
    FurtherOptions,
    TrainedOptions,
    takes_options,
)
from seqloom.cli._read import (
    STREAM,
    CovariateOptions,
    Inputs,
    IntervalOptions,
    LabelTables,
    find_given,
    refuse,
    show_left_out,
    show_letters,
)
from seqloom.cli._show import print_json, show_metrics
from seqloom.cli._warn import warn_of_judges
from seqloom.data import Dataset, Labels
from seqloom.data._inputs import SourceOptions
from seqloom.errors import ArgumentError, FileError
from seqloom.infer import evaluate as compute_metrics, predict as compute_scores
from seqloom.infer._exported import find_exported, refuse_exported
from seqloom.infer._score_bar import score_bar
from seqloom.infer._scores import check_table_name
from seqloom.models import Trained, load


@takes_options(
    shown="model files out overwrite quiet reverse_complement id_column sequence_column "
    "intervals length covariates backend threads set config"
)
def predict(
    model: Path,
    files: Annotated[list[str], PATHS],
    /,
    *,
    out: Annotated[str, PATH, OUTPUT],
    overwrite: Annotated[Flag, OUTPUT] = False,
    quiet: Annotated[Flag, OUTPUT] = False,
    reverse_complement: Annotated[Flag, SEQUENCES] = False,
    sequences: Annotated[SourceOptions, SEQUENCES],
    intervals: Annotated[IntervalOptions, INTERVALS],
    covariates: Annotated[CovariateOptions, GENOTYPES],
    machine: Annotated[TrainedOptions, MACHINE],
    further: Annotated[FurtherOptions, FURTHER],
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
        quiet: Print warnings and errors alone.
        reverse_complement: Give the mean of the scores of a sequence and its reverse
            complement, for DNA and RNA whose strand does not matter.
        sequences: How sequences are read.
        intervals: Which parts of a genome are scored; their ids are such as chr1:9-99(+).
        covariates: What a model of genotypes reads beside them.
        machine: What computes.
        further: Where other options come from.
    """
    del further  # read before the other options
    console = open_console(stderr=out == STREAM, quiet=quiet)
    announce(console, machine.backend, machine.threads)
    paths = paths_of(files)
    inputs = Inputs.of(paths, sequences, intervals, covariates)
    besides = [*covariates.covariates, *intervals.intervals]
    check_out(out, [*inputs.kind.list_files(paths), *besides], overwrite=overwrite)
    if out != STREAM:
        check_table_name(out)
    trained, data = open_both(console, model, inputs, machine=machine)
    with score_bar(console) as tell:
        scores = compute_scores(
            trained,
            data,
            reverse_complement=reverse_complement,
            num_threads=machine.threads,
            progress=tell,
        )
    if out == STREAM:
        scores.to_tsv(sys.stdout)
    else:
        scores.save(out)
    where = "standard output" if out == STREAM else out
    console.print(f"scored {count_of(len(scores), inputs.kind.noun)}: {where}")


@takes_options(
    shown="model files json quiet reverse_complement labels label_column id_column "
    "label_from_header label_from_file sequence_column intervals length covariates "
    "backend threads set config",
    without="task classes",  # those of the model
)
def evaluate(
    model: Path,
    files: list[Path],
    /,
    *,
    json: Annotated[Flag, OUTPUT] = False,
    quiet: Annotated[Flag, OUTPUT] = False,
    reverse_complement: Annotated[Flag, SEQUENCES] = False,
    tables: Annotated[LabelTables, LABELS],
    labels: Annotated[Labels, LABELS],
    sequences: Annotated[SourceOptions, SEQUENCES],
    intervals: Annotated[IntervalOptions, INTERVALS],
    covariates: Annotated[CovariateOptions, GENOTYPES],
    machine: Annotated[TrainedOptions, MACHINE],
    further: Annotated[FurtherOptions, FURTHER],
) -> None:
    """Compare a trained model's scores with labels.

    Example: seqloom evaluate runs/splice test.fa.gz --labels test.tsv

    Args:
        model: A run folder that `seqloom train` wrote.
        files: Sequence files, tables with a column of sequences, or a PLINK .bed; with
            --intervals a genome.
        reverse_complement: Evaluate the mean of the scores of a sequence and its reverse
            complement, for DNA and RNA whose strand does not matter.
        json: Print the results as one JSON object; all else goes to standard error.
        quiet: Print warnings, errors and the table of results alone.
        tables: Where labels are.
        labels: How labels are read.
        sequences: How sequences are read.
        intervals: Which parts of a genome are read.
        covariates: What a model of genotypes reads beside them.
        machine: What computes.
        further: Where other options come from.
    """
    del further  # read before the other options
    inputs = Inputs.of(files, sequences, intervals, covariates, tables, labels)
    inputs.check_labels()
    console = open_console(stderr=json, quiet=quiet)
    announce(console, machine.backend, machine.threads)
    refuse_exported(model)
    trained = load(model, **machine.to_keywords())
    inputs.kind.check_model(model, trained.encoder)
    data = inputs.open_like(console, trained, tables.to_labels(labels))
    console.print(str(data))
    show_letters(console, data)
    show_left_out(console, data)
    warnings = open_console(stderr=True) if quiet else console
    warn_of_judges(warnings, trained, intervals.intervals or files)
    with score_bar(console) as tell:
        metrics = compute_metrics(
            trained,
            data,
            reverse_complement=reverse_complement,
            num_threads=machine.threads,
            progress=tell,
        )
    _print_metrics(model, trained, data, metrics=metrics, as_json=json)


def _print_metrics(
    model: Path,
    trained: Trained,
    data: Dataset,
    *,
    metrics: dict[str, float],
    as_json: bool,
) -> None:
    """Print the metrics as a table, or with their intervals as JSON."""
    task = trained.task.name
    if not as_json:
        show_metrics(open_console(), {str(model): metrics}, task=task, noun=data.noun)
        return
    from seqloom.train._evaluation import find_intervals

    found = find_intervals(trained.task, metrics, data.labels)
    facts = {"model": str(model), "task": task, "metrics": metrics}
    print_json({**facts, "intervals": found})


def open_both(
    console: Console, model: Path, inputs: Inputs, *, machine: TrainedOptions
) -> tuple[Any, Any]:
    """Open a model and files as it reads them; an exported one opens files itself."""
    if (export := find_exported(model)) is not None:
        names = [*find_given(machine), *inputs.given]
        why = "not with an exported model; give the run folder that it is of"
        refuse([name for name in names if name not in {"threads", "id_column"}], why)
        return export, inputs.files
    trained = load(model, **machine.to_keywords())
    inputs.kind.check_model(model, trained.encoder)
    data = inputs.open_unlabelled(console, trained.encoder)
    if isinstance(data, Dataset):
        show_letters(console, data)
        show_left_out(console, data)
    return trained, data


def paths_of(files: list[str]) -> list[Path]:
    """Return the files' paths; standard input, which ends once, is read alone."""
    if STREAM in files and len(files) > 1:
        raise ArgumentError("-: standard input is read alone; give it, or files")
    return [Path(file) for file in files]


def check_out(out: str, files: list[Path], *, overwrite: bool) -> None:
    """Raise before the work, not after it, if a file cannot be written."""
    if out == STREAM:
        return
    path = Path(out)
    target = path.resolve()
    for place in (path.absolute(), target):
        if place.is_relative_to("/dev") or place.is_relative_to("/proc"):
            raise FileError(
                f"{out}: cannot be written to; --out needs a file name, or - for "
                "standard output"
            )
    if target.exists() and not target.is_file():
        raise FileError(f"{out}: is not a regular file; --out names the file to write")
    folder = target.parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise FileError(f"{out}: there is no folder {folder}; make it first")
    if target.exists() and any(file.exists() and target.samefile(file) for file in files):
        raise FileError(f"{out}: is one of the files to read; --out names another one")
    check_free(path, overwrite=overwrite)
