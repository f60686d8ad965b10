"""Exceptions and warnings of seqloom.

Each class also derives from the builtin exception in parentheses, so code can catch either
class:

    SeqloomError
    ├── ArgumentError (ValueError)         an argument is invalid
    ├── BackendError (ValueError)          a backend is unknown, missing or mixed
    ├── CaptureError (RuntimeError)        a step cannot be compiled
    ├── ClosedError (RuntimeError)         an operation on a closed object
    ├── ConfigError (ValueError)           a configuration is invalid or cannot be read
    ├── DataWarning (UserWarning)          an id is repeated, or scores may be meaningless
    │   ├── NoSkillWarning                 a model is no better than a simple one
    │   └── SeenRecordsWarning             the training set contains evaluation records
    ├── DTypeError (TypeError)             an operation does not support a dtype
    ├── ExportError (ValueError)           a network cannot be exported
    ├── FileError (OSError)                a file cannot be read or written
    │   ├── MissingFileError (FileNotFoundError)
    │   │   └── MissingObjectError
    │   └── RemoteError (ValueError)       a cloud object cannot be reached or read
    │       └── MissingObjectError         a cloud object does not exist
    ├── FormatError (ValueError)           a file is invalid or corrupt
    │   └── AlphabetError                  a character outside the alphabet
    ├── GradientError (RuntimeError)       a tensor has no gradient
    ├── IdError (KeyError)                 an id is missing from a file, or repeated
    ├── InternalError (RuntimeError)       a bug in seqloom
    ├── LabelError (ValueError)            labels are missing, repeated or of the wrong type
    ├── MemoryLimitError (MemoryError)     a request exceeds the memory limit
    ├── MissingExtraError (ImportError)    an optional dependency is not installed
    ├── NotFiniteError (ArithmeticError)   a result is NaN or infinite
    ├── NumberRangeError (OverflowError)   a number does not fit its type
    ├── OperationError (RuntimeError)      a library failed to compute an operation
    ├── OutOfRangeError (IndexError)       an index is out of range
    ├── RecordError (ValueError)           a model record does not match the module
    ├── ReleasedError (RuntimeError)       a tensor is used after the end of its scope
    ├── RunFolderError (FileExistsError)   an output folder exists or is in use
    ├── ShapeError (ValueError)            array shapes do not match
    └── WorkerError (RuntimeError)         a worker process failed or cannot start
"""

from __future__ import annotations

import warnings

from seqloom._text import printable


class SeqloomError(Exception):
    """Base class of all exceptions that seqloom raises.

    Messages quote ids and file names. ``str(error)`` escapes control characters and line
    breaks; attributes and ``args`` contain the original text.

    Examples:
        >>> print(SeqloomError("no record a\\x1b[31m"))
        no record a\\x1b[31m
    """

    def __str__(self) -> str:
        # `KeyError.__str__` would add quotation marks around the message.
        return printable(Exception.__str__(self))


class ArgumentError(SeqloomError, ValueError):
    """An argument of a call is invalid."""


class BackendError(SeqloomError, ValueError):
    """A backend is unknown or missing, or a call mixes two backends."""


class CaptureError(SeqloomError, RuntimeError):
    """A step cannot be compiled, for example because it reads a value of a tensor.

    Args:
        problem: The operation that cannot be compiled, and the reason.
        advice: The suggested change of the step, which is appended to the message.

    Examples:
        >>> print(CaptureError("the step reads a value", advice="; return the tensor"))
        the step reads a value; return the tensor
    """

    def __init__(self, problem: str, *, advice: str = "") -> None:
        super().__init__(problem + advice)
        self.problem = problem


class ClosedError(SeqloomError, RuntimeError):
    """An operation on a file, stream or loader that is closed."""


class ConfigError(SeqloomError, ValueError):
    """A configuration is invalid or cannot be read."""


class DataWarning(SeqloomError, UserWarning):  # noqa: N818 - a warning
    """A record id is repeated, or the scores of the records may be meaningless."""


class DTypeError(SeqloomError, TypeError):
    """An operation does not support arrays of these dtypes."""


class ExportError(SeqloomError, ValueError):
    """A network cannot be exported."""


class FileError(SeqloomError, OSError):
    """A file cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file does not exist."""


class RemoteError(FileError, ValueError):
    """A cloud object cannot be reached or read."""


class MissingObjectError(RemoteError, MissingFileError):
    """A cloud object does not exist."""


class FormatError(SeqloomError, ValueError):
    """A file is invalid or corrupt.

    Args:
        message: The problem, its position in the file, and the remedy.
        kind: Category of the problem: ``"format"`` (another file format),
            ``"compression"``, ``"header"``, ``"quality"``, ``"limit"``, ``"comment"``
            or ``"count"`` (of records). The category ``"letter"`` is an invalid
            character in a sequence, and ``"cut"`` a truncated file. The category
            ``"length"`` means that sequence and qualities differ in length, and
            ``"names"`` that two header lines or the names of two paired reads differ.
        path: Path of the file.
        record: Index of the record in the file, from 0.
        line: Line number in the text, from 1.
        byte: Offset in the decompressed text, in bytes from 0.

    Attributes:
        cause: Cause of the error, if other options or functions can read the file:
            ``"missing id"``, ``"missing sequence line"``, ``"BED"`` or ``"PLINK"``;
            otherwise None.

    Examples:
        >>> FormatError("no header", path="a.fa", line=1).line
        1
    """

    cause: str | None = None

    def __init__(
        self,
        message: str,
        *,
        kind: str = "format",
        path: str | None = None,
        record: int | None = None,
        line: int | None = None,
        byte: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.path, self.record = kind, path, record
        self.line, self.byte = line, byte


class AlphabetError(FormatError):
    """A sequence contains a character outside the alphabet.

    Args:
        message: The problem, its position in the file, and the remedy.
        record: Index of the record in the encoded batch, or in the file if ``path`` is set.
        position: Index of the character in the sequence, from 0.
        character: The invalid character.
        expected: Description of the characters that are allowed.
        letter: The former name of ``character``, which is deprecated.

    Examples:
        >>> AlphabetError("no base", record=0, position=4, character="J").character
        'J'
    """

    def __init__(
        self,
        message: str,
        *,
        record: int | None = None,
        position: int | None = None,
        character: str | None = None,
        expected: str | None = None,
        letter: str | None = None,
    ) -> None:
        super().__init__(message, kind="letter", record=record)
        if letter is not None:
            _warn_renamed("AlphabetError(letter=...)", "AlphabetError(character=...)")
        self.position, self.expected = position, expected
        self.character = letter if character is None else character

    @property
    def letter(self) -> str | None:
        """Former name of ``character``; deprecated."""
        _warn_renamed("AlphabetError.letter", "AlphabetError.character")
        return self.character

    def with_message(self, message: str, record: int | None) -> AlphabetError:
        """Return a copy of the error with another message and another record index."""
        copy = AlphabetError(message, record=record, character=self.character)
        copy.position, copy.expected = self.position, self.expected
        return copy


class GradientError(SeqloomError, RuntimeError):
    """A tensor has no gradient."""


class IdError(SeqloomError, KeyError):
    """An id does not occur in a file, or occurs in more than one record."""


class InternalError(SeqloomError, RuntimeError):
    """A bug in seqloom: please report it."""


class LabelError(SeqloomError, ValueError):
    """Labels are missing, repeated, or of the wrong type.

    Args:
        message: The problem, its position in the file, and the remedy.
        columns: Columns of the table, if the requested column is missing.

    Examples:
        >>> LabelError("no column 'y'", columns=("id", "label")).columns
        ('id', 'label')
    """

    def __init__(self, message: str, *, columns: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.columns = columns


class MemoryLimitError(SeqloomError, MemoryError):
    """A request exceeds the memory limit."""


class MissingExtraError(SeqloomError, ImportError):
    """An optional dependency is not installed."""


class NoSkillWarning(DataWarning):
    """A trained model is no better than a constant prediction or a linear model."""


class NotFiniteError(SeqloomError, ArithmeticError):
    """A result is NaN or infinite."""


class NumberRangeError(SeqloomError, OverflowError):
    """A number does not fit its type."""


class OperationError(SeqloomError, RuntimeError):
    """A library failed to compute an operation."""


class OutOfRangeError(SeqloomError, IndexError):
    """An index is out of range."""


class RecordError(SeqloomError, ValueError):
    """A model record does not match the module."""


class ReleasedError(SeqloomError, RuntimeError):
    """A tensor is used after the end of the scope that created it."""


class RunFolderError(SeqloomError, FileExistsError):
    """An output folder already exists or is in use by another run."""


class SeenRecordsWarning(DataWarning):
    """Sequences of the validation or test set also occur in the training set."""


class ShapeError(SeqloomError, ValueError):
    """Array shapes do not match."""


class WorkerError(SeqloomError, RuntimeError):
    """A worker process failed, does not respond, or cannot start."""

    def __str__(self) -> str:
        # Keep line breaks, because the message may contain the traceback of a worker.
        return printable(Exception.__str__(self), lines=True)


def __getattr__(name: str) -> type[AlphabetError]:
    """Return `AlphabetError` for ``LetterError``, its old name, with a warning."""
    if name != "LetterError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _warn_renamed("seqloom.errors.LetterError", "AlphabetError")
    return AlphabetError


def _warn_renamed(old: str, new: str) -> None:
    """Issue a DeprecationWarning at the line of code that uses an old name."""
    warnings.warn(f"{old} is now {new}", DeprecationWarning, stacklevel=3)
