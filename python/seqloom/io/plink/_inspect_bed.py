"""Summarise a PLINK set without reading its genotypes."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._text import printable
from seqloom.io.plink._open_bed import open_bed

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

_MAX_CHROMOSOMES = 26
_MAX_PHENOTYPES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class BedSummary:
    """Summary of a PLINK set, which is a .bed with its .fam and .bim.

    Args:
        path: The path of the .bed.
        file_bytes: Size of the .bed in bytes.
        major: Layout of the .bed: ``"SNP"`` (each row is a variant) or ``"individual"``.
        individuals: Number of individuals.
        variants: Number of variants.
        male: Number of males.
        female: Number of females.
        unknown_sex: Number of individuals of unknown sex.
        founders: Number of individuals without parents in the .fam.
        phenotypes: Count of each phenotype in the .fam, the most frequent first.
        missing_phenotypes: Number of missing phenotypes: ``-9``, ``NA`` and ``nan``.
        chromosomes: Number of variants on each chromosome, in file order.
        same_iid: Number of individuals with the same FID and IID as an earlier individual.
        same_sid: Number of variants with the same id as an earlier variant.

    Examples:
        >>> from seqloom.io import inspect_bed, to_bed
        >>> to_bed("small.bed", [[1, 0, 2], [2, 0, 1]], properties={"sex": [1, 2]})
        >>> inspect_bed("small.bed").male
        1
    """

    path: str
    file_bytes: int
    major: str
    individuals: int
    variants: int
    male: int
    female: int
    unknown_sex: int
    founders: int
    phenotypes: dict[str, int]
    missing_phenotypes: int
    chromosomes: dict[str, int]
    same_iid: int
    same_sid: int

    def to_dict(self) -> dict[str, Any]:
        """Convert the summary to values that ``json.dumps`` accepts.

        Returns:
            A dict from field name to value.

        Examples:
            >>> import json
            >>> from seqloom.io import inspect_bed, to_bed
            >>> to_bed("small.bed", [[1, 0, 2], [2, 0, 1]])
            >>> json.loads(json.dumps(inspect_bed("small.bed").to_dict()))["variants"]
            3
        """
        return asdict(self)

    def facts(self) -> dict[str, str]:
        """Return the summary as rows of text.

        Returns:
            A dict from row name to text.

        Examples:
            >>> from seqloom.io import inspect_bed, to_bed
            >>> to_bed("small.bed", [[1, 0, 2], [2, 0, 1]])
            >>> inspect_bed("small.bed").facts()["layout"]
            'each line is a variant (SNP-major)'
        """
        line = "a variant" if self.major == "SNP" else "an individual"
        # If there are many different phenotypes, show only their number.
        phenotypes = f"{len(self.phenotypes):,} different values"
        if len(self.phenotypes) <= _MAX_PHENOTYPES:
            phenotypes = _list_counts(self.phenotypes, _MAX_PHENOTYPES)
        missing = f"{self.missing_phenotypes:,} missing (-9, NA or nan)"
        facts = {
            "file": f"{self.path} ({self.file_bytes:,} bytes, matches its tables)",
            "layout": f"each line is {line} ({self.major}-major)",
            "individuals": f"{self.individuals:,}, {self.founders:,} of them founders",
            "sex": f"{self.male:,} male, {self.female:,} female, "
            f"{self.unknown_sex:,} unknown",
            "phenotype": f"{phenotypes}; {missing}",
            "variants": f"{self.variants:,}",
            "chromosomes": _list_counts(self.chromosomes, _MAX_CHROMOSOMES) or "none",
            "duplicate ids": f"{self.same_iid:,} individuals, {self.same_sid:,} variants",
        }
        return {name: printable(fact) for name, fact in facts.items()}

    def __str__(self) -> str:
        return "\n".join(f"{name:<15}{value}" for name, value in self.facts().items())


def _list_counts(counts: dict[str, int], most: int) -> str:
    """Format names with their counts, up to a maximum number of names."""
    shown = [f"{name}: {n:,}" for name, n in islice(counts.items(), most)]
    more = [f"{len(counts) - most} more"] if len(counts) > most else []
    return ", ".join(shown + more)


_MALE, _FEMALE = 1, 2
_MISSING_PHENOTYPES = ("-9", "na", "nan")
_MAX_COUNTED_PHENOTYPES = 1000  # quantitative phenotypes have many different values


def inspect_bed(bed: open_bed | str | os.PathLike[str]) -> BedSummary:
    """Check a PLINK set and summarise its tables, without reading genotypes.

    The length of the .bed must match the tables, and the padding at the end of each row
    must not contain genotypes. A warning is issued if the padding has the same nonzero code
    in all rows, because some tools pad rows with a nonzero code. A warning is also
    issued if the last genotype is homozygous A1 in all rows (64 or more), because a
    table may then be too long. The padding is not checked for an `open_bed` with
    ``skip_format_check``.

    Args:
        bed: A .bed file, or an `open_bed`.

    Returns:
        A summary with counts of individuals, sexes, founders, phenotypes, variants and
        chromosomes.

    Raises:
        MissingFileError: The .bed, the .fam or the .bim does not exist.
        FormatError: A file is not in PLINK format, or the three files do not match each
            other.

    Examples:
        >>> from seqloom.io import to_bed
        >>> sex = {"sex": [1, 2], "chromosome": ["1", "1", "X"], "pheno": ["1", "-9"]}
        >>> to_bed("small.bed", [[1, 0, 2], [2, 0, 1]], properties=sex)
        >>> print(inspect_bed("small.bed"))
        file           small.bed (6 bytes, matches its tables)
        layout         each line is a variant (SNP-major)
        individuals    2, 2 of them founders
        sex            1 male, 1 female, 0 unknown
        phenotype      1: 1, -9: 1; 1 missing (-9, NA or nan)
        variants       3
        chromosomes    1: 2, X: 1
        duplicate ids  0 individuals, 0 variants
    """
    source = bed if isinstance(bed, open_bed) else open_bed(bed)
    native = source._native()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - same package
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
        **_count_individuals(source),
        chromosomes=_count_chromosomes(source.chromosome),
        same_sid=_count_duplicates(source.sid),
    )


def _count_individuals(bed: open_bed) -> dict[str, Any]:
    """Count sexes, founders, phenotypes and repeated ids."""
    count = bed.iid_count
    male, female = (
        0 if bed.sex is None else int((bed.sex == sex).sum()) for sex in (_MALE, _FEMALE)
    )
    parents = [parent != "0" for parent in (bed.father, bed.mother) if parent is not None]
    phenotypes: Counter[str] = (
        Counter() if bed.pheno is None else Counter(bed.pheno.tolist())
    )
    return {
        "male": male,
        "female": female,
        "unknown_sex": count - male - female,
        "founders": count - int(np.any(parents, axis=0).sum()),
        "phenotypes": dict(phenotypes.most_common(_MAX_COUNTED_PHENOTYPES)),
        "missing_phenotypes": sum(
            n for word, n in phenotypes.items() if word.casefold() in _MISSING_PHENOTYPES
        ),
        "same_iid": _count_duplicates(bed.fid, bed.iid),
    }


def _count_chromosomes(column: NDArray[Any] | None) -> dict[str, int]:
    """Count the variants on each chromosome."""
    counts: Counter[str] = Counter()
    if column is None or not len(column):
        return counts
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    for name, length in zip(
        column[starts].tolist(), np.diff(starts, append=len(column)).tolist(), strict=True
    ):
        counts[name] += length
    return dict(counts)


def _count_duplicates(*columns: NDArray[Any] | None) -> int:
    """Count the rows that are equal to an earlier row."""
    known = [column.tolist() for column in columns if column is not None]
    rows = list(zip(*known, strict=True))
    return len(rows) - len(set(rows))
