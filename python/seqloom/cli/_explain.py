"""``seqloom explain``: which letters of sequences a trained model goes by."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from seqloom._text import count_of, printable
from seqloom.cli._console import announce, open_console
from seqloom.cli._kinds import Kind, check_reading
from seqloom.cli._options import (
    COVARIATE_DEFAULTS,
    INTERVAL_DEFAULTS,
    PATH,
    PATHS,
    QUIET_DEFAULTS,
    SEQUENCE_DEFAULTS,
    SEQUENCES,
    TRAINED_DEFAULTS,
    Count,
    Flag,
    IntervalOptions,
    QuietOption,
    SequenceOptions,
    TrainedOptions,
)
from seqloom.cli._predict import STREAM, check_out, check_table, open_both, paths_of
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.infer import Attributions

_PAGE, _TABLES = ".html", (".tsv", ".csv", ".parquet")
_INSTEAD = {
    "genotypes": "what variants weigh, Python gives: sl.tensor.grad of "
    "model.logits(x) by x, a row of a batch",
    "embeddings": "explain a model that seqloom train made of the sequences themselves",
}


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
    id_column: Annotated[str, Parameter(group=SEQUENCES)] = "id",
    sequences: SequenceOptions = SEQUENCE_DEFAULTS,
    intervals: IntervalOptions = INTERVAL_DEFAULTS,
    machine: TrainedOptions = TRAINED_DEFAULTS,
    shown: QuietOption = QUIET_DEFAULTS,
) -> None:
    """Show which letters of sequences count for a trained model.

    Letters are changed in turn and the sequence is scored again. A page colours what raises
    and what lowers the score; a table has a row for each letter.

    Example: seqloom explain runs/splice new.fa.gz --out letters.html

    Every mutation: seqloom explain runs/splice new.fa.gz --method mutations --out all.tsv

    Args:
        model: A run folder that `seqloom train` wrote.
        files: Sequence files, tables with a column of sequences, or - for standard input.
            With --intervals a genome.
        out: The page to write (NAME.html), or the table (NAME.tsv, NAME.csv, NAME.parquet,
            or - for standard output).
        method: Hide letters behind N, in a protein X (occlusion), or replace each letter by
            each other one (mutations: in silico mutagenesis).
        window: The letters that occlusion hides at once.
        target: The class or label to explain; otherwise the class that each sequence is
            called, or the only label.
        limit: The sequences on a page, the first ones; a table has all.
        reverse_complement: Explain the mean of the scores of a sequence and its reverse
            complement, as predict --reverse-complement gives it.
        overwrite: Replace the file where it is there already.
        id_column: The column of ids, where FILES are tables.
        sequences: How sequences are read.
        intervals: Which parts of a genome are explained.
        machine: What computes.
        shown: What is printed.
    """
    from seqloom.infer import explain as weigh
    from seqloom.infer._exported import refuse_exported
    from seqloom.infer._predict import open_examples
    from seqloom.infer._score_bar import score_bar

    console = open_console(stderr=out == STREAM, quiet=shown.quiet)
    announce(console, machine)
    paths = paths_of(files)
    options: dict[str, Any] = {"sequences": sequences, "intervals": intervals}
    _check_ending(out)
    kind = _check_kind(paths, options)
    check_out(out, [*paths, *intervals.intervals], overwrite=overwrite)
    options |= {"kind": kind, "id_column": id_column, "covariates": COVARIATE_DEFAULTS}
    refuse_exported(model)
    trained, data = open_both(console, model, paths, machine=machine, options=options)
    settings: dict[str, Any] = {"method": method, "window": window, "target": target}
    settings["reverse_complement"] = reverse_complement
    with (
        open_examples(trained, data) as examples,
        score_bar(console, noun="letters") as tell,
    ):
        chosen = _first(examples, limit) if out.endswith(_PAGE) else examples
        settings |= {"num_threads": machine.threads, "progress": tell}
        found = weigh(trained, chosen, **settings)
    sources = _name_sources(model, [*paths, *intervals.intervals])
    _write(console, found, out, total=len(examples), sources=sources)


def _check_ending(out: str) -> None:
    """Refuses a name that says neither page nor table."""
    if out != STREAM and not out.endswith((_PAGE, *_TABLES)):
        raise ArgumentError(
            f"{out}: --out must end in {_PAGE} (a page) or in .tsv, .csv or .parquet (a "
            "table), or be - for a table on standard output"
        )
    if not out.endswith(_PAGE):
        check_table(out)


def _check_kind(paths: list[Path], options: dict[str, Any]) -> Kind:
    """Gives the kind of the records; refuses those without letters."""
    kind = check_reading(paths, COVARIATE_DEFAULTS, **options)
    if kind not in {"sequences", "intervals"}:
        raise ArgumentError(
            f"explain changes the letters of sequences, but FILES are {kind}; "
            f"{_INSTEAD[kind]}"
        )
    return kind


def _first(examples: Any, limit: int) -> Any:
    """Takes the first records, if there are more."""
    from seqloom.data import Subset

    return Subset(examples, range(limit)) if len(examples) > limit else examples


def _name_sources(model: Path, files: list[Path]) -> dict[str, str]:
    """Names the model and the files without their folders, for the page."""
    from seqloom.models._training_facts import names_of

    names = ["standard input" if it == STREAM else it for it in names_of(files)]
    return {"model": printable(model.absolute().name), "files": ", ".join(names)}


def _write(
    console: "Console",
    found: "Attributions",
    out: str,
    *,
    total: int,
    sources: dict[str, str],
) -> None:
    """Writes the page or the table, and says what is in it."""
    from seqloom.infer._attributions import write_page

    if out.endswith(_PAGE):
        write_page(Path(out), found, most=len(found), total=total, sources=sources)
    else:
        (found.to_tsv(sys.stdout) if out == STREAM else found.save(out))
    where = "standard output" if out == STREAM else out
    console.print(f"explained {count_of(len(found), 'sequences')}: {where}")
    if left_out := total - len(found):
        console.print(
            f"{left_out:,} more sequences are not on the page: --limit {total} draws them, "
            "--out NAME.tsv has all in a table"
        )
