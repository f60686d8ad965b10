"""``seqloom bed convert``: a PLINK set in another layout or format."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from seqloom.cli._bed_paths import check_target
from seqloom.cli._counter_bar import counter_bar
from seqloom.cli._machine import open_console
from seqloom.cli._options import PATH, Flag, Threads
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

Major = Literal["SNP", "individual"]
Kind = Literal["int8", "float32"]


def convert(
    source: Annotated[str, PATH, Parameter(name="IN")],
    target: Annotated[str, PATH, Parameter(name="OUT")],
    /,
    *,
    major: Major | None = None,
    dtype: Kind = "int8",
    threads: Threads | None = None,
    overwrite: Flag = False,
    skip_format_check: Flag = False,
) -> None:
    """Write a PLINK set in another layout, or its genotypes in another format.

    By its name OUT is a .bed, a .npy or .npz of NumPy (individuals by variants), a .raw as
    PLINK's --recode A writes it, or a .tsv. Genotypes are copies of allele A1.

    Example: seqloom bed convert x.bed by-individual.bed --major individual

    Args:
        source: A .bed file, with its .fam and .bim beside it.
        target: The file to write, whole or not at all.
        major: What a line of a .bed is; otherwise the other one than in the source.
        dtype: The numbers of a .npy or .npz: in int8 a missing one is -127, else NaN.
        threads: How many threads read; otherwise as many as the machine allows.
        overwrite: Replace the file where it is there already.
        skip_format_check: Do not look whether the tables fit the ends of the .bed's lines.
    """
    from seqloom.io import open_bed

    write = _writer(Path(target).suffix, major, dtype)
    check_target(source, Path(target), overwrite=overwrite)
    bed = open_bed(source, num_threads=threads, skip_format_check=skip_format_check)
    with counter_bar() as on_progress:
        write(bed, Path(target), on_progress=on_progress)
    individuals, variants = bed.shape
    open_console().print(f"{target}: {individuals:,} individuals, {variants:,} variants")


def _writer(suffix: str, major: Major | None, dtype: Kind) -> "Callable[..., None]":
    """Gives what writes a file of such a name."""
    from seqloom.io.plink import _export

    writers: dict[str, Callable[..., None]] = {
        ".bed": partial(_export.copy_all, major=major),
        ".npy": partial(_export.write_npy, dtype=dtype),
        ".npz": partial(_export.write_npz, dtype=dtype),
        ".raw": _export.write_table,
        ".tsv": _export.write_table,
    }
    if suffix not in writers:
        names = ", ".join(writers)
        raise ArgumentError(
            f"OUT: expected a name that ends in one of {names}; got {suffix or 'none'}"
        )
    return writers[suffix]
