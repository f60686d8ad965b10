"""Sources of sequence data, and options for reading them."""

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

from seqloom._arguments import as_bool, as_choice, quote
from seqloom._files import as_path_text
from seqloom._threads import check_threads
from seqloom.errors import ArgumentError, FileError, FormatError, OutOfRangeError

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import ArrayLike, NDArray


Format: TypeAlias = Literal["fasta", "fastq"]
Quality: TypeAlias = Literal["phred33", "phred64", "solexa"]
OnError: TypeAlias = Literal["raise", "skip", "collect"]
Comments: TypeAlias = Literal["error", "skip"]
Whitespace: TypeAlias = Literal["error", "strip"]
IdRule: TypeAlias = Literal["error", "number"]
OPTION_CHOICES = {
    "format": ("fasta", "fastq"),
    "quality": ("phred33", "phred64", "solexa"),
    "on_error": ("raise", "skip", "collect"),
    "comments": ("error", "skip"),
    "whitespace": ("error", "strip"),
    "ids": ("error", "number"),
}
_MIN_OPTION_VALUES = (("expect", 0), ("max_record", 1), ("start", 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """Options for parsing the text of a sequence file.

    Args:
        whitespace: Raise an error for white space within a sequence, or remove it.
        comments: Raise an error for a FASTA line that begins with ; or #, or skip the
            line.
        ids: Raise an error for a header without an id, or use the record's number as
            its id.
        quality: Quality encoding of FASTQ.
    """

    whitespace: Whitespace = "error"
    comments: Comments = "error"
    ids: IdRule = "error"
    quality: Quality = "phred33"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings(TextOptions):
    """Validated options of `open_sequences`."""

    format: Format | None = None
    on_error: OnError = "raise"
    expect: int | None = None
    max_record: int | None = None
    require_eof: bool = True
    # Internal option that avoids copying unused qualities.
    with_qualities: bool = True
    num_threads: int | None = None
    # Index of the first record to read from a gzip file with an index.
    start: int | None = None

    def __post_init__(self) -> None:
        for name in OPTION_CHOICES:
            check_choice(name, getattr(self, name))
        as_bool("require_eof", self.require_eof)
        if self.num_threads is not None:
            check_threads(self.num_threads)
        for name, least in _MIN_OPTION_VALUES:
            if (value := getattr(self, name)) is not None:
                check_int_range(name, value, least=least)


def check_choice(name: str, value: str | None) -> None:
    """Raise if a value is not one of the option's choices."""
    if value is not None or name != "format":
        as_choice(name, value, OPTION_CHOICES[name])


MAX_INT64 = (1 << 63) - 1


def check_int_range(name: str, value: object, *, least: int = 1) -> None:
    """Raise unless the value is an integer from `least` to ``sys.maxsize``."""
    try:
        number = operator.index(value)  # pyright: ignore[reportArgumentType] - checked here
    except TypeError:
        raise ArgumentError(f"{name} must be an integer, got {quote(value)}") from None
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, got {quote(number)}")
    if number > MAX_INT64:
        raise ArgumentError(f"{name} must be below 2**63, got {quote(number)}")


def as_integers(values: ArrayLike) -> NDArray[np.int64]:
    """Convert indices to an int64 array; raise unless all are integers."""
    found = np.asarray(values)
    if found.size == 0:
        return np.empty(0, np.int64)
    # NumPy stores integers that are too large for int64 and uint64 as objects.
    is_huge = found.dtype.kind == "O" and all(isinstance(it, int) for it in found.flat)
    if found.dtype.kind not in "iu" and not is_huge:
        raise ArgumentError(f"expected integers, got an array of {found.dtype}")
    least, most = int(found.min()), int(found.max())
    if least < -MAX_INT64 - 1 or most > MAX_INT64:
        shown = f"{least}" if least == most else f"{least} to {most}"
        raise OutOfRangeError(
            f"expected an index of a record, got {shown}, which does not fit 64 bits"
        )
    return np.ascontiguousarray(found.reshape(-1), np.int64)


# (Python option, command-line option) that an error message of the parser may contain.
_OPTION_NAMES = {
    'whitespace="strip"': "--whitespace strip",
    'comments="skip"': "--comments skip",
    'ids="number"': "--ids number",
}


# Advice for each value of ``FormatError.cause``.
_ERROR_REMEDIES = {
    "missing id": '; ids="number" (--ids number) uses the record number as the id',
    "missing sequence line": (
        '; write an empty line for an empty sequence, or on_error="skip" of open_sequences '
        "(seqloom convert --on-error skip) skips the record"
    ),
}


def add_remedy(error: FormatError) -> None:
    """Add to an error message the option that avoids the error, at most once."""
    text = str(error)
    remedy = _ERROR_REMEDIES.get(error.cause or "", "")
    if remedy not in text:
        error.args = (text + remedy,)


@contextmanager
def replace_remedies(pattern: str) -> Generator[None]:
    """Replace option names in error messages by the names that the caller uses."""
    # The pattern contains ``{python}`` for the Python option and ``{shell}`` for the
    # command-line option.
    try:
        yield
    except FormatError as error:
        add_remedy(error)
        text = str(error)
        for python, shell in _OPTION_NAMES.items():
            remedy = pattern.format(python=python, shell=shell)
            text = text.replace(f"{python} ({shell})", remedy)
        error.args = (text,)
        raise


class ReadableFile(Protocol):
    """Protocol of a binary file object that is read from start to end."""

    def read(self, size: int, /) -> bytes | None:
        """Read at most `size` bytes; return ``b""`` at the end."""
        ...


PathOrFile: TypeAlias = str | os.PathLike[str] | ReadableFile


def resolve_source(origin: PathOrFile) -> tuple[str, ReadableFile | None]:
    """Return the name of a source, and its file object (None for a path)."""
    if isinstance(origin, str | os.PathLike):
        path = os.fspath(origin)
        return path, _find_replaced_input() if path == "-" else None
    if isinstance(origin, io.TextIOBase):
        raise ArgumentError(
            f'{_origin_name(origin)}: the file is open in text mode; use binary mode, "rb"'
        )
    if not any(hasattr(origin, method) for method in ("read", "readinto")):
        raise ArgumentError(
            f"expected a path, '-' or a binary file object, got {type(origin).__name__}"
        )
    return _origin_name(origin), origin


def is_same_file(first: PathOrFile, second: PathOrFile) -> bool:
    """Return whether two sources are the same file."""
    if not (isinstance(first, str | os.PathLike) and isinstance(second, str | os.PathLike)):
        return first is second
    if os.fspath(first) == os.fspath(second):
        return True
    try:
        return Path(first).samefile(second)
    except OSError:
        return False


def _find_replaced_input() -> ReadableFile | None:
    """Return the object that a notebook or a test has put in place of standard input."""
    try:
        sys.stdin.fileno()
    except (OSError, ValueError, AttributeError):
        return getattr(sys.stdin, "buffer", None)
    return None


def _origin_name(thing: object) -> str:
    """Return the name of a file object, or its class name."""
    name = getattr(thing, "name", None)
    if isinstance(name, str | os.PathLike):
        return os.fspath(cast("str", name))
    return f"<{type(thing).__name__}>"


_STREAM_TYPES = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFSOCK: "a socket",
}


def check_rereadable(path: str | os.PathLike[str]) -> None:
    """Raise if the source is standard input or another stream that cannot be read twice."""
    if as_path_text("path", path) == "-":
        raise FileError("-: standard input can only be read once; save it to a file first")
    check_not_stream(path)


def check_not_stream(path: str | os.PathLike[str], *, instead: str = "") -> None:
    """Raise if the source is a stream; append `instead` to the message."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return
    if kind := _STREAM_TYPES.get(stat.S_IFMT(mode)):
        raise FileError(
            f"{os.fspath(path)}: {kind} can only be read once; "
            f"save it to a file first{instead}"
        )


class StandardInput:
    """Standard input with a counter of the bytes that were read."""

    name = "-"

    def __init__(self) -> None:
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise FileError(
                "-: this process has no standard input; give the path of a file"
            )
        self._stream = cast("ReadableFile", stream)
        self.size = 0

    def read(self, size: int, /) -> bytes:
        """Read up to `size` bytes from standard input, and count them."""
        piece = self._stream.read(size) or b""
        self.size += len(piece)
        return piece


def count_origin_bytes(origin: PathOrFile) -> int:
    """Return the size of a file, or the number of bytes read from standard input."""
    if isinstance(origin, StandardInput):
        return origin.size
    return Path(cast("str", origin)).stat().st_size


def path_or_stdin(path: str | os.PathLike[str]) -> str | os.PathLike[str] | StandardInput:
    """Return a path, or standard input for ``-``; raise if the source is another stream."""
    if as_path_text("path", path) == "-":
        return StandardInput()
    check_not_stream(path, instead=", or pipe it: seqloom inspect - < FIFO")
    return path
