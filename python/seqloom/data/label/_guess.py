"""What labels are for, where nobody says so: guessed only where it is plain."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from seqloom.errors import LabelError

if TYPE_CHECKING:
    from seqloom.data.label._source import Source

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?")
_SHOWN = 3
# Whether a label holds, as integers and as others write it.
MARKS: dict[str, bool] = {
    **dict.fromkeys(("0", "0.0", "False", "false", "FALSE"), False),
    **dict.fromkeys(("1", "1.0", "True", "true", "TRUE"), True),
}
# So many classes are never too many, however few the records.
_FEW = 10


def guess_task(source: Source, ids: list[str], *, has_classes: bool) -> str:
    """Decides what labels are for."""
    if source.is_of_lists:
        return "multilabel"
    holders: dict[str, str] = {}
    for name in ids:
        for cell in source.cells[name]:
            holders.setdefault(cell, name)
    if not has_classes:
        _refuse_mixed(source, holders)
    _refuse_numbers(source, holders)
    if len(source.names) == 1:
        if not has_classes:
            _refuse_names(source, holders, len(ids))
        return "classify"
    if MARKS.keys() >= set(holders):
        return "multilabel"
    raise LabelError(
        f"{source.what}: {len(source.names)} label columns, and they are not all 0 and 1; "
        'pass task="regress" (--task regress) for numbers'
    )


def has_comma(cell: str) -> bool:
    """Tells a number that is written with a decimal comma."""
    return _COMMA.fullmatch(cell) is not None


def comma_hint(cell: str) -> str:
    """Describes how to write a number that has commas; empty where it has none."""
    if _THOUSANDS.fullmatch(cell):
        plain = cell.replace(",", "")
        decimal = f", or {cell.replace(',', '.')} if it is a decimal comma"
        return f"; write {plain} without the comma{decimal if has_comma(cell) else ''}"
    return f"; write a point: {cell.replace(',', '.')}" if has_comma(cell) else ""


def _is_fractional(cell: str) -> bool:
    """Tells whether a text is a number with something behind the point."""
    if not _NUMBER.fullmatch(cell):
        return False
    number = float(cell)
    return math.isfinite(number) and not number.is_integer()


def _refuse_mixed(source: Source, holders: dict[str, str]) -> None:
    """Refuses words among numbers: they may mean that nothing is known."""
    words = [cell for cell in holders if not _NUMBER.fullmatch(cell)]
    if not words or len(words) == len(holders):
        return
    shown = ", ".join(map(repr, sorted(words)[:_SHOWN]))
    comma = next((hint for word in words if (hint := comma_hint(word))), "")
    raise LabelError(
        f"{source.locate(holders[words[0]])}: some labels are numbers and some are "
        f"not: {shown}{comma}; if these mark missing values, pass them as missing= "
        '(--missing); if all labels are classes, pass task="classify" (--task classify)'
    )


def _refuse_numbers(source: Source, holders: dict[str, str]) -> None:
    """Refuses to take numbers for classes."""
    for cell, name in holders.items():
        if _is_fractional(cell):
            raise LabelError(
                f"{source.locate(name)}: label {' '.join(source.cells[name])!r} has a "
                'fraction: pass task="regress" (--task regress) to learn numbers'
            )
        if hint := comma_hint(cell):
            kind = "comma" if _THOUSANDS.fullmatch(cell) else "decimal comma"
            raise LabelError(
                f"{source.locate(name)}: label {cell!r} may be a number with a {kind}, or "
                f'several labels{hint}, and pass task="regress" (--task regress); or pass '
                'task="multilabel" (--task multilabel)'
            )


def _refuse_names(source: Source, holders: dict[str, str], n: int) -> None:
    """Refuses classes that hardly two records share, and one number as two classes."""
    if len(holders) > _FEW and 2 * len(holders) > n:
        raise LabelError(
            f"{source.what}: {len(holders):,} different labels for {n:,} records, "
            'too many for classes: pass task="regress" (--task regress) for numbers, '
            'choose another label_column (--label-column), or pass task="classify" (--task '
            "classify) if these are classes"
        )
    if not all(map(_NUMBER.fullmatch, holders)):
        return
    seen: dict[float, str] = {}
    for cell, name in holders.items():
        if (first := seen.setdefault(float(cell), cell)) != cell:
            raise LabelError(
                f"{source.locate(name)}: labels {first!r} and {cell!r} are one "
                'number, but would be two classes: write it in one way, or pass task="'
                'classify" (--task classify)'
            )
