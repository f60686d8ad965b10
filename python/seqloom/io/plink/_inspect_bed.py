"""Looking at a PLINK set without reading its genotypes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.io.plink._bed_summary import BedSummary
from seqloom.io.plink._open_bed import open_bed

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

_MALE, _FEMALE = 1, 2
_MISSING = ("-9", "NA", "nan")
# Different phenotypes are kept up to here: a quantitative one has as many as individuals.
_KINDS = 1000


def inspect_bed(bed: open_bed | str | os.PathLike[str]) -> BedSummary:
    """Checks a PLINK set and says what it holds; no genotype is read.

    The length of the .bed must be what the tables ask for, and the last byte of each line
    must fit them too: no genotypes stand in the bits that fill it up. One code in all of
    them, as some tools write it, is a warning; and so are last places that are homozygous
    A1 in every one of at least 64 lines, as they would be if a table were too long. A .bed
    that was opened with ``skip_format_check`` is not looked at.

    Args:
        bed: A .bed file, or an open one.

    Returns:
        Counts of individuals, sexes, founders, phenotypes, variants and chromosomes.

    Raises:
        MissingFileError: One of the three files is not there.
        FormatError: One is not what it should be, or they do not fit each other.

    Examples:
        >>> from seqloom.io import to_bed
        >>> sex = {"sex": [1, 2], "chromosome": ["1", "1", "X"], "pheno": ["1", "-9"]}
        >>> to_bed("small.bed", [[1, 0, 2], [2, 0, 1]], properties=sex)
        >>> print(inspect_bed("small.bed"))
        file        small.bed (6 bytes, as its tables ask for)
        layout      a line is a variant (SNP-major)
        individuals 2, 2 of them founders
        sex         1 male, 1 female, 0 unknown
        phenotype   1: 1, -9: 1; 1 missing (-9, NA or nan)
        variants    3
        chromosomes 1: 2, X: 1
        same id     0 individuals, 0 variants
    """
    source = bed if isinstance(bed, open_bed) else open_bed(bed)
    native = source._native()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - our own class
    shape = source.shape
    if not source.skip_format_check:
        native.check_tail(shape)
    stride = -(-(shape[0] if source.major == "SNP" else shape[1]) // 4)
    lines = shape[1] if source.major == "SNP" else shape[0]
    return BedSummary(
        path=str(source.location),
        file_bytes=3 + stride * lines,
        major=source.major,
        individuals=shape[0],
        variants=shape[1],
        **_of_individuals(source),
        chromosomes=_chromosomes(source.chromosome),
        same_sid=_same(source.sid),
    )


def _of_individuals(bed: open_bed) -> dict[str, Any]:
    """Counts sexes, founders, phenotypes and ids that stand twice."""
    count = bed.iid_count
    male, female = (_number(bed.sex, sex) for sex in (_MALE, _FEMALE))
    parents = [parent != "0" for parent in (bed.father, bed.mother) if parent is not None]
    phenotypes: Counter[str] = (
        Counter() if bed.pheno is None else Counter(bed.pheno.tolist())
    )
    return {
        "male": male,
        "female": female,
        "unknown_sex": count - male - female,
        "founders": count - int(np.any(parents, axis=0).sum()),
        "phenotypes": dict(phenotypes.most_common(_KINDS)),
        "missing_phenotypes": sum(phenotypes[word] for word in _MISSING),
        "same_iid": _same(bed.fid, bed.iid),
    }


def _number(column: NDArray[Any] | None, value: int) -> int:
    """Counts a value in a column, if there is one."""
    return 0 if column is None else int((column == value).sum())


def _chromosomes(column: NDArray[Any] | None) -> dict[str, int]:
    """Counts the variants of each chromosome, run by run."""
    counts: Counter[str] = Counter()
    if column is None or not len(column):
        return counts
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    for name, length in zip(
        column[starts].tolist(), np.diff(starts, append=len(column)).tolist(), strict=True
    ):
        counts[name] += length
    return dict(counts)


def _same(*columns: NDArray[Any] | None) -> int:
    """Counts rows that stood before."""
    known = [column.tolist() for column in columns if column is not None]
    rows = list(zip(*known, strict=True))
    return len(rows) - len(set(rows))
