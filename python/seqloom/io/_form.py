"""What a written file looks like, by its name or as asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, TypeAlias

from seqloom.errors import ArgumentError

Compression: TypeAlias = Literal["none", "gzip", "bgzip"]

_FORMATS = {
    **dict.fromkeys((".fa", ".fas", ".fasta", ".faa", ".ffn", ".fna"), "fasta"),
    **dict.fromkeys((".fastq", ".fq"), "fastq"),
}
_CONTAINERS = {".bgz": "bgzip", ".gz": "gzip"}
_HIGHEST = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Holds what `write_sequences` was asked for, checked."""

    format: str
    compression: str
    line_width: int | None
    level: int
    threads: int

    def __post_init__(self) -> None:
        _check("format", self.format, ("fasta", "fastq"))
        _check("compression", self.compression, ("none", "gzip", "bgzip"))
        if self.line_width is not None and self.line_width < 1:
            raise ArgumentError(f"line_width must be at least 1, got {self.line_width}")
        if not 0 <= self.level <= _HIGHEST:
            raise ArgumentError(f"level must be from 0 to {_HIGHEST}, got {self.level}")


def format_of(name: str) -> str:
    """Tells the format from a file's name."""
    *_, suffix, last = ["", "", *PurePath(name).suffixes]
    found = _FORMATS.get((suffix if last.lower() in _CONTAINERS else last).lower())
    if found is None:
        raise ArgumentError(
            f"{name}: cannot tell the format from the name; use one that ends in .fa, "
            '.fasta, .fq or .fastq (and .gz or .bgz), or format="fasta" or "fastq"'
        )
    return found


def compression_of(name: str) -> str:
    """Tells the container from a file's name."""
    return _CONTAINERS.get(PurePath(name).suffix.lower(), "none")


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuses a word that is no choice."""
    if value not in choices:
        raise ArgumentError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
