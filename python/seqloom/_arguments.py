"""Checks and converts the arguments of public functions; a wrong one is a clear error."""

import math
import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqloom.errors import ArgumentError

_MAX_LENGTH = 60  # of a value in an error message, in characters
_SEED_LIMIT = 1 << 64


def shown(value: object) -> str:
    """Formats a value for an error message, on one short line.

    Args:
        value: The value that the user gave.

    Returns:
        Its repr; if that is longer than 60 characters, the beginning and "...".

    Examples:
        >>> shown("20"), len(shown("A" * 1000))
        ("'20'", 60)
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 3] + "..."


def as_whole(name: str, value: object, *, least: int = 0) -> int:
    """Converts an integer of Python, NumPy or another array library to ``int``.

    Args:
        name: The name of the argument, for the error.
        value: The value that the user gave.
        least: The smallest valid value.

    Returns:
        The value as an ``int``.

    Raises:
        ArgumentError: It is not an integer, or below ``least``. A bool is not an integer.

    Examples:
        >>> import numpy as np
        >>> as_whole("epochs", np.int64(20), least=1)
        20
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        number = None
    if number is None or number < least:
        raise ArgumentError(
            f"{name} must be a whole number and at least {least}, got {shown(value)}"
        )
    return number


def as_seed(value: object, name: str = "seed") -> int:
    """Converts the seed of a random generator to ``int``, even if no number is drawn.

    Args:
        value: The value that the user gave.
        name: The name of the argument, for the error.

    Returns:
        The value as an ``int``.

    Raises:
        ArgumentError: It is not an integer from 0 to 2**64 - 1.

    Examples:
        >>> as_seed(7)
        7
    """
    seed = as_whole(name, value)
    if seed >= _SEED_LIMIT:
        raise ArgumentError(f"{name} must be below 2**64, got {seed}")
    return seed


def as_flag(name: str, value: Any) -> bool:
    """Converts True or False of Python or NumPy, or the integer 1 or 0, to ``bool``.

    Args:
        name: The name of the argument, for the error.
        value: The value that the user gave.

    Returns:
        The value as a ``bool``.

    Raises:
        ArgumentError: It is neither. A string is refused: ``bool("no")`` is True.

    Examples:
        >>> as_flag("shuffle", 1)
        True
    """
    is_flag = isinstance(value, (bool, int)) or type(value).__name__ in {"bool", "bool_"}
    if not (is_flag and value in {0, 1}):
        raise ArgumentError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def as_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Checks that a value is one of the allowed words.

    Args:
        name: The name of the argument, for the error.
        value: The value that the user gave.
        choices: The allowed words.

    Returns:
        The word.

    Raises:
        ArgumentError: It is not one of them.

    Examples:
        >>> as_choice("unlabelled", "skip", ("error", "skip"))
        'skip'
    """
    if isinstance(value, str) and value in choices:
        return value
    *others, last = [f'"{word}"' for word in choices]
    listed = f"{', '.join(others)} or {last}" if others else last
    raise ArgumentError(f"{name} must be {listed}, got {shown(value)}")


def check_function(name: str, value: Any) -> None:
    """Refuses a value that is neither callable nor None.

    Args:
        name: The name of the argument, for the error.
        value: The value that the user gave.

    Raises:
        ArgumentError: It is not callable.

    Examples:
        >>> check_function("on_progress", print)
    """
    if value is not None and not callable(value):
        raise ArgumentError(f"{name} must be a function, got {shown(value)}")


def check_sized(name: str, value: Any) -> None:
    """Refuses a value without a length, and a string, whose items are only letters.

    Args:
        name: The name of the argument, for the error.
        value: The value that the user gave.

    Raises:
        ArgumentError: It has no length, or it is a string or a class.

    Examples:
        >>> check_sized("dataset", [1, 2])
    """
    is_text = isinstance(value, (str, bytes))
    if is_text or isinstance(value, type) or not hasattr(value, "__len__"):
        raise ArgumentError(f"{name} must hold items and have a length, got {shown(value)}")


def as_number(
    name: str, value: Any, *, expected: str = "a number", least: float = -math.inf
) -> float:
    """Converts a finite number of any numeric type to ``float``; refuses strings.

    Args:
        name: The name of the argument, for the error.
        value: The value that the user gave.
        expected: What the error says is expected.
        least: The smallest valid value.

    Returns:
        The value as a ``float``.

    Raises:
        ArgumentError: It is not a number, not finite, or below ``least``.

    Examples:
        >>> import numpy as np
        >>> as_number("lr", np.float64(0.5))
        0.5
    """
    is_number = hasattr(value, "__float__") and not isinstance(value, bool)
    number = float(value) if is_number and not getattr(value, "ndim", 0) else math.nan
    if not (math.isfinite(number) and number >= least):
        raise ArgumentError(f"{name} must be {expected}, got {shown(value)}")
    return number


def as_path(name: str, value: object, *, expected: str = "a path") -> Path:
    """Converts the path of a file or folder, as str, bytes or PathLike, to ``Path``.

    Args:
        name: The name of the argument, for the error.
        value: The value that the user gave.
        expected: What the error says is expected.

    Returns:
        The path.

    Raises:
        ArgumentError: It is none of these.

    Examples:
        >>> str(as_path("out", b"runs/splice"))
        'runs/splice'
    """
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise ArgumentError(f"{name} must be {expected}, got {shown(value)}")
    return Path(os.fsdecode(value))  # pyright: ignore[reportUnknownArgumentType]
