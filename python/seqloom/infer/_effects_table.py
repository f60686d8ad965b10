"""The effects of variants as columns, and as a table in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from seqloom._arguments import as_path
from seqloom.errors import ArgumentError
from seqloom.infer._effects_files import as_target, open_effects

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VariantEffects:
    """The effects that `variant_effects` returns: a row for each record and ALT allele.

    With ``genes``, an allele has a row for each gene that contains the variant.

    Attributes:
        records: The index of the record in the input, from 0.
        chroms: The name of the chromosome, as in the record.
        starts: The position of the first base of REF, from 0.
        ids: The id of the record; ``"."`` if it is missing.
        refs: REF, as in the record.
        alts: One ALT allele, as in the record.
        status: ``"ok"`` or ``"swapped"`` if the allele was scored, otherwise the reason
            why it was not, such as ``"symbolic"`` or ``"reference_mismatch"``.
        alleles: The allele in normal form: ``"chr1:1234:CA:C"``, with a position from 1.
            Empty if the allele was not scored.
        genes: The name of the gene; None if no genes were passed.
        columns: The scores and effects by name, such as ``difference_yes``. NaN in rows
            that were not scored.
        report: Counts of each status and of differences from the genome, and ``settings``:
            the settings of the call.
        source: The path of the VCF file with the records; None for records in memory.

    Examples:
        >>> effects = VariantEffects(
        ...     np.array([0]),
        ...     ["chr1"],
        ...     np.array([9]),
        ...     ["."],
        ...     ["A"],
        ...     ["G"],
        ...     ["ok"],
        ...     ["chr1:10:A:G"],
        ...     None,
        ...     {"difference_yes": np.array([0.25])},
        ...     {},
        ... )
        >>> effects, effects["difference_yes"].tolist()
        (VariantEffects of 1 row: difference_yes, [0.25])
    """

    records: NDArray[np.int64]
    chroms: list[str]
    starts: NDArray[np.int64]
    ids: list[str]
    refs: list[str]
    alts: list[str]
    status: list[str]
    alleles: list[str]
    genes: list[str] | None
    columns: dict[str, NDArray[np.float64]]
    report: dict[str, Any]
    source: str | None = None

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Return a column of scores or effects."""
        if name not in self.columns:
            raise ArgumentError(
                f"no column {name!r}; expected one of {', '.join(self.columns)}"
            )
        return self.columns[name]

    def __repr__(self) -> str:
        noun = "row" if len(self) == 1 else "rows"
        return f"VariantEffects of {len(self):,} {noun}: {', '.join(self.columns)}"

    def to_dict(self) -> dict[str, Any]:
        """Return all columns of the table by name, for ``pandas.DataFrame``.

        Returns:
            ``chrom``, ``pos`` (from 1, as in VCF), ``id``, ``ref``, ``alt``, ``status``,
            ``allele``, ``gene`` if genes were passed, and the scores and effects.

        Examples:
            >>> effects = VariantEffects(
            ...     np.array([0]),
            ...     ["chr1"],
            ...     np.array([9]),
            ...     ["."],
            ...     ["A"],
            ...     ["G"],
            ...     ["ok"],
            ...     ["chr1:10:A:G"],
            ...     None,
            ...     {},
            ...     {},
            ... )
            >>> effects.to_dict()["pos"].tolist()
            [10]
        """
        texts = {
            "chrom": self.chroms,
            "pos": self.starts + 1,
            "id": self.ids,
            "ref": self.refs,
            "alt": self.alts,
            "status": self.status,
            "allele": self.alleles,
        }
        genes = {} if self.genes is None else {"gene": self.genes}
        return texts | genes | self.columns

    def to_tsv(self, path: str | os.PathLike[str] | IO[str]) -> None:
        """Atomically write a table with the columns of `to_dict`.

        Scores that do not exist are ``.``.

        Args:
            path: The path of the file, which is overwritten if it exists, or an open text
                file.

        Raises:
            FileError: The file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> effects = VariantEffects(
            ...     np.array([0]),
            ...     ["chr1"],
            ...     np.array([9]),
            ...     ["."],
            ...     ["A"],
            ...     ["<DEL>"],
            ...     ["symbolic"],
            ...     [""],
            ...     None,
            ...     {"difference_yes": np.array([np.nan])},
            ...     {},
            ... )
            >>> effects.to_tsv("effects.tsv")
            >>> print(Path("effects.tsv").read_text().splitlines()[1])
            chr1	10	.	A	<DEL>	symbolic	.	.
        """
        with open_effects(as_target("path", path)) as write:
            write(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Atomically write a table in the format of the file's extension.

        Args:
            path: The path of the file, which is overwritten if it exists. ``.vcf``,
                ``.vcf.gz`` and ``.vcf.bgz`` files have the records of the input with the
                effects in INFO, and an index if they are compressed. A ``.csv`` file has
                commas, a ``.parquet`` file is Parquet (extra ``parquet``), and all other
                files have tabs.

        Raises:
            ArgumentError: The extension of the file belongs to an unsupported format, such
                as ``.xlsx``, or the variants of a VCF file were not read from a file.
            FileError: The file cannot be written.
            MissingExtraError: The file is Parquet, and the package pyarrow is not
                installed.

        Examples:
            >>> from pathlib import Path
            >>> effects = VariantEffects(
            ...     np.array([0]),
            ...     ["chr1"],
            ...     np.array([9]),
            ...     ["."],
            ...     ["A"],
            ...     ["G"],
            ...     ["ok"],
            ...     ["chr1:10:A:G"],
            ...     None,
            ...     {},
            ...     {},
            ... )
            >>> effects.save("effects.csv")
            >>> Path("effects.csv").read_text().splitlines()[1]
            'chr1,10,.,A,G,ok,chr1:10:A:G'
        """
        with open_effects(as_path("path", path), self.source) as write:
            write(self)
