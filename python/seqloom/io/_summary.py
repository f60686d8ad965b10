"""What a sequence file holds, as numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom._text import printable
from seqloom.report import write_panels

if TYPE_CHECKING:
    import os

    from seqloom.io._position import PositionBin
    from seqloom.io._quality import QualitySummary

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class LengthBin:
    """How many sequences are from ``start`` to ``stop`` letters long, both included.

    Args:
        start: The shortest that counts.
        stop: The longest that counts.
        records: How many there are.

    Examples:
        >>> LengthBin(1, 10, 3).records
        3
    """

    start: int
    stop: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a sequence file holds.

    Args:
        path: The file; ``"-"`` for standard input.
        format: ``"fasta"`` or ``"fastq"``.
        compression: ``"none"``, ``"gzip"``, ``"bgzip"``, ``"bzip2"``, ``"xz"`` or
            ``"zstd"``.
        file_bytes: Its size on disk; of standard input, how many bytes were read.
        records: How many sequences it has.
        letters: How often each letter stands in them, without regard to case, the
            commonest first.
        shortest: The length of the shortest sequence.
        median: The median length.
        mean: The mean length.
        longest: The length of the longest sequence.
        histogram: How the lengths are spread.
        alphabet: ``"dna"``, ``"rna"`` or ``"protein"``; None where that cannot be told.
        outside: Letters that are no plain member of the alphabet, and how many.
        lower_case: How many letters are lower case.
        gc: The share of G and C among plain bases; None where letters are not nucleotides.
        duplicate_ids: How many records bear an id that stood before.
        duplicate_examples: Up to three such ids; none of standard input.
        quality: What the qualities are; None for FASTA.
        positions: What stands at each position, or at each few where sequences are longer
            than 512 letters: at most 512 bins.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.io import inspect
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nGG\\n")
        >>> inspect("a.fa").records
        2
    """

    path: str
    format: str
    compression: str
    file_bytes: int
    records: int
    letters: dict[str, int]
    shortest: int
    median: float
    mean: float
    longest: int
    histogram: tuple[LengthBin, ...]
    alphabet: str | None
    outside: dict[str, int]
    lower_case: int
    gc: float | None
    duplicate_ids: int
    duplicate_examples: tuple[str, ...]
    quality: QualitySummary | None = None
    positions: tuple[PositionBin, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Turns the summary into what JSON knows.

        Returns:
            The fields by name.

        Examples:
            >>> import json
            >>> from pathlib import Path
            >>> from seqloom.io import inspect
            >>> _ = Path("a.fa").write_text(">a\\nACGT\\n")
            >>> json.loads(json.dumps(inspect("a.fa").to_dict()))["histogram"]
            [{'start': 4, 'stop': 4, 'records': 1}]
        """
        return asdict(self)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draws lengths, qualities and composition into one PNG file.

        Args:
            path: The file to write.

        Raises:
            MissingExtraError: matplotlib is not installed (the extra ``plot``).
            FileError: The file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import inspect
            >>> _ = Path("a.fq").write_text("@a\\nACGT\\n+\\nIIH5\\n")
            >>> inspect("a.fq").plot("a.png")
            >>> Path("a.png").read_bytes()[1:4]
            b'PNG'
        """
        # Imported here: the panels are made of summaries.
        from seqloom.io._plot import panels_of

        title = f"{Path(self.path).name}: {self.records:,} sequences, {self.format}"
        write_panels(path, title, list(panels_of(self)))

    def __str__(self) -> str:
        return "\n".join(f"{name:<12}{value}" for name, value in self.facts().items())

    def facts(self) -> dict[str, str]:
        """Writes the summary as a table of words.

        Returns:
            What a row is about, and its text.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import inspect
            >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nGG\\n")
            >>> inspect("a.fa").facts()["lengths"]
            '2 to 4, median 3, mean 3.0'
        """
        facts = {
            "file": f"{self.path} ({self.file_bytes:,} bytes)",
            "format": self.format,
            "compression": self.compression,
            "records": f"{self.records:,}",
            "letters": _shares(self.letters),
            "lengths": self._lengths(),
            "alphabet": self.alphabet or "unclear",
            "outside": _outside(self.outside),
            "lower case": f"{self.lower_case:,}",
        }
        if self.gc is not None:
            facts["GC"] = _percent(self.gc)
        if self.quality is not None:
            facts |= _qualities(self.quality)
        facts["same id"] = _same_ids(self.duplicate_ids, self.duplicate_examples)
        return {name: printable(fact) for name, fact in facts.items()}

    def _lengths(self) -> str:
        """Writes the lengths in one line."""
        if self.shortest == self.longest:
            return f"all {self.shortest:,}"
        return (
            f"{self.shortest:,} to {self.longest:,}, median {self.median:,.0f}, "
            f"mean {self.mean:,.1f}"
        )


def _shares(letters: dict[str, int]) -> str:
    """Writes how many letters there are, and which share the commonest have."""
    total = sum(letters.values())
    shown = [f"{letter} {_percent(n / total)}" for letter, n in letters.items()][:_SHOWN]
    rest = len(letters) - len(shown)
    more = [f"{rest} more"] if rest else []
    return f"{total:,}: {', '.join(shown + more)}" if total else "0"


def _percent(share: float) -> str:
    """Writes a share."""
    return f"{100 * share:.1f} %"


def _qualities(quality: QualitySummary) -> dict[str, str]:
    """Writes what the qualities are, and what they could be."""
    letters = f"{quality.lowest} to {quality.highest}"
    possible = " or ".join(quality.possible)
    return {
        "quality": f"mean {quality.mean:.1f}, read as {quality.encoding}",
        "encodings": f"{possible}, by the letters {letters}",
    }


def _outside(letters: dict[str, int]) -> str:
    """Writes letters with their numbers."""
    return ", ".join(f"{letter} {n:,}" for letter, n in letters.items()) or "none"


def _same_ids(number: int, examples: tuple[str, ...]) -> str:
    """Writes how many ids stood before, and which."""
    named = f" ({', '.join(examples)})" if examples else ""
    return f"{number:,}{named}" if number else "none"
