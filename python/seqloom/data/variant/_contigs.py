"""Finds the sequence of a genome for each contig name of a VCF file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from seqloom._text import format_count, join_first_names
from seqloom.data.interval._spans import contig_aliases
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.data.interval._spans import Genome


class ContigNames:
    """The sequences of a genome by the names that a VCF file gives to contigs.

    An exact name has precedence. Otherwise ``chr`` is added or removed, and M, MT, chrM and
    chrMT are one contig. Accession numbers are not translated.
    """

    def __init__(self, genome: Genome) -> None:
        self.genome = genome
        self._counts = Counter(genome.names)
        self._numbers = {name: number for number, name in enumerate(genome.names)}
        self._owners: dict[int, str] = {}
        self.matches: dict[str, int] = {}  # Sequence numbers; -1 if the genome has none.

    def find(self, name: str) -> int:
        """Return the number of the sequence of a contig; -1 if the genome lacks it."""
        if name in self.matches:
            return self.matches[name]
        names = (alias for alias in contig_aliases(name) if alias in self._numbers)
        if (match := next(names, None)) is None:
            self.matches[name] = -1
            return -1
        if self._counts[match] > 1:
            raise FormatError(
                f"{self.genome.path}: {self._counts[match]} sequences are named {match!r}, "
                "expected one; remove the others from the genome"
            )
        number = self._numbers[match]
        other = self._owners.setdefault(number, name)
        if other != name:
            raise FormatError(
                f"the variants name contigs {other!r} and {name!r}, which are both "
                f"{match!r} in {self.genome.path}; use one name for the contig in the "
                "variants"
            )
        self.matches[name] = number
        return number

    def numbers(self, names: Sequence[str], codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the sequence number of each record; ``codes`` are indices into names."""
        table = np.full(len(names), -1, np.int32)
        for code in np.unique(codes).tolist():
            table[code] = self.find(names[code])
        return table[codes]

    @property
    def missing(self) -> list[str]:
        """Names of contigs that the genome lacks."""
        return [name for name, number in self.matches.items() if number < 0]

    def describe(self) -> str:
        """Return a sentence about the names that differ; empty if no name differs."""
        names = self.genome.names
        pairs = {name: names[at] for name, at in self.matches.items() if at >= 0}
        pairs = {name: match for name, match in pairs.items() if name != match}
        if not pairs:
            return ""
        return (
            f"the variants name contigs {join_first_names(list(pairs))}, the genome "
            f"{join_first_names(list(pairs.values()))}: {_describe_changes(pairs)}"
        )


def _describe_changes(pairs: dict[str, str]) -> str:
    """Return how names were changed, with the number of names for each change."""
    changes = Counter(
        "chr was added"
        if match == f"chr{name}"
        else "chr was removed"
        if name == f"chr{match}"
        else f"{match} was used for {name}"
        for name, match in pairs.items()
    )
    return ", ".join(
        f"{change} for {format_count(count, 'contigs')}" if "chr was" in change else change
        for change, count in changes.items()
    )
