"""Where sequences are read from, and the options of reading."""

from __future__ import annotations

import io
import operator
import os
import stat
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast

import numpy as np

from seqloom._arguments import as_choice, as_flag, quote
from seqloom._files import check_path
from seqloom._threads import check_threads
from seqloom.errors import (
    ArgumentError,
    FileError,
    FormatError,
    OutOfRangeError,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import ArrayLike, NDArray


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
class TextOptions:
    """How the text of a sequence file is read.

    Args:
        whitespace: Blanks among letters: an error, or left out.
        comments: Lines of FASTA that begin with ; or #: an error, or left out.
        ids: Headers without a word: an error, or numbered.
        quality: What a letter of quality means in FASTQ.
    """

    whitespace: Whitespace = "error"
    comments: Comments = "error"
    ids: IdRule = "error"
    quality: Quality = "phred33"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings(TextOptions):
    """The checked options of `open_sequences`."""

    format: Format | None = None
    on_error: OnError = "raise"
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
    """Refuse a word that is not one of the option's choices."""
    if value is not None or name != "format":
        as_choice(name, value, CHOICES[name])


MOST = (1 << 63) - 1


def check_number(name: str, value: object, *, least: int = 1) -> None:
    """Refuse anything but an integer from `least` to ``sys.maxsize``."""
    try:
        number = operator.index(value)  # pyright: ignore[reportArgumentType] - judged here
    except TypeError:
        raise ArgumentError(f"{name} must be an integer, got {quote(value)}") from None
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, got {quote(number)}")
    if number > MOST:
        raise ArgumentError(f"{name} must be below 2**63, got {quote(number)}")


def as_integers(values: ArrayLike) -> NDArray[np.int64]:
    """Convert positions to an array of int64; refuses anything but integers."""
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


# By the cause of a FormatError.
_REMEDIES = {
    "missing id": '; ids="number" (--ids number) takes its number as the id',
    "missing sequence line": (
        '; write an empty line for no letters, or on_error="skip" of open_sequences '
        "(seqloom convert --on-error skip) leaves the record out"
    ),
}


def add_remedy(error: FormatError) -> None:
    """Add to an error of the reader, once, the option that helps."""
    text = str(error)
    remedy = _REMEDIES.get(error.cause or "", "")
    if remedy not in text:
        error.args = (text + remedy,)


@contextmanager
def replace_remedies(pattern: str) -> Generator[None]:
    """Replace the options of `open_sequences` in an error by what the caller offers."""
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


class Readable(Protocol):
    """A file object in binary mode, read from beginning to end."""

    def read(self, size: int, /) -> bytes | None:
        """Read at most `size` bytes; none at the end."""
        ...


Origin: TypeAlias = str | os.PathLike[str] | Readable


def resolve(origin: Origin) -> tuple[str, Readable | None]:
    """Return the name for errors, and the object to read unless it is a path."""
    if isinstance(origin, str | os.PathLike):
        path = os.fspath(origin)
        return path, _find_replaced_input() if path == "-" else None
    if isinstance(origin, io.TextIOBase):
        raise ArgumentError(
            f'{_name(origin)}: the file is open in text mode; open it in binary mode, "rb"'
        )
    if not any(hasattr(origin, method) for method in ("read", "readinto")):
        raise ArgumentError(
            f"expected a path, '-' or a binary file object, got {type(origin).__name__}"
        )
    return _name(origin), origin


def is_same_file(first: Origin, second: Origin) -> bool:
    """Return whether two origins are the same file."""
    if not (isinstance(first, str | os.PathLike) and isinstance(second, str | os.PathLike)):
        return first is second
    if os.fspath(first) == os.fspath(second):
        return True
    try:
        return Path(first).samefile(second)
    except OSError:
        return False


def _find_replaced_input() -> Readable | None:
    """Return the object that replaces standard input, as in a notebook or a test."""
    try:
        sys.stdin.fileno()
    except (OSError, ValueError, AttributeError):
        return getattr(sys.stdin, "buffer", None)
    return None


def _name(thing: object) -> str:
    """Return the name of a file object, or that of its class."""
    name = getattr(thing, "name", None)
    if isinstance(name, str | os.PathLike):
        return os.fspath(cast("str", name))
    return f"<{type(thing).__name__}>"


_STREAMS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFSOCK: "a socket",
}


def check_rereadable(path: str | os.PathLike[str]) -> None:
    """Refuse standard input and other streams: they cannot be read twice."""
    if check_path("path", path) == "-":
        raise FileError("-: standard input can be read once only; save it to a file first")
    check_regular(path)


def check_regular(path: str | os.PathLike[str], *, instead: str = "") -> None:
    """Refuse a stream; `instead` is added to the advice to save it to a file."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return
    if kind := _STREAMS.get(stat.S_IFMT(mode)):
        raise FileError(
            f"{os.fspath(path)}: {kind} can be read once only; "
            f"save it to a file first{instead}"
        )


class StandardInput:
    """Reads standard input and counts its bytes."""

    name = "-"

    def __init__(self) -> None:
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise FileError(
                "-: this process has no standard input; give the path of a file"
            )
        self._stream = cast("Readable", stream)
        self.size = 0

    def read(self, size: int, /) -> bytes:
        """Read the next bytes."""
        piece = self._stream.read(size) or b""
        self.size += len(piece)
        return piece


def count_bytes(origin: Origin) -> int:
    """Return the size of a file, or the number of bytes read from standard input."""
    if isinstance(origin, StandardInput):
        return origin.size
    return Path(cast("str", origin)).stat().st_size


def find_origin(path: str | os.PathLike[str]) -> str | os.PathLike[str] | StandardInput:
    """Return what to read: standard input for ``-``; refuses another stream."""
    if check_path("path", path) == "-":
        return StandardInput()
    check_regular(path, instead=", or pipe it: seqloom inspect - < FIFO")
    return path
