"""How a sequence file is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from seqloom._arguments import as_flag
from seqloom._threads import check_threads
from seqloom.errors import ArgumentError
from seqloom.io._numbers import check_number

Format: TypeAlias = Literal["fasta", "fastq"]
Quality: TypeAlias = Literal["phred33", "phred64", "solexa"]
OnError: TypeAlias = Literal["raise", "skip", "collect"]
Comments: TypeAlias = Literal["error", "skip"]
Whitespace: TypeAlias = Literal["error", "strip"]
IdRule: TypeAlias = Literal["error", "number"]

CHOICES = {
    "format": ("fasta", "fastq"),
    "quality": ("phred33", "phred64", "solexa"),
    "on_error": ("raise", "skip", "collect"),
    "comments": ("error", "skip"),
    "whitespace": ("error", "strip"),
    "ids": ("error", "number"),
}
_LEAST = (("expect", 0), ("max_record", 1), ("start", 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Holds what `open_sequences` was asked for, checked.

    With `start`, a gzip file is read from that record on, by the index beside it.
    """

    format: Format | None = None
    quality: Quality = "phred33"
    on_error: OnError = "raise"
    comments: Comments = "error"
    whitespace: Whitespace = "error"
    ids: IdRule = "error"
    expect: int | None = None
    max_record: int | None = None
    require_eof: bool = True
    # Not asked of users: a stream of letters alone saves a copy.
    with_qualities: bool = True
    num_threads: int | None = None
    start: int | None = None

    def __post_init__(self) -> None:
        for name in CHOICES:
            check_choice(name, getattr(self, name))
        as_flag("require_eof", self.require_eof)
        if self.num_threads is not None:
            check_threads(self.num_threads)
        for name, least in _LEAST:
            if (value := getattr(self, name)) is not None:
                check_number(name, value, least=least)


def check_choice(name: str, value: str | None) -> None:
    """Refuses a word that is no choice."""
    choices = CHOICES[name]
    if value is None and name == "format":
        return
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
