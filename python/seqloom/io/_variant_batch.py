"""The columns of a batch of variants."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seqloom._ragged import Ragged


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class VariantBatch:
    """Columns of variants, with one row for each record of the file.

    The column of an INFO field depends on its type in the header. An undeclared field has
    the type of the VCF specification, or is text.

    - Integer: int32 of shape (records, values), where ``values`` is the largest number of
      values in the batch. A missing value is -2147483648.
    - Float: float32 of the same shape. A missing value is NaN.
    - Flag: bool of shape (records,).
    - String and Character: the text of each record in the file; ``.`` if missing. The text
      may have commas and percent-encoded characters.

    Numbers of a FORMAT field have the shape (records, samples, values). Texts of a FORMAT
    field have a row for each record and sample.

    Args:
        chrom_codes: Index of the chromosome in ``chrom_names``.
        chrom_names: Names of the chromosomes: first those of the header, then
            undeclared ones.
        starts: 0-based position of the first base of ``refs``, which is POS - 1. A POS
            of 0 (the telomere) gives -1.
        ids: Ids as in the file; ``.`` if missing.
        refs: Reference alleles as in the file.
        alts: Alternative alleles as in the file, separated by commas; ``.`` if missing.
        qualities: Qualities (float32); NaN if missing.
        filters: Filters as in the file, separated by semicolons; ``.`` if missing.
        lines: 1-based line of the record; in BCF or a region, the 1-based number of the
            record among those that are read.
        info: Columns of the requested INFO fields, by name.
        format: Columns of the requested FORMAT fields, by name.
        genotypes: Allele numbers, of shape (records, samples, ploidy); None unless
            samples were requested. A missing allele is -1. A place above the ploidy of
            the genotype is -2. The last axis has at least 2 places.
        phased: True for each genotype whose alleles are all phased, of shape (records,
            samples); None unless samples were requested.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> text = "##fileformat=VCFv4.2\\n"
        >>> text += "#CHROM\\tPOS\\tID\\tREF\\tALT\\tQUAL\\tFILTER\\tINFO\\n"
        >>> _ = Path("a.vcf").write_text(text + "chr1\\t7\\t.\\tA\\tG,T\\t30\\tPASS\\t.\\n")
        >>> with sl.io.open_variants("a.vcf") as reader:
        ...     batch = next(reader.batches())
        >>> batch.chroms, batch.starts.tolist(), batch.alts.to_list()
        (['chr1'], [6], [b'G,T'])
    """

    chrom_codes: NDArray[np.int32]
    chrom_names: list[str]
    starts: NDArray[np.int64]
    ids: Ragged
    refs: Ragged
    alts: Ragged
    qualities: NDArray[np.float32]
    filters: Ragged
    lines: NDArray[np.int64]
    info: dict[str, Any] = field(default_factory=dict[str, Any])
    format: dict[str, Any] = field(default_factory=dict[str, Any])
    genotypes: NDArray[np.int8] | NDArray[np.int16] | None = None
    phased: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return self.starts.size

    @property
    def chroms(self) -> list[str]:
        """Name of the chromosome of each record."""
        names = self.chrom_names
        return [names[code] for code in self.chrom_codes.tolist()]
