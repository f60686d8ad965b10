"""What differs between two signatures, in words."""

from __future__ import annotations

from typing import Any, cast


def difference(before: Any, after: Any) -> str:
    """The innermost first difference of two nested tuples.

    Args:
        before: One.
        after: The other.

    Returns:
        ``"(64, 4) instead of (32, 4)"``, say.
    """
    if isinstance(before, tuple) and isinstance(after, tuple):
        left, right = cast("tuple[Any, ...]", before), cast("tuple[Any, ...]", after)
        unequal = [pair for pair in zip(left, right, strict=False) if pair[0] != pair[1]]
        if unequal and len(left) == len(right) and not _is_shape(right):
            return difference(*unequal[0])
    return f"{_shown(after)} instead of {_shown(before)}"


def _is_shape(value: tuple[Any, ...]) -> bool:
    """Whether a tuple is of whole numbers: a shape is named as a whole."""
    return all(type(each) is int for each in value)


def _shown(value: Any) -> str:
    """A part of a signature, cut short."""
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."  # noqa: PLR2004
