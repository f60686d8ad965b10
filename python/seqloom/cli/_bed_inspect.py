"""``seqloom bed inspect``: what a PLINK set holds."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seqloom.cli._machine import open_console, table_of
from seqloom.cli._options import PATH, Flag

if TYPE_CHECKING:
    from seqloom.io import BedSummary


def inspect(
    file: Annotated[str, PATH],
    /,
    *,
    json: Flag = False,
    skip_format_check: Flag = False,
) -> None:
    """Check a PLINK set and show what it holds; quick, because no genotype is read.

    Example: seqloom bed inspect x.bed

    Args:
        file: A .bed file, with its .fam and .bim beside it.
        json: Print JSON, for another program to read.
        skip_format_check: Do not look whether the tables fit the ends of the .bed's lines.
    """
    from seqloom.io import inspect_bed, open_bed

    summary = inspect_bed(open_bed(file, skip_format_check=skip_format_check))
    if json:
        print_json(summary)
    else:
        open_console().print(table_of(summary.facts()))


def print_json(summary: "BedSummary") -> None:
    """Prints the summary as one JSON object."""
    sys.stdout.write(json.dumps(summary.to_dict(), indent=2) + "\n")


def is_bed(file: str) -> bool:
    """Says whether a file begins as a PLINK .bed does."""
    path = Path(file)
    if not path.is_file():
        return False
    with path.open("rb") as start:
        return start.read(2) == b"\x6c\x1b"
