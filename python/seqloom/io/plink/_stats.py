"""Count genotypes and compute statistics of each variant in one pass over a .bed."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_bool, check_callable
from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.io.plink._genotype_stats import GenotypeStats
from seqloom.io.plink._open_bed import open_bed
from seqloom.io.plink._selection import choose_thread_count, find_positions

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

_STEP_BYTES = 64 << 20  # bytes read in a step by each thread; Ctrl-C waits for the step
_STEP_VARIANTS = 1 << 16, 1 << 18  # minimum and maximum number of variants in a step
# Columns of an array of counts, in the order of the two-bit codes.
_HOM_A1, _MISSING, _HET, _HOM_A2 = range(4)
_GENOTYPE_COLUMNS = [_HOM_A1, _HET, _HOM_A2]
_GENOTYPE_CODES = 4
_DTYPE_OF_COLUMN = {
    **dict.fromkeys(("count", "missing", "hom_a1", "het", "hom_a2", "alleles"), np.int32),
    **dict.fromkeys(("allele_frequency", "mean", "variance", "hardy_p"), np.float64),
}
MALE = 1  # code for males in a .fam


class SampleGroup(IntEnum):
    """Groups of individuals that are counted separately."""

    MALE = 0
    OTHER = 1  # females, and individuals of unknown sex
    NONFOUNDER = 2
    EXCLUDED = 3  # individuals that are not counted


class Ploidy(IntEnum):
    """Ploidy of a chromosome for counting alleles."""

    DIPLOID = 0
    X = 1
    Y = 2
    MT = 3  # two alleles are counted, but p is not computed


_PLOIDIES = {
    **dict.fromkeys(("X", "23"), Ploidy.X),
    **dict.fromkeys(("Y", "24"), Ploidy.Y),
    **dict.fromkeys(("MT", "M", "26"), Ploidy.MT),
}


def genotype_stats(
    bed: open_bed | str | os.PathLike[str],
    *,
    individuals: Any = None,
    nonfounders: bool = False,
    mid_p: bool = False,
    num_threads: int | None = None,
    on_progress: Callable[[int, int], object] | None = None,
) -> GenotypeStats:
    """Count genotypes and compute statistics of each variant.

    Counts, mean and variance include all individuals. Allele frequency and Hardy-Weinberg
    p-value include only founders (both parents are ``0``) and equal those of PLINK 1.9 with
    ``--freq --hardy --keep-allele-order``. On X, a male has one allele, and a heterozygous
    male is treated as missing; Y is treated like X, but only males are counted. Individuals
    of unknown sex are treated as females. The exact test (Wigginton, Cutler & Abecasis
    2005) excludes males on X. Y and MT are not tested and have the p-value 1 (mid-p: 0.5).
    The names X or 23, Y or 24, and MT, M or 26 are recognised, also with the prefix
    ``chr``; all other chromosomes are treated as autosomes.

    Args:
        bed: A .bed file, or an `open_bed`. The ``count_A1`` of the `open_bed` selects
            the allele that is counted.
        individuals: Index of the individuals to count, as in `open_bed.read` but without
            duplicates; None counts all individuals.
        nonfounders: If True, allele frequency and Hardy-Weinberg p-value also include
            individuals with parents.
        mid_p: If True, compute the mid-p value, in which outcomes exactly as likely as
            the observed genotypes have half weight.
        num_threads: Number of threads; None uses the number of the `open_bed`, or all
            cores.
        on_progress: A function that is called with the number of variants counted so far
            and the total number of variants.

    Returns:
        Statistics as arrays with one value for each variant.

    Raises:
        ArgumentError: An individual is selected twice, or the file is in the cloud.
        OutOfRangeError: The index of an individual is out of range.
        FormatError: The file is not a .bed, or does not match its .fam and .bim.
        FileError: The file cannot be read.

    Examples:
        >>> from seqloom.io import to_bed
        >>> to_bed("small.bed", [[1, 0, -127], [2, 0, 2], [0, 1, 2], [1, 0, 2]])
        >>> stats = genotype_stats("small.bed")
        >>> stats.count, stats.missing
        (array([4, 4, 3], dtype=int32), array([0, 0, 1], dtype=int32))
        >>> stats.allele_frequency
        array([0.5  , 0.125, 1.   ])
        >>> print(stats)
        genotypes       4 individuals x 3 variants
        missing         8.3 %; 1 variant above 5 %
        frequency of A1 median 0.5; 1 variant constant, 1 below 0.01 or above 0.99
        Hardy-Weinberg  0 of 3 variants with p below 1e-06
    """
    nonfounders, mid_p = as_bool("nonfounders", nonfounders), as_bool("mid_p", mid_p)
    check_callable("on_progress", on_progress)
    source = bed if isinstance(bed, open_bed) else open_bed(bed)
    chosen = find_positions(individuals, source.iid_count)
    if chosen is not None and len(np.unique(chosen)) < len(chosen):
        raise ArgumentError(
            "individuals must not select an individual twice; remove the duplicates"
        )
    ploidy = find_ploidy(source.chromosome, source.sid_count)
    groups = _find_groups(source, chosen, ploidy, nonfounders=nonfounders)
    default = source._num_threads  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - same package
    threads = choose_thread_count(num_threads, default)
    columns: dict[str, NDArray[Any]] = {
        name: np.empty(source.sid_count, kind) for name, kind in _DTYPE_OF_COLUMN.items()
    }
    missing = np.zeros(source.iid_count, np.uint32)
    for part, counts in _count_in_steps(source, groups, missing, threads=threads):
        values_by_name = _compute_columns(
            counts, ploidy[part], count_a1=source.count_A1, mid_p=mid_p, threads=threads
        )
        for name, values in values_by_name.items():
            columns[name][part] = values
        if on_progress is not None:
            on_progress(part.stop, source.sid_count)
    who = slice(None) if chosen is None else chosen
    return GenotypeStats(
        sid=source.sid,
        chromosome=source.chromosome,
        bp_position=source.bp_position,
        allele_1=source.allele_1,
        allele_2=source.allele_2,
        iid=None if source.iid is None else source.iid[who],
        individual_missing=missing[who].astype(np.int32),
        counted="A1" if source.count_A1 else "A2",
        **columns,
    )


def _count_in_steps(
    bed: open_bed, groups: NDArray[np.uint8], missing: NDArray[np.uint32], *, threads: int
) -> Iterator[tuple[slice, NDArray[np.uint32]]]:
    """Yield ranges of variants, each with the counts of genotype codes in each group."""
    shape, check = bed.shape, not bed.skip_format_check
    native = bed._native()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - same package
    survey = _native.GenotypeSurvey(native, shape, groups, SampleGroup.EXCLUDED)
    fewest, most = _STEP_VARIANTS
    step = min(max(threads * _STEP_BYTES * 4 // max(shape[0], 1), fewest), most)
    for start in range(0, shape[1], step):
        part = slice(start, min(start + step, shape[1]))
        counts = np.empty(
            (part.stop - start, SampleGroup.EXCLUDED, _GENOTYPE_CODES), np.uint32
        )
        survey.advance(counts, missing, check, threads)
        yield part, counts


def find_ploidy(chromosome: NDArray[Any] | None, count: int) -> NDArray[np.uint8]:
    """Return the ploidy of each variant; unknown chromosomes are treated as autosomes."""
    if chromosome is None or not len(chromosome):
        return np.zeros(count, np.uint8)
    # Variants of a chromosome are adjacent, so look up each run of equal chromosomes
    # once.
    starts = np.flatnonzero(np.append(True, chromosome[1:] != chromosome[:-1]))
    names = [str(name).upper().removeprefix("CHR") for name in chromosome[starts]]
    kinds = [_PLOIDIES.get(name, Ploidy.DIPLOID) for name in names]
    return np.repeat(np.array(kinds, np.uint8), np.diff(starts, append=count))


def _find_groups(
    bed: open_bed,
    chosen: NDArray[np.int64] | None,
    ploidy: NDArray[np.uint8],
    *,
    nonfounders: bool,
) -> NDArray[np.uint8]:
    """Return the group of each individual."""
    groups = np.full(bed.iid_count, SampleGroup.OTHER, np.uint8)
    if bed.sex is not None and np.isin(ploidy, (Ploidy.X, Ploidy.Y)).any():
        groups[bed.sex == MALE] = SampleGroup.MALE
    for parent in () if nonfounders else (bed.father, bed.mother):
        if parent is not None:
            groups[parent != "0"] = SampleGroup.NONFOUNDER
    if chosen is not None:
        left_out = np.ones(len(groups), bool)
        left_out[chosen] = False
        groups[left_out] = SampleGroup.EXCLUDED
    return groups


def _compute_columns(
    counts: NDArray[np.uint32],
    ploidy: NDArray[np.uint8],
    *,
    count_a1: bool,
    mid_p: bool,
    threads: int,
) -> dict[str, NDArray[Any]]:
    """Compute statistics of a range of variants from the genotype counts of each group."""
    total = counts.sum(axis=1, dtype=np.int64)
    hom_a1, het, hom_a2 = total[:, _GENOTYPE_COLUMNS].T
    two, one = _count_founders(counts, ploidy)
    # A haploid individual cannot be heterozygous.
    weights = np.array([2, 1, 0], np.int64)
    a1 = two.astype(np.int64) @ weights + one[:, 0]
    alleles = a1 + two.astype(np.int64) @ weights[::-1] + one[:, 2]
    # Variants on Y and MT are not tested, so their p-value is that of zero genotypes.
    hardy_p = np.empty(len(two))
    _native.hardy_p(np.ascontiguousarray(two), hardy_p, mid_p, threads)
    hardy_p[(ploidy == Ploidy.Y) | (ploidy == Ploidy.MT)] = 0.5 if mid_p else 1
    return {
        "count": hom_a1 + het + hom_a2,
        "missing": total[:, _MISSING],
        "hom_a1": hom_a1,
        "het": het,
        "hom_a2": hom_a2,
        "alleles": alleles,
        "allele_frequency": _safe_divide(a1 if count_a1 else alleles - a1, alleles),
        **_mean_and_variance(hom_a1 if count_a1 else hom_a2, het, hom_a1 + het + hom_a2),
        "hardy_p": hardy_p,
    }


def _count_founders(
    counts: NDArray[np.uint32], ploidy: NDArray[np.uint8]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the genotype counts of diploid founders and of haploid founders."""
    males = counts[:, SampleGroup.MALE, _GENOTYPE_COLUMNS]
    others = counts[:, SampleGroup.OTHER, _GENOTYPE_COLUMNS]
    is_y = (ploidy == Ploidy.Y)[:, None]
    is_single = is_y | (ploidy == Ploidy.X)[:, None]
    none = np.uint32(0)
    two = np.where(is_y, none, others) + np.where(is_single, none, males)
    return two, np.where(is_single, males, none)


def _mean_and_variance(
    two: NDArray[np.int64], one: NDArray[np.int64], count: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Compute mean and variance from the counts of the genotypes 2 and 1."""
    mean = _safe_divide(2 * two + one, count)
    squares = _safe_divide(4 * two + one, count)
    # Set the variance of constant variants to 0, because rounding could make it
    # nonzero.
    is_constant = (two == count) | (one == count)
    return {"mean": mean, "variance": np.where(is_constant, 0 * mean, squares - mean**2)}


def _safe_divide(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    """Divide elementwise; 0 / 0 is NaN."""
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
