"""What seqloom raises: one tree, and every branch is also a builtin's.

In parentheses stands the builtin that `except` may name too:

    SeqloomError
    ├── ArgumentError (ValueError)         an argument of a call makes no sense
    ├── BackendError (ValueError)          a backend is unknown, absent, or two are mixed
    ├── CaptureError (RuntimeError)        a step asks for what it cannot know when compiled
    ├── ClosedError (RuntimeError)         something is closed that must be open
    ├── ConfigError (ValueError)           a configuration cannot be read or does not fit
    ├── DataWarning (UserWarning)          scores that may mean nothing, an id twice
    │   ├── NoSkillWarning                 a model is no better than the mean
    │   └── SeenRecordsWarning             records that judge a model have taught it
    ├── DTypeError (TypeError)             element types that an operation does not take
    ├── ExportError (ValueError)           a network that no exported graph can hold
    ├── FileError (OSError)                a file cannot be read or written
    │   ├── MissingFileError (FileNotFoundError)
    │   │   └── MissingObjectError
    │   └── RemoteError (ValueError)       an object in the cloud cannot be reached or read
    │       └── MissingObjectError         no such object: a MissingFileError too
    ├── FormatError (ValueError)           a file does not hold what it should
    │   └── LetterError                    a letter outside the alphabet
    ├── GradientError (RuntimeError)       a gradient is asked for where there is none
    ├── IdError (KeyError)                 an id that no record of a file has, or several
    ├── InternalError (RuntimeError)       a fault of seqloom itself
    ├── LabelError (ValueError)            labels are missing, double, or of the wrong kind
    ├── MemoryLimitError (MemoryError)     a request larger than the memory it may use
    ├── MissingExtraError (ImportError)    a library that an extra would install
    ├── NotFiniteError (ArithmeticError)   a result is NaN or infinite where none may be
    ├── NumberRangeError (OverflowError)   a number does not fit its type
    ├── OperationError (RuntimeError)      a library could not compute an operation
    ├── OutOfRangeError (IndexError)       an index beyond the size
    ├── RecordError (ValueError)           a model record that does not fit the module
    ├── ReleasedError (RuntimeError)       a tensor is used after its scope has ended
    ├── RunFolderError (FileExistsError)   an output folder that may not be written
    ├── ShapeError (ValueError)            arrays whose shapes do not go together
    └── WorkerError (RuntimeError)         a worker process died, hangs or cannot start
"""

from __future__ import annotations

from seqloom._text import printable


class SeqloomError(Exception):
    """Everything that seqloom raises about its input.

    Messages quote ids and names of files. What a terminal would obey of them (control
    characters, line ends) is spelled out where the message is shown; attributes and
    ``args`` have them as they are.

    Examples:
        >>> print(SeqloomError("no record a\\x1b[31m"))
        no record a\\x1b[31m
    """

    def __str__(self) -> str:
        # Exception's own: KeyError's would put the message into quotation marks.
        return printable(Exception.__str__(self))


class ArgumentError(SeqloomError, ValueError):
    """An argument of a call makes no sense."""


class BackendError(SeqloomError, ValueError):
    """A backend is unknown, absent, or two are mixed."""


class CaptureError(SeqloomError, RuntimeError):
    """A compiled step asks for something that is only known when it runs.

    Args:
        problem: What the step does, and why that cannot be compiled.
        advice: What to do about it in a compiled step; the message ends with it.

    Examples:
        >>> print(CaptureError("the step reads a value", advice="; return the tensor"))
        the step reads a value; return the tensor
    """

    def __init__(self, problem: str, *, advice: str = "") -> None:
        super().__init__(problem + advice)
        self.problem = problem


class ClosedError(SeqloomError, RuntimeError):
    """Something is closed that must be open."""


class ConfigError(SeqloomError, ValueError):
    """A configuration cannot be read or does not fit."""


class DataWarning(SeqloomError, UserWarning):  # noqa: N818 - it is warned, not raised
    """Records can be scored, but the scores may mean nothing or not be told apart."""


class DTypeError(SeqloomError, TypeError):
    """An operation does not take arrays of these element types."""


class ExportError(SeqloomError, ValueError):
    """A network cannot be written as an exported model."""


class FileError(SeqloomError, OSError):
    """A file cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file does not exist."""


class RemoteError(FileError, ValueError):
    """An object in the cloud cannot be reached or read."""


class MissingObjectError(RemoteError, MissingFileError):
    """An object in the cloud does not exist."""


class FormatError(SeqloomError, ValueError):
    """A file does not hold what it should.

    Args:
        message: What is wrong, where, and what to do about it.
        kind: What kind of fault it is, in one word: ``"format"`` (not what was expected),
            ``"compression"``, ``"header"``, ``"letter"``, ``"quality"``, ``"length"``
            (of letters and qualities), ``"names"`` (of two lines, or of two reads),
            ``"cut"``, ``"limit"``, ``"comment"``, ``"count"`` (of records).
        path: The file.
        record: Which record of the file, counted from 0.
        line: Which line of the text, counted from 1.
        byte: Which byte of the decompressed text, counted from 0.

    Attributes:
        cause: The cause, if other options or functions can read the file: ``"missing id"``,
            ``"missing sequence line"``, ``"BED"`` or ``"PLINK"``; otherwise None.

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
        self.kind = kind
        self.path = path
        self.record = record
        self.line = line
        self.byte = byte


class LetterError(FormatError):
    """A letter outside the alphabet; the position is added as it becomes known.

    Args:
        message: What is wrong, where, and what to do about it.
        record: Which record of the call (or of the file, where ``path`` is known).
        position: Which letter of the record, counted from 0.
        letter: The letter that was met.
        expected: The letters that are allowed.

    Examples:
        >>> LetterError("J is no base", record=0, position=4, letter="J").letter
        'J'
    """

    def __init__(
        self,
        message: str,
        *,
        record: int | None = None,
        position: int | None = None,
        letter: str | None = None,
        expected: str | None = None,
    ) -> None:
        super().__init__(message, kind="letter", record=record)
        self.position = position
        self.letter = letter
        self.expected = expected


class GradientError(SeqloomError, RuntimeError):
    """A gradient is asked for where there is none."""


class IdError(SeqloomError, KeyError):
    """No record of a file has an id, or several have."""


class InternalError(SeqloomError, RuntimeError):
    """A fault of seqloom itself: please report it."""


class LabelError(SeqloomError, ValueError):
    """Labels are missing, double, or of the wrong kind.

    Args:
        message: What is wrong, where, and what to do about it.
        columns: The columns of a table that lacks one which was asked for.

    Examples:
        >>> LabelError("no column 'y'", columns=("id", "label")).columns
        ('id', 'label')
    """

    def __init__(self, message: str, *, columns: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.columns = columns


class MemoryLimitError(SeqloomError, MemoryError):
    """A request is larger than the memory it may use."""


class MissingExtraError(SeqloomError, ImportError):
    """A library is missing that an extra would install."""


class NoSkillWarning(DataWarning):
    """A trained model is no better than the mean, or than always the same answer."""


class NotFiniteError(SeqloomError, ArithmeticError):
    """A result is NaN or infinite where none may be."""


class NumberRangeError(SeqloomError, OverflowError):
    """A number does not fit its type."""


class OperationError(SeqloomError, RuntimeError):
    """A library could not compute an operation."""


class OutOfRangeError(SeqloomError, IndexError):
    """An index lies beyond the size."""


class RecordError(SeqloomError, ValueError):
    """A model record does not fit the module."""


class ReleasedError(SeqloomError, RuntimeError):
    """A tensor is used after the scope that it was made in has ended."""


class RunFolderError(SeqloomError, FileExistsError):
    """An output folder may not be written."""


class SeenRecordsWarning(DataWarning):
    """Records that judge a model have the letters of records that it was trained on."""


class ShapeError(SeqloomError, ValueError):
    """Arrays whose shapes do not go together."""


class WorkerError(SeqloomError, RuntimeError):
    """A worker, or another process of a run, died or hangs, or cannot start."""

    def __str__(self) -> str:
        # It may be the traceback of a worker, line by line.
        return printable(Exception.__str__(self), lines=True)
