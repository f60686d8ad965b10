"""How a sequence file is read: its options, checked, and as remedies in errors."""

from __future__ import annotations

import operator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from seqloom._arguments import as_choice, as_flag, quote
from seqloom._threads import check_threads
from seqloom.errors import ArgumentError, FormatError, OutOfRangeError, SeqloomError

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import ArrayLike, NDArray

Format: TypeAlias = Literal["fasta", "fastq"]
Quality: TypeAlias = Literal["phred33", "phred64", "solexa"]
OnError: TypeAlias = Literal["raise", "skip", "collect"]
Comments: TypeAlias = Literal["error", "skip"]
Whitespace: TypeAlias = Literal["error", "strip"]
IdRule: TypeAlias = Literal["error", "number"]
Fault: TypeAlias = Literal["no id", "no letters", "is BED", "is PLINK"]

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
class ReadSettings:
    """The checked options of `open_sequences`."""

    format: Format | None = None
    quality: Quality = "phred33"
    on_error: OnError = "raise"
    comments: Comments = "error"
    whitespace: Whitespace = "error"
    ids: IdRule = "error"
    expect: int | None = None
    max_record: int | None = None
    require_eof: bool = True
    # Not an option for users: streams without qualities avoid a copy.
    with_qualities: bool = True
    num_threads: int | None = None
    # A gzip file is read from this record on, by the index beside it.
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
    """Refuses a word that is not one of the option's choices."""
    if value is not None or name != "format":
        as_choice(name, value, CHOICES[name])


MOST = (1 << 63) - 1


def check_number(name: str, value: object, *, least: int = 1) -> None:
    """Refuses anything but an integer from `least` to ``sys.maxsize``."""
    try:
        number = operator.index(value)  # pyright: ignore[reportArgumentType] - judged here
    except TypeError:
        raise ArgumentError(f"{name} must be an integer, got {quote(value)}") from None
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, got {quote(number)}")
    if number > MOST:
        raise ArgumentError(f"{name} must be below 2**63, got {quote(number)}")


def as_integers(values: ArrayLike) -> NDArray[np.int64]:
    """Converts positions to an array of int64; refuses anything but integers."""
    found = np.asarray(values)
    if found.size == 0:
        return np.empty(0, np.int64)
    # Integers too large for a type of NumPy are objects.
    is_huge = found.dtype.kind == "O" and all(isinstance(it, int) for it in found.flat)
    if found.dtype.kind not in "iu" and not is_huge:
        raise ArgumentError(f"expected integers, got an array of {found.dtype}")
    least, most = int(found.min()), int(found.max())
    if least < -MOST - 1 or most > MOST:
        shown = f"{least}" if least == most else f"{least} to {most}"
        raise OutOfRangeError(
            f"expected a position in the file, got {shown}, which does not fit 64 bits"
        )
    return np.ascontiguousarray(found.reshape(-1), np.int64)


# Options of `open_sequences` that errors of the FASTA parser name, and those of the shell.
_OPTIONS = {
    'whitespace="strip"': "--whitespace strip",
    'comments="skip"': "--comments skip",
    'ids="number"': "--ids number",
}
# The native reader gives these faults no kind of their own: `fault_of` finds them.
_FAULTS: dict[str, Fault] = {
    "expected an id after": "no id",
    "expected a line of letters (it may be empty)": "no letters",
    "found BED intervals": "is BED",
    "found PLINK .bed": "is PLINK",
}
_REMEDIES: dict[Fault, str] = {
    "no id": '; ids="number" (--ids number) takes its number as the id',
    "no letters": (
        '; write an empty line for no letters, or on_error="skip" of open_sequences '
        "(seqloom convert --on-error skip) leaves the record out"
    ),
}


def fault_of(error: SeqloomError) -> Fault | None:
    """Returns what is wrong with a file, if the reader's error is one with a remedy."""
    return next((fault for text, fault in _FAULTS.items() if text in str(error)), None)


def add_remedy(error: FormatError) -> None:
    """Adds to an error of the reader, once, the option that helps."""
    text = str(error)
    fault = fault_of(error)
    remedy = _REMEDIES.get(fault, "") if fault else ""
    if remedy not in text:
        error.args = (text + remedy,)


@contextmanager
def replace_remedies(pattern: str) -> Generator[None]:
    """Replaces the options of `open_sequences` in an error by what the caller offers."""
    # In the pattern ``{python}`` is the option in Python, ``{shell}`` that of the shell.
    try:
        yield
    except FormatError as error:
        add_remedy(error)
        text = str(error)
        for python, shell in _OPTIONS.items():
            remedy = pattern.format(python=python, shell=shell)
            text = text.replace(f"{python} ({shell})", remedy)
        error.args = (text,)
        raise
