"""What the numbers of a phenotype mean: controls and cases, or values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from seqloom._text import parse_decimal
from seqloom.data.label._cells import TRUTH
from seqloom.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Iterable

STATES = ("control", "case")
# What each number means; PLINK's 0 beside 1 and 2 is "not known".
_MEANINGS = {"01": {"0": "control", "1": "case"}, "12": {"1": "control", "2": "case"}}
_SHOWN = 3
_WORDS = frozenset({"na", "n/a", "#n/a", "<na>", "nan", "null", "none", ".", "?", "-"})


@dataclass(frozen=True, slots=True)
class Missing:
    """What stands for no value."""

    marks: frozenset[str]  # texts; numbers are compared as numbers

    @classmethod
    def of(cls, marks: Iterable[str]) -> Missing:
        """Takes marks as a caller gives them."""
        return cls(frozenset(["", *(_plain(str(mark)) for mark in marks)]))

    def has(self, cell: str) -> bool:
        """Tells whether a cell holds no value."""
        return _plain(cell) in self.marks


def _plain(cell: str) -> str:
    """Writes numbers and words in one way."""
    text = cell.strip().casefold()
    text = TRUTH.get(text, text)
    try:
        number = parse_decimal(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else text


def states_of(cells: Iterable[str], coding: str, *, what: str) -> dict[str, str] | None:
    """Finds what each text of a column means; None where the numbers are values."""
    plain = {cell: _plain(cell) for cell in dict.fromkeys(cells)}
    found = set(plain.values())
    if coding == "auto":
        if not found <= {"0", "1", "2"} or len(found) < 2:  # noqa: PLR2004 - one says nothing
            return None
        if {"0", "2"} <= found:
            _refuse_ambiguous(found, what)
        coding = "12" if "2" in found else "01"
    meanings = _MEANINGS[coding] | ({"0": ""} if coding == "12" else {})
    if strange := [cell for cell, text in plain.items() if text not in meanings]:
        shown = ", ".join(map(repr, strange[:_SHOWN]))
        raise LabelError(f'{what}: coding="{coding}" has no meaning for {shown}')
    return {cell: meanings[text] for cell, text in plain.items()}


def _refuse_ambiguous(found: set[str], what: str) -> NoReturn:
    """Says that 0, 1 and 2 may mean two things."""
    raise LabelError(
        f"{what}: the values {', '.join(sorted(found))} may be controls (1), cases (2) and "
        'missing (0), or three values: pass coding="12" (--coding 12), or '
        'task="regress" (--task regress)'
    )


def missing_marks(cells: Iterable[str], *, with_codes: bool) -> list[str]:
    """Lists texts that programs write for no value, and a code beside two states."""
    found = {_plain(cell): cell for cell in cells}
    marks = [text for text in found if text in _WORDS]
    others = [text for text in found if text not in {"0", "1", "2"}]
    has_states = found.keys() - others in ({"0", "1"}, {"1", "2"})
    if with_codes and has_states and len(others) == 1 and are_numbers(others):
        marks += [text for text in others if parse_decimal(text) < 0]
    return [found[text] for text in marks]


def are_numbers(cells: Iterable[str]) -> bool:
    """Tells whether all texts are numbers."""
    try:
        return not any(math.isnan(parse_decimal(cell)) for cell in cells)
    except ValueError:
        return False
