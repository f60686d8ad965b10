"""What a PLINK set holds, told by its tables and the edges of its .bed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from seqloom._text import printable

_CHROMOSOMES = 26
_PHENOTYPES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class BedSummary:
    """What a PLINK set holds: a .bed with its .fam and .bim.

    Args:
        path: The .bed.
        file_bytes: Its size, which fits the tables.
        major: What a line of it is: ``"SNP"`` or ``"individual"``.
        individuals: How many there are.
        variants: How many there are.
        male: How many individuals are male.
        female: How many are female.
        unknown_sex: How many are neither in the .fam.
        founders: How many have no parents in the .fam.
        phenotypes: How often each phenotype stands in the .fam, the commonest first.
        missing_phenotypes: How many are ``-9``, ``NA`` or ``nan``.
        chromosomes: How many variants each chromosome has, in the order of the file.
        same_iid: How many individuals have the (FID, IID) of one before.
        same_sid: How many variants have the id of one before.

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
        """Turns the summary into what JSON knows.

        Returns:
            The fields by name.

        Examples:
            >>> import json
            >>> from seqloom.io import inspect_bed, to_bed
            >>> to_bed("small.bed", [[1, 0, 2], [2, 0, 1]])
            >>> json.loads(json.dumps(inspect_bed("small.bed").to_dict()))["variants"]
            3
        """
        return asdict(self)

    def facts(self) -> dict[str, str]:
        """Writes the summary as a table of words.

        Returns:
            What a row is about, and its text.

        Examples:
            >>> from seqloom.io import inspect_bed, to_bed
            >>> to_bed("small.bed", [[1, 0, 2], [2, 0, 1]])
            >>> inspect_bed("small.bed").facts()["layout"]
            'a line is a variant (SNP-major)'
        """
        line = "a variant" if self.major == "SNP" else "an individual"
        facts = {
            "file": f"{self.path} ({self.file_bytes:,} bytes, as its tables ask for)",
            "layout": f"a line is {line} ({self.major}-major)",
            "individuals": f"{self.individuals:,}, {self.founders:,} of them founders",
            "sex": self._sexes(),
            "phenotype": self._phenotype(),
            "variants": f"{self.variants:,}",
            "chromosomes": _listed(self.chromosomes, _CHROMOSOMES) or "none",
            "same id": f"{self.same_iid:,} individuals, {self.same_sid:,} variants",
        }
        return {name: printable(fact) for name, fact in facts.items()}

    def __str__(self) -> str:
        return "\n".join(f"{name:<12}{value}" for name, value in self.facts().items())

    def _sexes(self) -> str:
        """Writes how many there are of each sex."""
        return f"{self.male:,} male, {self.female:,} female, {self.unknown_sex:,} unknown"

    def _phenotype(self) -> str:
        """Writes which phenotypes there are, or only how many if they are many."""
        missing = f"{self.missing_phenotypes:,} missing (-9, NA or nan)"
        if len(self.phenotypes) <= _PHENOTYPES:
            return f"{_listed(self.phenotypes, _PHENOTYPES)}; {missing}"
        return f"{len(self.phenotypes):,} different values; {missing}"


def _listed(counts: dict[str, int], most: int) -> str:
    """Lists names with their counts, up to a number of them."""
    shown = [f"{name}: {n:,}" for name, n in islice(counts.items(), most)]
    more = [f"{len(counts) - most} more"] if len(counts) > most else []
    return ", ".join(shown + more)
