"""Text that came from a file: its numbers, and how it is safe to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

# The bytes of a file that is not UTF-8 are kept as these.
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF


def printable(text: object, *, lines: bool = False) -> str:
    """Escape what a terminal would obey instead of showing, as Python's ``repr`` does."""
    # These are control characters (ESC among them), marks that change the direction of
    # writing, line ends (unless `lines`) and unpaired surrogates. A byte that is not UTF-8
    # is shown as ``\xff``.
    text = str(text)
    if text.isprintable():
        return text
    kept = "\n" if lines else ""
    return "".join(
        char if char.isprintable() or char in kept else _escape(char) for char in text
    )


def count_of(number: int, noun: str) -> str:
    """Write a number with its noun in the singular or the plural, such as sequences."""
    return f"{number:,} {noun.removesuffix('s') if number == 1 else noun}"


def list_some(names: Sequence[str], count: int = 3) -> str:
    """List names; of more than a few, the first."""
    return ", ".join(names[:count]) + (", ..." if len(names) > count else "")


def parse_decimal(text: str) -> float:
    """Read a number in the digits 0 to 9; raises ValueError for anything else."""
    # Python's ``float`` also takes ``1_000`` and digits of other scripts: those are names.
    return float(_plain(text))


def is_decimal(text: str) -> bool:
    """Return True for a number that `parse_decimal` reads."""
    try:
        parse_decimal(text)
    except ValueError:
        return False
    return True


def parse_integer(text: str) -> int:
    """Read an integer in the digits 0 to 9, as `parse_decimal` does."""
    return int(_plain(text))


def _plain(text: str) -> str:
    """Refuse what only Python would read as digits."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return text


def _escape(character: str) -> str:
    """Escape one character by its number."""
    if _FIRST_BYTE <= ord(character) <= _LAST_BYTE:
        return f"\\x{ord(character) & 0xFF:02x}"
    return character.encode("unicode_escape").decode("ascii")


def match_text(match: re.Match[str], name: str) -> str:
    """Pick the group of a name, or else the first group, or else the whole match."""
    named = match.groupdict().get(name)
    return named or next((group for group in match.groups() if group), match[0])
