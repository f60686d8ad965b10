"""Arguments of public calls: numbers and paths of any common type, or one clear error."""

import math
import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqloom.errors import ArgumentError

_MOST = 60
_SEEDS = 1 << 64


def shown(value: object) -> str:
    """Writes a value for an error message, on one line and not longer than half of it.

    Args:
        value: What was given.

    Returns:
        Its repr; of a long one, the beginning.

    Examples:
        >>> shown("20"), len(shown("A" * 1000))
        ("'20'", 60)
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST else text[: _MOST - 3] + "..."


def as_whole(name: str, value: object, *, least: int = 0) -> int:
    """Takes a whole number of any type: Python's, NumPy's, or an array of one number.

    Args:
        name: What the error calls it.
        value: What was given.
        least: The smallest that makes sense.

    Returns:
        The same as an ``int``.

    Raises:
        ArgumentError: It is no whole number, or below ``least``. True and False are none.

    Examples:
        >>> import numpy as np
        >>> as_whole("epochs", np.int64(20), least=1)
        20
    """
    try:
        found = None if isinstance(value, bool) else operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        found = None
    if found is None or found < least:
        raise ArgumentError(
            f"{name} must be a whole number and at least {least}, got {shown(value)}"
        )
    return found


def as_seed(value: object, name: str = "seed") -> int:
    """Takes the seed of random numbers, whether or not some are drawn.

    Args:
        value: What was given.
        name: What the error calls it.

    Returns:
        The same as an ``int``.

    Raises:
        ArgumentError: It is no whole number from 0 to below 2**64.

    Examples:
        >>> as_seed(7)
        7
    """
    seed = as_whole(name, value)
    if seed >= _SEEDS:
        raise ArgumentError(f"{name} must be below 2**64, got {seed}")
    return seed


def as_flag(name: str, value: Any) -> bool:
    """Takes True or False, as Python, NumPy or a number has it.

    Args:
        name: What the error calls it.
        value: What was given.

    Returns:
        The same as a ``bool``.

    Raises:
        ArgumentError: It is neither: a text such as ``"no"`` would count as true.

    Examples:
        >>> as_flag("shuffle", 1)
        True
    """
    is_flag = isinstance(value, (bool, int)) or type(value).__name__ in {"bool", "bool_"}
    if not (is_flag and value in {0, 1}):
        raise ArgumentError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def as_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Takes one of some words.

    Args:
        name: What the error calls it.
        value: What was given.
        choices: The words.

    Returns:
        The word.

    Raises:
        ArgumentError: It is none of them.

    Examples:
        >>> as_choice("unlabelled", "skip", ("error", "skip"))
        'skip'
    """
    if isinstance(value, str) and value in choices:
        return value
    *first, last = [f'"{word}"' for word in choices]
    listed = f"{', '.join(first)} or {last}" if first else last
    raise ArgumentError(f"{name} must be {listed}, got {shown(value)}")


def check_function(name: str, value: Any) -> None:
    """Refuses what cannot be called; None stands for no function.

    Args:
        name: What the error calls it.
        value: What was given.

    Raises:
        ArgumentError: It is no function.

    Examples:
        >>> check_function("on_progress", print)
    """
    if value is not None and not callable(value):
        raise ArgumentError(f"{name} must be a function, got {shown(value)}")


def check_sized(name: str, value: Any) -> None:
    """Refuses what has no length, or is a text where items are meant.

    Args:
        name: What the error calls it.
        value: What was given.

    Raises:
        ArgumentError: It holds no items.

    Examples:
        >>> check_sized("dataset", [1, 2])
    """
    is_text = isinstance(value, (str, bytes))
    if is_text or isinstance(value, type) or not hasattr(value, "__len__"):
        raise ArgumentError(f"{name} must hold items and have a length, got {shown(value)}")


def as_number(
    name: str, value: Any, *, expected: str = "a number", least: float = -math.inf
) -> float:
    """Takes a finite number of any type but text.

    Args:
        name: What the error calls it.
        value: What was given.
        expected: What the error asks for.
        least: The smallest that makes sense.

    Returns:
        The same as a ``float``.

    Raises:
        ArgumentError: It is no number, not finite, or below ``least``.

    Examples:
        >>> import numpy as np
        >>> as_number("lr", np.float64(0.5))
        0.5
    """
    is_number = hasattr(value, "__float__") and not isinstance(value, bool)
    found = float(value) if is_number and not getattr(value, "ndim", 0) else math.nan
    if not (math.isfinite(found) and found >= least):
        raise ArgumentError(f"{name} must be {expected}, got {shown(value)}")
    return found


def as_path(name: str, value: object, *, expected: str = "a path") -> Path:
    """Takes the name of a file or folder: text, bytes or a path.

    Args:
        name: What the error calls it.
        value: What was given.
        expected: What the error asks for.

    Returns:
        The path.

    Raises:
        ArgumentError: It is nothing of the kind.

    Examples:
        >>> str(as_path("out", b"runs/splice"))
        'runs/splice'
    """
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise ArgumentError(f"{name} must be {expected}, got {shown(value)}")
    return Path(os.fsdecode(value))  # pyright: ignore[reportUnknownArgumentType]
