"""Parse numbers in text, and make text safe to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

# Number of ids, names or values that a message or report lists as examples.
MAX_EXAMPLES = 3
# Surrogates, to which Python decodes bytes that are not UTF-8.
_FIRST_ESCAPED_BYTE, _LAST_ESCAPED_BYTE = 0xDC80, 0xDCFF


def printable(text: object, *, lines: bool = False) -> str:
    """Escape control characters for a terminal, like Python's ``repr``."""
    # The function escapes control characters (such as ESC), marks of text direction,
    # unpaired surrogates and, unless `lines` is True, line breaks. A byte that is not
    # UTF-8 is shown as ``\xff``.
    text = str(text)
    if text.isprintable():
        return text
    kept = "\n" if lines else ""
    return "".join(
        char if char.isprintable() or char in kept else _escape_character(char)
        for char in text
    )


def format_count(number: int, noun: str) -> str:
    """Format a number with a plural noun; for the number 1, use the singular."""
    return f"{number:,} {noun.removesuffix('s') if number == 1 else noun}"


def join_first_names(names: Sequence[str], count: int = 3) -> str:
    """Join names with commas; of many names, list only the first few."""
    return ", ".join(names[:count]) + (", ..." if len(names) > count else "")


def contig_aliases(name: str) -> tuple[str, ...]:
    """Return the names that other genomes give to a contig; the name itself is first."""
    bare = name.removeprefix("chr")
    if bare in {"M", "MT"}:
        prefix = "chr" if bare != name else ""
        other = "" if prefix else "chr"
        names = [f"{each}{mito}" for each in (prefix, other) for mito in ("M", "MT")]
        return (name, *(each for each in names if each != name))
    return (name, f"chr{name}" if bare == name else bare)


def parse_decimal(text: str) -> float:
    """Parse a decimal number with ASCII digits; raise ValueError for any other text."""
    # Python's ``float`` also accepts ``1_000`` and digits of other scripts.
    return float(_check_ascii_digits(text))


def is_decimal(text: str) -> bool:
    """Return True for text that `parse_decimal` accepts."""
    try:
        parse_decimal(text)
    except ValueError:
        return False
    return True


def parse_integer(text: str) -> int:
    """Parse an integer with ASCII digits, like `parse_decimal`."""
    return int(_check_ascii_digits(text))


def _check_ascii_digits(text: str) -> str:
    """Raise ValueError for underscores and for digits that are not ASCII."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return text


def _escape_character(character: str) -> str:
    """Return the escape sequence of one character."""
    if _FIRST_ESCAPED_BYTE <= ord(character) <= _LAST_ESCAPED_BYTE:
        return f"\\x{ord(character) & 0xFF:02x}"
    return character.encode("unicode_escape").decode("ascii")


def get_match_text(match: re.Match[str], name: str) -> str:
    """Return the text of the named group of a match, or of the first group, or all text."""
    named = match.groupdict().get(name)
    return named or next((group for group in match.groups() if group), match[0])
