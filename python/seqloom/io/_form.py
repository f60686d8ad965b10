"""What a written file looks like, by its name or as asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, TypeAlias

from seqloom.errors import ArgumentError
from seqloom.io._numbers import check_number

Compression: TypeAlias = Literal["none", "gzip", "bgzip"]

_FORMATS = {
    **dict.fromkeys((".fa", ".fas", ".fasta", ".faa", ".ffn", ".fna"), "fasta"),
    **dict.fromkeys((".fastq", ".fq"), "fastq"),
}
_CONTAINERS = {".bgz": "bgzip", ".gz": "gzip"}
_READ_ONLY = {".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
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
        if self.line_width is not None:
            check_number("line_width", self.line_width)
        check_number("level", self.level, least=0)
        if self.level > _HIGHEST:
            raise ArgumentError(f"level must be from 0 to {_HIGHEST}, got {self.level}")


def format_of(name: str) -> str:
    """Tells the format from a file's name."""
    *_, suffix, last = ["", "", *PurePath(name).suffixes]
    found = _FORMATS.get((suffix if last.lower() in _CONTAINERS else last).lower())
    if found is None:
        raise ArgumentError(
            f"{name}: cannot tell the format from the name; use one that ends in .fa, "
            ".fasta, .fq or .fastq (and .gz or .bgz), or name the format: fasta or fastq"
        )
    return found


def compression_of(name: str) -> str:
    """Tells the container from a file's name; what it promises is not left undone."""
    suffix = PurePath(name).suffix.lower()
    if container := _READ_ONLY.get(suffix):
        raise ArgumentError(
            f"{name}: {container} is read but not written; use a name that ends in .gz or "
            ".bgz, or name the compression: none, gzip or bgzip"
        )
    return _CONTAINERS.get(suffix, "none")


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuses a word that is no choice."""
    if value not in choices:
        raise ArgumentError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
