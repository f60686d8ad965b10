"""Text that came from a file: its numbers, and how it is safe to print."""

from __future__ import annotations

# The bytes of a file that is not UTF-8 are kept as these.
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF


def printable(text: object, *, lines: bool = False) -> str:
    r"""Spells out what a terminal would obey instead of showing it.

    That is what Python's own ``repr`` spells out: control characters (ESC among them),
    marks that turn the direction of writing, line ends and halves of surrogates; a byte
    that is no UTF-8 is shown as ``\xff``.

    Args:
        text: A text, or what has one, as a path.
        lines: Whether line ends stay, because they are ours.

    Returns:
        The text; the same one if there is nothing to spell out.

    Examples:
        >>> print(printable("id\x1b[31m"))
        id\x1b[31m
    """
    text = str(text)
    if text.isprintable():
        return text
    kept = "\n" if lines else ""
    return "".join(
        each if each.isprintable() or each in kept else _spell(each) for each in text
    )


def decimal(text: str) -> float:
    """Reads a number in the digits 0 to 9, as files have it.

    Python's ``float`` also takes ``1_000`` and digits of other scripts: those are names.

    Args:
        text: A cell of a table.

    Returns:
        The number; ``nan`` and ``inf`` are some.

    Raises:
        ValueError: It is none.

    Examples:
        >>> decimal("-1.5e3")
        -1500.0
    """
    return float(_plain(text))


def whole(text: str) -> int:
    """Reads a whole number in the digits 0 to 9, as `decimal` does.

    Args:
        text: A cell of a table.

    Returns:
        The number.

    Raises:
        ValueError: It is none.

    Examples:
        >>> whole("-15")
        -15
    """
    return int(_plain(text))


def _plain(text: str) -> str:
    """Refuses what Python alone would read as digits."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return text


def _spell(character: str) -> str:
    """Spells a character by its number."""
    if _FIRST_BYTE <= ord(character) <= _LAST_BYTE:
        return f"\\x{ord(character) & 0xFF:02x}"
    return character.encode("unicode_escape").decode("ascii")
