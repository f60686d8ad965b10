"""``seqloom bed``: inspect, count, subset and convert PLINK files."""

import json as json_text
import os
import sys
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import App, Parameter, validators

from seqloom.cli._console import counter_bar, make_fact_table, open_console
from seqloom.cli._options import PATH, Flag, Several, Threads, takes_options
from seqloom.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.io import GenotypeStats, open_bed

Fraction = Annotated[float, Parameter(validator=validators.Number(gte=0, lte=1))]
Ids = set[tuple[str, ...]]

# Relative tolerance of comparisons in PLINK, so that rounding errors do not remove a
# variant that is exactly at a limit.
_FREQUENCY_TOLERANCE = 1e-11


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """Filters of individuals and variants.

    Args:
        keep: Keep only the individuals in this file. Each line contains FID and IID, or
            only IID. The first line may be a header.
        remove: Remove the individuals in this file, which has the format of --keep.
        extract: Keep only the variants in this file, with one variant id per line.
        exclude: Remove the variants in this file, with one variant id per line.
        chromosome: Keep only variants on these chromosomes, written as in the .bim.
        maf: Minimum minor allele frequency, computed among founders.
        max_missing: Maximum fraction of missing genotypes of a variant; on Y, of males.
        hwe: Minimum p-value of the exact Hardy-Weinberg test, computed among founders.
    """

    keep: Path | None = None
    remove: Path | None = None
    extract: Path | None = None
    exclude: Path | None = None
    chromosome: Several = ()
    maf: Fraction | None = None
    max_missing: Fraction | None = None
    hwe: Fraction | None = None


Selection = tuple["NDArray[np.int64]", "NDArray[np.int64]"]


def select_rows(bed: "open_bed", options: FilterOptions) -> tuple[Selection, list[str]]:
    """Select individuals and variants; return their indices, and notes on unknown ids."""
    notes: list[str] = []
    who = np.ones(bed.iid_count, bool)
    for file, is_kept in ((options.keep, True), (options.remove, False)):
        if file is not None:
            who &= _is_listed(file, _drop_none(bed.fid, bed.iid), notes) == is_kept
    which = np.ones(bed.sid_count, bool)
    for file, is_kept in ((options.extract, True), (options.exclude, False)):
        if file is not None:
            which &= _is_listed(file, _drop_none(bed.sid), notes) == is_kept
    if options.chromosome:
        which &= np.isin(_drop_none(bed.chromosome)[0].astype(str), options.chromosome)
    which &= _passes_filters(bed, who, options)
    return (_rows_of(who, "individual", notes), _rows_of(which, "variant", notes)), notes


def _drop_none(*columns: Any) -> list[Any]:
    """Return the columns that are not None, which are all columns on the command line."""
    return [column for column in columns if column is not None]


def _rows_of(mask: "NDArray[np.bool_]", name: str, notes: list[str]) -> "NDArray[np.int64]":
    """Return the indices of the True elements of a mask; raise if all are False."""
    if not mask.any():
        fault = f"no {name} passes the filters; use fewer or weaker filters"
        raise ArgumentError("; ".join([fault, *notes]))
    return np.flatnonzero(mask)


def _is_listed(file: Path, columns: list[Any], notes: list[str]) -> "NDArray[np.bool_]":
    """Return a mask of the rows whose ids are in a file; add notes about unknown ids."""
    ids = _read_ids(file, len(columns))
    width = max(map(len, ids), default=1)
    rows = list(zip(*(column.tolist() for column in columns[-width:]), strict=True))
    unknown = ids.difference(rows)
    if unknown:
        shown = ", ".join(" ".join(pair) for pair in sorted(unknown)[:3])
        notes.append(f"note: {len(unknown):,} ids of {file} are not in the set: {shown}")
    return np.fromiter((row in ids for row in rows), bool, len(rows))


def _read_ids(file: Path, most: int) -> Ids:
    """Read a file of ids, in which all lines must have the same number of columns."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        lines = [line.split() for line in text.splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{file}: cannot be read: {error}") from error
    lines = [line for line in lines if line]
    names = [name.lstrip("#").upper() for name in lines[0]] if lines and most > 1 else []
    # Columns FID and IID, or only IID; empty if the first line is not a header.
    wanted = ("FID", "IID") if "IID" in names else ()
    header = [names.index(name) for name in wanted if name in names]
    places = header or list(range(min(len(lines[0]), most) if lines else 1))
    rows = lines[1:] if header else lines
    short = next((row for row in rows if len(row) <= max(places)), None)
    if short:
        raise ArgumentError(
            f"{file}: expected {max(places) + 1} columns as in its first line, found "
            f"{short[0]}"
        )
    return {tuple(row[at] for at in places) for row in rows}


def _passes_filters(
    bed: "open_bed", who: "NDArray[np.bool_]", options: FilterOptions
) -> "NDArray[np.bool_]":
    """Return a mask of the variants that pass the genotype filters."""
    from seqloom.io import genotype_stats

    which = np.ones(bed.sid_count, bool)
    if options.maf is options.max_missing is options.hwe is None:
        return which
    stats = genotype_stats(bed, individuals=np.flatnonzero(who))
    if options.maf is not None:
        which &= stats.minor_allele_frequency >= options.maf * (1 - _FREQUENCY_TOLERANCE)
    if options.max_missing is not None:
        missing = _missing_share(bed, who, stats)
        which &= missing <= options.max_missing * (1 + _FREQUENCY_TOLERANCE)
    if options.hwe is not None:
        which &= ~(stats.hardy_p < options.hwe * (1 - _FREQUENCY_TOLERANCE))
    return which


def _missing_share(
    bed: "open_bed", who: "NDArray[np.bool_]", stats: "GenotypeStats"
) -> "NDArray[np.float64]":
    """Return the fraction of missing genotypes by variant; on Y, count only males."""
    from seqloom.io import genotype_stats
    from seqloom.io.plink._stats import MALE, Ploidy, find_ploidy

    share = stats.missing / np.maximum(stats.missing + stats.count, 1)
    is_y = find_ploidy(bed.chromosome, bed.sid_count) == Ploidy.Y
    if is_y.any() and bed.sex is not None:
        males = genotype_stats(bed, individuals=np.flatnonzero(who & (bed.sex == MALE)))
        of_males = males.missing / np.maximum(males.missing + males.count, 1)
        share[is_y] = of_males[is_y]
    return share


Major = Literal["SNP", "individual"]
Kind = Literal["int8", "float32"]
_SET_SUFFIXES = (".bed", ".fam", ".bim")


def inspect(
    file: Annotated[str, PATH], /, *, json: Flag = False, skip_format_check: Flag = False
) -> None:
    """Check a PLINK set and summarise it, without reading its genotypes.

    Example: seqloom bed inspect x.bed

    Args:
        file: A .bed file; its .fam and .bim must be in the same folder.
        json: Print JSON.
        skip_format_check: Skip the check of the padding in the .bed; the check detects a
            .fam or .bim that does not match the .bed.
    """
    from seqloom.io import inspect_bed, open_bed

    summary = inspect_bed(open_bed(file, skip_format_check=skip_format_check))
    if json:
        sys.stdout.write(json_text.dumps(summary.to_dict(), indent=2) + "\n")
    else:
        open_console().print(make_fact_table(summary.facts()))


def is_bed(file: str) -> bool:
    """Return whether a file starts with the signature of a PLINK .bed."""
    path = Path(file)
    if not path.is_file():
        return False
    with path.open("rb") as start:
        return start.read(2) == b"\x6c\x1b"


def stats(
    file: Annotated[str, PATH],
    /,
    *,
    out: Path | None = None,
    plot: Path | None = None,
    nonfounders: Flag = False,
    mid_p: Flag = False,
    threads: Threads | None = None,
    overwrite: Flag = False,
    skip_format_check: Flag = False,
) -> None:
    """Compute missing genotypes, allele frequencies and Hardy-Weinberg equilibrium.

    Example: seqloom bed stats x.bed --out stats.tsv --plot stats.svg

    Args:
        file: A .bed file; its .fam and .bim must be in the same folder.
        out: Write a table with one row for each variant to this file.
        plot: Plot allele frequencies, missing genotypes and p-values into this SVG file.
        nonfounders: Compute allele frequencies and p-values from all individuals, not
            only from founders.
        mid_p: Compute the mid-p variant of the exact test.
        threads: Number of threads; by default the number of available cores.
        overwrite: Replace the table and the plot if they exist.
        skip_format_check: Skip the check of the padding in the .bed; the check detects a
            .fam or .bim that does not match the .bed.

    Raises:
        ArgumentError: The table and the plot have the same name.
    """
    from seqloom.io import genotype_stats, open_bed
    from seqloom.report import check_svg

    for target in (out, plot):
        _check_target(file, target, overwrite=overwrite)
    if out and plot and os.path.realpath(out) == os.path.realpath(plot):
        raise ArgumentError(f"{plot}: names both the table and the plot; give two names")
    check_svg(plot)
    with counter_bar() as on_progress:
        found = genotype_stats(
            open_bed(file, skip_format_check=skip_format_check),
            nonfounders=nonfounders,
            mid_p=mid_p,
            num_threads=threads,
            on_progress=on_progress,
        )
    console = open_console()
    console.print(make_fact_table(found.facts()))
    if out is not None:
        found.to_tsv(out)
        console.line()
        console.print(f"table in {out}")
    if plot is not None:
        found.plot(plot)
        console.line()
        console.print(f"plots in {plot}")


@takes_options()
def subset(
    source: Annotated[str, PATH, Parameter(name="IN")],
    target: Annotated[str, PATH, Parameter(name="OUT")],
    /,
    *,
    filters: FilterOptions,
    threads: Threads | None = None,
    overwrite: Flag = False,
    skip_format_check: Flag = False,
) -> None:
    """Write selected individuals and variants of a PLINK set as a new PLINK set.

    Example: seqloom bed subset x.bed common.bed --keep cases.txt --maf 0.01

    Args:
        source: A .bed file; its .fam and .bim must be in the same folder.
        target: The .bed to write, with its .fam and .bim; a failure leaves no partial file.
        filters: Filters of individuals and variants.
        threads: Number of threads; by default the number of available cores.
        overwrite: Replace the set if it exists.
        skip_format_check: Skip the check of the padding in the .bed; the check detects a
            .fam or .bim that does not match the .bed.

    Raises:
        ArgumentError: OUT does not end in .bed.
    """
    from seqloom.io import open_bed
    from seqloom.io.plink._export import copy_set

    if Path(target).suffix != ".bed":
        raise ArgumentError(f"{target}: expected a file name that ends in .bed")
    _check_target(source, Path(target), overwrite=overwrite)
    bed = open_bed(source, num_threads=threads, skip_format_check=skip_format_check)
    console = open_console()
    chosen, notes = select_rows(bed, filters)
    with counter_bar() as on_progress:
        copy_set(bed, Path(target), chosen, major=bed.major, on_progress=on_progress)
    console.print(f"individuals {len(chosen[0]):,} of {bed.iid_count:,}")
    console.print(f"variants    {len(chosen[1]):,} of {bed.sid_count:,}")
    for note in notes:
        console.print(note)


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
    """Convert a PLINK set to another layout, or its genotypes to another file format.

    The suffix of OUT determines the format: .bed, NumPy .npy or .npz (individuals by
        variants), .raw as in PLINK --recode A, or .tsv. Genotypes count copies of allele
        A1.

    Example: seqloom bed convert x.bed by-individual.bed --major individual

    Args:
        source: A .bed file; its .fam and .bim must be in the same folder.
        target: The file to write; a failure leaves no partial file.
        major: The layout of a .bed: one row for each SNP or each individual; by default
            the opposite of the source's layout.
        dtype: The dtype of a .npy or .npz; missing genotypes are -127 in int8 and NaN in
            float32.
        threads: Number of threads; by default the number of available cores.
        overwrite: Replace the file if it exists.
        skip_format_check: Skip the check of the padding in the .bed; the check detects a
            .fam or .bim that does not match the .bed.
    """
    from seqloom.io import open_bed

    write = _find_writer(Path(target).suffix, major, dtype)
    _check_target(source, Path(target), overwrite=overwrite)
    bed = open_bed(source, num_threads=threads, skip_format_check=skip_format_check)
    with counter_bar() as on_progress:
        write(bed, Path(target), on_progress=on_progress)
    individuals, variants = bed.shape
    open_console().print(f"{target}: {individuals:,} individuals, {variants:,} variants")


def _find_writer(suffix: str, major: Major | None, dtype: Kind) -> "Callable[..., None]":
    """Return the function that writes the file format of the suffix of OUT."""
    from seqloom.io.plink import _export

    writers: dict[str, Callable[..., None]] = {
        ".bed": partial(_export.copy_whole_set, major=major),
        ".npy": partial(_export.write_npy, dtype=dtype),
        ".npz": partial(_export.write_npz, dtype=dtype),
        ".raw": _export.write_table,
        ".tsv": _export.write_table,
    }
    if suffix not in writers:
        names = ", ".join(writers)
        raise ArgumentError(
            f"OUT: expected a file name that ends in one of {names}; got {suffix or 'none'}"
        )
    return writers[suffix]


def _check_target(source: str, target: Path | None, *, overwrite: bool) -> None:
    """Raise if an output file is also an input file, or exists and `overwrite` is False."""
    if target is None:
        return
    if not target.parent.is_dir():
        raise FileError(
            f"{target}: cannot be written: the folder {target.parent} does not exist"
        )
    written = _set_files(target) if target.suffix == ".bed" else [target]
    for file, read in product(written, _set_files(Path(source))):
        if file.exists() and read.exists() and file.samefile(read):
            raise ArgumentError(f"{file}: is both read and written; write to another file")
    for file in written:
        if file.is_file() and not overwrite:
            raise FileError(f"{file}: already exists; --overwrite replaces it")


def _set_files(bed: Path) -> list[Path]:
    """Return the paths of the .bed, .fam and .bim."""
    return [bed.with_suffix(suffix) for suffix in _SET_SUFFIXES]


bed = App(
    name="bed",
    help="Inspect, convert and subset PLINK genotypes (.bed, .fam, .bim).",
    version_flags=(),
    sort_key=10,
)
for position, command in enumerate((inspect, stats, subset, convert)):
    bed.command(command, sort_key=position)
