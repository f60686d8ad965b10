"""``seqloom explain``: compute the contribution of each residue to a score."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

from cyclopts import Parameter

from seqloom._text import format_count, printable
from seqloom.cli._console import open_console, print_setup
from seqloom.cli._options import (
    FURTHER_GROUP,
    INTERVAL_GROUP,
    MACHINE_GROUP,
    OUTPUT_GROUP,
    PATH,
    PATHS,
    SEQUENCE_GROUP,
    Count,
    Flag,
    FurtherOptions,
    TrainedOptions,
    takes_options,
)
from seqloom.cli._predict import check_output_path, check_paths, open_model_and_inputs
from seqloom.cli._read import STDIN, CommandInputs, IntervalOptions
from seqloom.data import Dataset, Subset
from seqloom.data._inputs import SourceOptions
from seqloom.errors import ArgumentError
from seqloom.infer import explain as find_attributions
from seqloom.infer._attributions import write_page
from seqloom.infer._exported import reject_exported
from seqloom.infer._predict import open_examples
from seqloom.infer._score_bar import score_bar
from seqloom.infer._scores import find_table_format
from seqloom.models._training_facts import file_names

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.infer import Attributions

_PAGE_SUFFIX, _TABLE_SUFFIXES = ".html", (".tsv", ".csv", ".parquet")


@takes_options(
    shown="model files out method window target limit reverse_complement overwrite quiet "
    "id_column sequence_column intervals length backend threads set config"
)
def explain(
    model: Path,
    files: Annotated[list[str], PATHS],
    /,
    *,
    out: Annotated[str, PATH],
    method: Literal["occlusion", "mutations"] = "occlusion",
    window: Count = 1,
    target: Annotated[str | None, Parameter(show_default=False)] = None,
    limit: Count = 20,
    reverse_complement: Flag = False,
    overwrite: Flag = False,
    quiet: Annotated[Flag, OUTPUT_GROUP] = False,
    sequences: Annotated[SourceOptions, SEQUENCE_GROUP],
    intervals: Annotated[IntervalOptions, INTERVAL_GROUP],
    machine: Annotated[TrainedOptions, MACHINE_GROUP],
    further: Annotated[FurtherOptions, FURTHER_GROUP],
) -> None:
    """Show how much each residue contributes to the score of a trained model.

    Each residue is changed in turn, and the changed sequence is scored. The HTML page
    colours residues by their contribution; the table has one row for each residue.

    Example: seqloom explain runs/splice new.fa.gz --out residues.html

    To score all mutations: seqloom explain runs/splice new.fa.gz --method mutations --out
    all.tsv

    Args:
        model: A run folder that `seqloom train` wrote.
        files: Sequence files, tables with a column of sequences, or - for standard input.
            With --intervals, FILES is a genome.
        out: The page to write (NAME.html), or the table (NAME.tsv, NAME.csv, NAME.parquet,
            or - for standard output).
        method: occlusion replaces residues by N, or by X in a protein. mutations replaces
            each residue by every other residue (in silico mutagenesis).
        window: Number of residues that occlusion replaces at a time.
        target: The class or label to explain. By default, explain the predicted class of
            each sequence, or the label if the model has a single label.
        limit: Maximum number of sequences on the page; a table contains all sequences.
        reverse_complement: Explain the mean score of a sequence and its reverse complement,
            as in predict --reverse-complement.
        overwrite: Replace the file if it exists.
        quiet: Print only warnings and errors.
        sequences: Options for reading sequences.
        intervals: Intervals of a genome.
        machine: Backend and threads.
        further: Options that --help does not list.

    Raises:
        ArgumentError: FILES contain no sequences.
    """
    del further  # `fill_options` has applied these options
    console = open_console(stderr=out == STDIN, quiet=quiet)
    print_setup(console, machine.backend, machine.threads)
    _check_suffix(out)
    paths = check_paths(files)
    inputs = CommandInputs.of(paths, sequences, intervals)
    if not inputs.kind.has_letters:
        raise ArgumentError(
            f"explain needs sequences, but FILES are {inputs.kind.name}; "
            f"{inputs.kind.instead_of_explain}"
        )
    read = [*paths, *intervals.intervals]
    check_output_path(out, read, overwrite=overwrite)
    reject_exported(model)
    trained, data = open_model_and_inputs(console, model, inputs, machine=machine)
    with (
        open_examples(trained, data) as examples,
        score_bar(console, noun="residues") as tell,
    ):
        chosen = cast("Dataset", examples)  # checked above
        if out.endswith(_PAGE_SUFFIX) and len(chosen) > limit:
            chosen = Subset(chosen, range(limit))
        found = find_attributions(
            trained,
            chosen,
            method=method,
            window=window,
            target=target,
            reverse_complement=reverse_complement,
            num_threads=machine.threads,
            progress=tell,
        )
    names = ["standard input" if it == STDIN else it for it in file_names(read)]
    sources = {"model": printable(model.absolute().name), "files": ", ".join(names)}
    _write_output(console, found, out, total=len(examples), sources=sources)


def _check_suffix(out: str) -> None:
    """Raise if the file name is neither that of a page nor that of a table."""
    if out != STDIN and not out.endswith((_PAGE_SUFFIX, *_TABLE_SUFFIXES)):
        raise ArgumentError(
            f"{out}: --out must end in {_PAGE_SUFFIX} (a page) or in .tsv, .csv or "
            ".parquet (a table), or be - for a table on standard output"
        )
    if out != STDIN and not out.endswith(_PAGE_SUFFIX):
        find_table_format(out)


def _write_output(
    console: "Console",
    found: "Attributions",
    out: str,
    *,
    total: int,
    sources: dict[str, str],
) -> None:
    """Write the page or the table, and print a summary."""
    if out.endswith(_PAGE_SUFFIX):
        write_page(Path(out), found, most=len(found), total=total, sources=sources)
    else:
        (found.to_tsv(sys.stdout) if out == STDIN else found.save(out))
    where = "standard output" if out == STDIN else out
    console.print(f"explained {format_count(len(found), 'sequences')}: {where}")
    if left_out := total - len(found):
        console.print(
            f"{left_out:,} more sequences are not on the page: --limit {total} adds them, "
            "--out NAME.tsv writes all as a table"
        )
