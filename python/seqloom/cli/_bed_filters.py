"""Which individuals and variants of a PLINK set are chosen."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter, validators

from seqloom.cli._options import Several
from seqloom.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.io import GenotypeStats, open_bed

Share = Annotated[float, Parameter(validator=validators.Number(gte=0, lte=1))]
Ids = set[tuple[str, ...]]

# PLINK compares with this relative tolerance, so that a computed 0.05 is not below 0.05.
_SLACK = 1e-11


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """Says which individuals and variants are chosen.

    Args:
        keep: Only the individuals of this file: a line each, FID and IID, or IID alone; a
            header that names these columns may come first.
        remove: Not the individuals of this file.
        extract: Only the variants of this file: an id a line.
        exclude: Not the variants of this file.
        chromosome: Only variants of these chromosomes, as the .bim names them.
        maf: The lowest frequency of the rarer allele, among founders.
        max_missing: The highest share of missing genotypes; on Y, among males.
        hwe: The lowest p of the exact test of Hardy-Weinberg equilibrium, among founders.
    """

    keep: Path | None = None
    remove: Path | None = None
    extract: Path | None = None
    exclude: Path | None = None
    chromosome: Several = ()
    maf: Share | None = None
    max_missing: Share | None = None
    hwe: Share | None = None


Chosen = tuple["NDArray[np.int64]", "NDArray[np.int64]"]


def choose(bed: "open_bed", options: FilterOptions) -> tuple[Chosen, list[str]]:
    """Gives the positions that are chosen, and notes on ids that are not in the set."""
    notes: list[str] = []
    who = np.ones(bed.iid_count, bool)
    for file, is_kept in ((options.keep, True), (options.remove, False)):
        if file is not None:
            who &= _is_listed(file, _columns(bed.fid, bed.iid), notes) == is_kept
    which = np.ones(bed.sid_count, bool)
    for file, is_kept in ((options.extract, True), (options.exclude, False)):
        if file is not None:
            which &= _is_listed(file, _columns(bed.sid), notes) == is_kept
    if options.chromosome:
        which &= np.isin(_columns(bed.chromosome)[0].astype(str), options.chromosome)
    which &= _passes(bed, who, options)
    return (_some(who, "individual", notes), _some(which, "variant", notes)), notes


def _columns(*columns: Any) -> list[Any]:
    """Gives the columns of a set; a file on a command line has all of them."""
    return [column for column in columns if column is not None]


def _some(mask: "NDArray[np.bool_]", name: str, notes: list[str]) -> "NDArray[np.int64]":
    """Gives the positions; none at all is an error, which unknown ids may explain."""
    if not mask.any():
        fault = f"no {name} is left; choose fewer or other filters"
        raise ArgumentError("; ".join([fault, *notes]))
    return np.flatnonzero(mask)


def _is_listed(file: Path, columns: list[Any], notes: list[str]) -> "NDArray[np.bool_]":
    """Says of each row whether its id is in a file; ids of no row are noted."""
    ids = _read_ids(file, len(columns))
    width = max(map(len, ids), default=1)
    rows = list(zip(*(column.tolist() for column in columns[-width:]), strict=True))
    unknown = ids.difference(rows)
    if unknown:
        shown = ", ".join(" ".join(pair) for pair in sorted(unknown)[:3])
        notes.append(f"note: {len(unknown):,} ids of {file} are not in the set: {shown}")
    return np.fromiter((row in ids for row in rows), bool, len(rows))


def _read_ids(file: Path, most: int) -> Ids:
    """Reads a file of ids: as many columns as its first line has, up to a number."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        lines = [line.split() for line in text.splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{file}: cannot be read: {error}") from error
    lines = [line for line in lines if line]
    names = [name.lstrip("#").upper() for name in lines[0]] if lines and most > 1 else []
    # The columns FID and IID, or IID alone; none where the first line is no header.
    wanted = ("FID", "IID") if "IID" in names else ()
    header = [names.index(name) for name in wanted if name in names]
    places = header or list(range(min(len(lines[0]), most) if lines else 1))
    rows = lines[1:] if header else lines
    short = next((row for row in rows if len(row) <= max(places)), None)
    if short:
        raise ArgumentError(
            f"{file}: expected {max(places) + 1} columns as in its first line, found "
            f"{short[0]} alone"
        )
    return {tuple(row[at] for at in places) for row in rows}


def _passes(
    bed: "open_bed", who: "NDArray[np.bool_]", options: FilterOptions
) -> "NDArray[np.bool_]":
    """Says which variants pass what is asked of their genotypes."""
    from seqloom.io import genotype_stats

    which = np.ones(bed.sid_count, bool)
    if options.maf is options.max_missing is options.hwe is None:
        return which
    stats = genotype_stats(bed, individuals=np.flatnonzero(who))
    if options.maf is not None:
        which &= stats.minor_allele_frequency >= options.maf * (1 - _SLACK)
    if options.max_missing is not None:
        missing = _missing(bed, who, stats)
        which &= missing <= options.max_missing * (1 + _SLACK)
    if options.hwe is not None:
        which &= ~(stats.hardy_p < options.hwe * (1 - _SLACK))
    return which


def _missing(
    bed: "open_bed", who: "NDArray[np.bool_]", stats: "GenotypeStats"
) -> "NDArray[np.float64]":
    """Gives the share of individuals without a genotype: on Y, of males."""
    from seqloom.io import genotype_stats
    from seqloom.io.plink._stats import MALE, Ploidy, find_ploidy

    share = stats.missing / np.maximum(stats.missing + stats.count, 1)
    is_y = find_ploidy(bed.chromosome, bed.sid_count) == Ploidy.Y
    if is_y.any() and bed.sex is not None:
        males = genotype_stats(bed, individuals=np.flatnonzero(who & (bed.sex == MALE)))
        of_males = males.missing / np.maximum(males.missing + males.count, 1)
        share[is_y] = of_males[is_y]
    return share
