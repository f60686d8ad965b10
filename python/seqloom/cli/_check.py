"""``seqloom check``: find validation intervals that repeat training sequences."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seqloom._text import join_first_names
from seqloom.cli._console import check_not_existing, open_console
from seqloom.cli._options import INTERVAL_GROUP, OUTPUT_GROUP, Count, Flag
from seqloom.cli._show import print_json, start_table
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.data import LeakageReport


def check(
    train: Path,
    valid: Path,
    /,
    *,
    genome: Path,
    length: Annotated[Count | None, INTERVAL_GROUP] = None,
    label_column: Annotated[str | None, INTERVAL_GROUP] = None,
    strict: Flag = False,
    out: Annotated[Path | None, OUTPUT_GROUP] = None,
    overwrite: Annotated[Flag, OUTPUT_GROUP] = False,
    json: Annotated[Flag, OUTPUT_GROUP] = False,
    quiet: Annotated[Flag, OUTPUT_GROUP] = False,
) -> None:
    """Find validation intervals that repeat training sequences, and compare both sets.

    The command counts validation intervals that overlap training intervals, or whose
    sequences are homologous to one on either strand. Homologous sequences share at least
    three k-mers, and a quarter of the k-mers of the shorter sequence; or they are equal. It
    also compares G+C content, lengths, unknown bases and classes.

    Example: seqloom check train.bed valid.bed --genome hg38.fa --out check.html

    Args:
        train: The intervals of the training set: BED, narrowPeak or a table with a header.
        valid: The intervals of the validation or test set.
        genome: The genome of the intervals in FASTA: plain, bgzip or gzip.
        length: The number of bases that the model reads around the summit or the middle of
            an interval. By default, intervals keep their lengths.
        label_column: The column of the intervals with their classes.
        strict: Fail with exit code 2 if a validation interval repeats a training sequence.
        out: Also write an HTML page.
        overwrite: Replace the page if it exists.
        json: Print the results as one JSON object, and all other output to standard error.
        quiet: Print only warnings, errors and requested results.

    Raises:
        FormatError: With ``strict``, a validation interval repeats a training sequence.
    """
    from seqloom.data import check_leakage

    check_not_existing(out, overwrite=overwrite)
    report = check_leakage(train, valid, genome, width=length, label=label_column)
    if out is not None:
        report.write(out)
    if json:
        print_json(report.to_dict())
    else:
        _print_report(open_console(), report)
    if out is not None:
        open_console(stderr=json, quiet=quiet).print(f"page   {out}")
    if strict and len(report.leaks):
        raise FormatError("; ".join(report.sentences()))


def _print_report(console: "Console", report: "LeakageReport") -> None:
    """Print the leaks, and the tables of both sets."""
    for sentence in report.sentences():
        console.print(sentence)
    if len(report.leaks):
        console.print(f"examples: {join_first_names(report.names())}")
    for numbers in report.tables():
        table = start_table(*numbers.columns)
        for row in numbers.rows:
            table.add_row(*(it if isinstance(it, str) else f"{it:,}" for it in row))
        console.print(table)
        if numbers.note:
            console.print(numbers.note)
