"""How often each genotype occurs: one pass over a .bed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_flag, check_function
from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.io.plink._genotype_stats import GenotypeStats
from seqloom.io.plink._open_bed import open_bed
from seqloom.io.plink._selection import choose_threads, find_positions
from seqloom.io.plink._variant_counts import (
    Group,
    compute_columns,
    find_groups,
    find_ploidy,
    make_columns,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

_STEP_BYTES = 64 << 20  # of the file and a thread: between steps Ctrl-C is answered
# If lines are individuals, a step reads a part of each line: it must not be too short. The
# counts of its variants are in memory: it must not be too long.
_STEP_VARIANTS = 1 << 16, 1 << 18
_GROUPS = Group.EXCLUDED
_CODES = 4


def genotype_stats(
    bed: open_bed | str | os.PathLike[str],
    *,
    individuals: Any = None,
    nonfounders: bool = False,
    mid_p: bool = False,
    num_threads: int | None = None,
    on_progress: Callable[[int, int], object] | None = None,
) -> GenotypeStats:
    """Counts the genotypes of each variant, in one pass and in bounded memory.

    Counts, mean and variance are those of all individuals. Frequency and Hardy-Weinberg p
    are those that PLINK 1.9 prints for ``--freq --hardy --keep-allele-order``. They count
    founders only (both parents are ``0``). On X a male has one allele, and his heterozygous
    call counts as missing; on Y only males count, in the same way. Individuals of unknown
    sex count as females. The exact test (Wigginton, Cutler & Abecasis 2005) excludes males
    on X; on Y and MT nobody is tested, and p is 1 (mid-p: 0.5). The names X or 23, Y or 24,
    and MT, M or 26 are known, also with ``chr`` before them; all other chromosomes count as
    autosomes.

    Args:
        bed: A .bed file, or an `open_bed`, whose ``count_A1`` says which allele to count.
        individuals: The individuals to count: an index as in `open_bed.read`, without
            duplicates; None: all.
        nonfounders: Whether frequency and Hardy-Weinberg p include individuals with
            parents.
        mid_p: Whether p is the mid-p value, which counts half of the outcomes that are as
            likely as the observed genotypes.
        num_threads: Number of threads; None: that of the `open_bed`, or all cores.
        on_progress: Called with the number of variants counted, and the number of all.

    Returns:
        Arrays with an entry for each variant.

    Raises:
        ArgumentError: An individual is named twice, or the file is in the cloud.
        OutOfRangeError: An index is outside the individuals.
        FormatError: The file is not a .bed, or does not fit its tables, even where only
            the last byte of each line shows that.
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
    nonfounders, mid_p = as_flag("nonfounders", nonfounders), as_flag("mid_p", mid_p)
    check_function("on_progress", on_progress)
    source = bed if isinstance(bed, open_bed) else open_bed(bed)
    chosen = _select(source, individuals)
    ploidy = find_ploidy(source.chromosome, source.sid_count)
    groups = find_groups(source, chosen, ploidy, nonfounders=nonfounders)
    default = source._num_threads  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - our own class
    threads = choose_threads(num_threads, default)
    columns, missing = make_columns(source.sid_count), np.zeros(source.iid_count, np.uint32)
    for part, counts in _count_steps(source, groups, missing, threads=threads):
        values_by_name = compute_columns(
            counts, ploidy[part], count_a1=source.count_A1, mid_p=mid_p, threads=threads
        )
        for name, values in values_by_name.items():
            columns[name][part] = values
        if on_progress is not None:
            on_progress(part.stop, source.sid_count)
    who = slice(None) if chosen is None else chosen
    return _make_stats(
        source, who, columns | {"individual_missing": missing[who].astype(np.int32)}
    )


def _select(bed: open_bed, individuals: Any) -> NDArray[np.int64] | None:
    """Returns the positions of the individuals to count."""
    chosen = find_positions(individuals, bed.iid_count)
    if chosen is not None and len(np.unique(chosen)) < len(chosen):
        raise ArgumentError(
            "individuals must not name an individual twice; remove the duplicates"
        )
    return chosen


def _count_steps(
    bed: open_bed, groups: NDArray[np.uint8], missing: NDArray[np.uint32], *, threads: int
) -> Iterator[tuple[slice, NDArray[np.uint32]]]:
    """Counts in steps; yields the variants of a step and the codes of each group."""
    shape, check = bed.shape, not bed.skip_format_check
    native = bed._native()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - our own class
    survey = _native.GenotypeSurvey(native, shape, groups, _GROUPS)
    fewest, most = _STEP_VARIANTS
    step = min(max(threads * _STEP_BYTES * 4 // max(shape[0], 1), fewest), most)
    for start in range(0, shape[1], step):
        part = slice(start, min(start + step, shape[1]))
        counts = np.empty((part.stop - start, _GROUPS, _CODES), np.uint32)
        survey.advance(counts, missing, check, threads)
        yield part, counts


def _make_stats(
    bed: open_bed, who: slice | NDArray[np.int64], columns: dict[str, NDArray[Any]]
) -> GenotypeStats:
    """Joins the computed columns and those of the tables."""
    return GenotypeStats(
        sid=bed.sid,
        chromosome=bed.chromosome,
        bp_position=bed.bp_position,
        allele_1=bed.allele_1,
        allele_2=bed.allele_2,
        iid=None if bed.iid is None else bed.iid[who],
        counted="A1" if bed.count_A1 else "A2",
        **columns,
    )
