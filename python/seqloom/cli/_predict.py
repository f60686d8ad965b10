"""``seqloom predict`` and ``seqloom evaluate``: apply a trained model to files."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

from rich.console import Console

from seqloom._text import format_count
from seqloom.cli._console import check_not_existing, open_console, print_setup
from seqloom.cli._options import (
    FURTHER_GROUP,
    GENOTYPE_GROUP,
    INTERVAL_GROUP,
    LABEL_GROUP,
    MACHINE_GROUP,
    OUTPUT_GROUP,
    PATH,
    PATHS,
    SEQUENCE_GROUP,
    Flag,
    FurtherOptions,
    TrainedOptions,
    takes_options,
)
from seqloom.cli._read import (
    STDIN,
    CommandInputs,
    CovariateOptions,
    IntervalOptions,
    LabelTables,
    changed_options,
    reject_options,
    show_residue_counts,
    show_skipped,
)
from seqloom.cli._show import print_json, show_metrics
from seqloom.cli._warn import warn_about_training_files
from seqloom.data import Dataset, Labels
from seqloom.data._inputs import SourceOptions
from seqloom.errors import ArgumentError, FileError
from seqloom.infer import (
    evaluate as compute_metrics,
    predict as compute_scores,
    predict_tracks,
)
from seqloom.infer._exported import find_exported, reject_exported
from seqloom.infer._predict_tracks import list_track_paths
from seqloom.infer._score_bar import score_bar
from seqloom.infer._scores import find_table_format
from seqloom.io._track_writer import TRACK_SUFFIXES
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
    out: Annotated[str, PATH, OUTPUT_GROUP],
    overwrite: Annotated[Flag, OUTPUT_GROUP] = False,
    quiet: Annotated[Flag, OUTPUT_GROUP] = False,
    reverse_complement: Annotated[Flag, SEQUENCE_GROUP] = False,
    sequences: Annotated[SourceOptions, SEQUENCE_GROUP],
    intervals: Annotated[IntervalOptions, INTERVAL_GROUP],
    covariates: Annotated[CovariateOptions, GENOTYPE_GROUP],
    machine: Annotated[TrainedOptions, MACHINE_GROUP],
    further: Annotated[FurtherOptions, FURTHER_GROUP],
) -> None:
    """Score sequences or samples and write a table in input order.

    The table has a column id, and a column for each class, label or value. For intervals
    with names (column 4 of BED), the second column, interval_name, contains the names.

    Example: seqloom predict runs/splice new.fa.gz --out scores.tsv

    To score genome intervals: seqloom predict runs/p hg.fa --intervals new.bed --out
    scores.tsv

    To write the counts of tracks: seqloom predict runs/atac hg.fa --intervals new.bed
    --out pred.bw

    In a pipe: zcat *.fa.gz | seqloom predict runs/splice - --out - | head

    Args:
        model: A run folder that `seqloom train` wrote, or a model that `seqloom export`
            wrote.
        files: Sequence files, tables with a column of sequences, or - for standard input;
            or a PLINK .bed, whose variants are matched by id and alleles. With --intervals,
            FILES is a genome. For a model of embeddings, FILES is the folder that `seqloom
            embed` wrote.
        out: The table to write: NAME.tsv, NAME.csv or NAME.parquet; - for standard
            output; or NAME.bw for tracks of intervals.
        overwrite: Replace the file if it exists.
        quiet: Print only warnings and errors.
        reverse_complement: Average the scores of a sequence and its reverse complement, for
            DNA or RNA from an unknown strand.
        sequences: Options for reading sequences.
        intervals: Intervals of a genome, with ids such as chr1:9-99(+).
        covariates: Options for reading genotypes and covariates.
        machine: Backend and threads.
        further: Options that --help does not list.
    """
    del further  # `fill_options` has applied these options
    console = open_console(stderr=out == STDIN, quiet=quiet)
    print_setup(console, machine.backend, machine.threads)
    paths = check_paths(files)
    inputs = CommandInputs.of(paths, sequences, intervals, covariates)
    besides = [*covariates.covariates, *intervals.intervals]
    check_output_path(out, [*inputs.kind.list_files(paths), *besides], overwrite=overwrite)
    is_track = Path(out).suffix.lower() in TRACK_SUFFIXES
    if out != STDIN and not is_track:
        find_table_format(out)
    trained, data = open_model_and_inputs(console, model, inputs, machine=machine)
    if is_track:
        _check_tracks(trained, out, overwrite=overwrite)
    compute: Any = partial(predict_tracks, out=out) if is_track else compute_scores
    with score_bar(console) as report:
        scores = compute(
            trained,
            data,
            reverse_complement=reverse_complement,
            num_threads=machine.threads,
            progress=report,
        )
    count = format_count(len(data if is_track else scores), inputs.kind.noun)
    where = _write_scores(scores, out)
    console.print(f"scored {count}: {where}")


def _write_scores(scores: Any, out: str) -> str:
    """Write a table; return its place, or the places of tracks, which are written."""
    if isinstance(scores, list):
        return ", ".join(map(str, cast("list[Path]", scores)))
    if out == STDIN:
        scores.to_tsv(sys.stdout)
        return "standard output"
    scores.save(out)
    return out


def _check_tracks(trained: Any, out: str, *, overwrite: bool) -> None:
    """Raise if a model has no tracks, or if one of their files exists."""
    reject_exported(trained)
    for path in list_track_paths(trained, out):
        check_not_existing(path, overwrite=overwrite)


@takes_options(
    shown="model files json quiet reverse_complement labels label_column id_column "
    "label_from_header label_from_file sequence_column intervals length covariates "
    "backend threads set config",
    without="task classes",  # the trained model sets these options
)
def evaluate(
    model: Path,
    files: list[Path],
    /,
    *,
    json: Annotated[Flag, OUTPUT_GROUP] = False,
    quiet: Annotated[Flag, OUTPUT_GROUP] = False,
    reverse_complement: Annotated[Flag, SEQUENCE_GROUP] = False,
    tables: Annotated[LabelTables, LABEL_GROUP],
    labels: Annotated[Labels, LABEL_GROUP],
    sequences: Annotated[SourceOptions, SEQUENCE_GROUP],
    intervals: Annotated[IntervalOptions, INTERVAL_GROUP],
    covariates: Annotated[CovariateOptions, GENOTYPE_GROUP],
    machine: Annotated[TrainedOptions, MACHINE_GROUP],
    further: Annotated[FurtherOptions, FURTHER_GROUP],
) -> None:
    """Evaluate a trained model on labelled data.

    Example: seqloom evaluate runs/splice test.fa.gz --labels test.tsv

    Args:
        model: A run folder that `seqloom train` wrote.
        files: Sequence files, tables with a column of sequences, or a PLINK .bed; with
            --intervals, a genome.
        reverse_complement: Evaluate the average score of a sequence and its reverse
            complement, for DNA or RNA from an unknown strand.
        json: Print the results as one JSON object, and all other output to standard error.
        quiet: Print only warnings, errors and the results.
        tables: Tables of labels.
        labels: Options of labels.
        sequences: Options for reading sequences.
        intervals: Intervals of a genome.
        covariates: Options for reading genotypes and covariates.
        machine: Backend and threads.
        further: Options that --help does not list.
    """
    del further  # `fill_options` has applied these options
    inputs = CommandInputs.of(files, sequences, intervals, covariates, tables, labels)
    inputs.check_labels()
    console = open_console(stderr=json, quiet=quiet)
    print_setup(console, machine.backend, machine.threads)
    reject_exported(model)
    trained = load(model, **machine.to_keywords())
    inputs.kind.check_model(model, trained.encoder)
    data = inputs.open_like(console, trained, tables.to_labels(labels))
    console.print(str(data))
    show_residue_counts(console, data)
    show_skipped(console, data)
    warnings = open_console(stderr=True) if quiet else console
    warn_about_training_files(warnings, trained, intervals.intervals or files)
    with score_bar(console) as report:
        metrics = compute_metrics(
            trained,
            data,
            reverse_complement=reverse_complement,
            num_threads=machine.threads,
            progress=report,
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
    """Print the metrics as a table, or as JSON with confidence intervals."""
    task = trained.task.name
    if not as_json:
        show_metrics(open_console(), {str(model): metrics}, task=task, noun=data.noun)
        return
    from seqloom.train._evaluation import find_intervals

    found = find_intervals(trained.task, metrics, data.labels)
    facts = {"model": str(model), "task": task, "metrics": metrics}
    print_json({**facts, "intervals": found})


def open_model_and_inputs(
    console: Console, model: Path, inputs: CommandInputs, *, machine: TrainedOptions
) -> tuple[Any, Any]:
    """Load a model and open its input files, unless the model is an exported model."""
    if (export := find_exported(model)) is not None:
        names = [*changed_options(machine), *inputs.given]
        why = "not with an exported model; give the run folder that it was exported from"
        reject_options([it for it in names if it not in {"threads", "id_column"}], why)
        return export, inputs.files
    trained = load(model, **machine.to_keywords())
    inputs.kind.check_model(model, trained.encoder)
    data = inputs.open_unlabelled(console, trained.encoder)
    if isinstance(data, Dataset):
        show_residue_counts(console, data)
        show_skipped(console, data)
    return trained, data


def check_paths(files: list[str]) -> list[Path]:
    """Return the paths of the files; raise if - is given together with files."""
    if STDIN in files and len(files) > 1:
        raise ArgumentError("-: standard input must be the only input; give - or files")
    return [Path(file) for file in files]


def check_output_path(out: str, files: list[Path], *, overwrite: bool) -> None:
    """Before scores are computed, raise if the output cannot be written."""
    if out == STDIN:
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
        raise FileError(f"{out}: is not a regular file; --out must name a file")
    folder = target.parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise FileError(f"{out}: the folder {folder} does not exist; create it first")
    if target.exists() and any(file.exists() and target.samefile(file) for file in files):
        raise FileError(f"{out}: is also an input file; give --out another name")
    check_not_existing(path, overwrite=overwrite)
