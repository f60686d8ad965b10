"""Converts labels from text to numbers: classes, values, or zeros and ones."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from seqloom._text import parse_decimal
from seqloom.data.label._labels import BOOLEANS, NAME_SEPARATOR, Cells, LabelColumn
from seqloom.data.label._source import join_labels_by_key
from seqloom.data.label._table import suggest_name
from seqloom.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from numpy.typing import NDArray

    from seqloom.data.label._labels import Labels
    from seqloom.data.label._source import LabelSource

_NUMBER_PATTERN = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_THOUSANDS_COMMA = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?")
_MAX_SHOWN_LABELS = 3
# Spellings of zeros and ones in multilabel tables.
TRUTH_VALUES: dict[str, bool] = {
    **dict.fromkeys(("0", "0.0", "False", "false", "FALSE"), False),
    **dict.fromkeys(("1", "1.0", "True", "true", "TRUE"), True),
}
# More than this number of classes must have at least two records on average.
_MAX_UNCHECKED_CLASSES = 10

_INTEGER_PATTERN = re.compile(r"[+-]?[0-9]+")
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MAX_ROUNDING = 0.01  # as a fraction of the range of the labels
_FILE_REMEDY = (
    ": put each class into its own file (seqloom train a.fa b.fa --label-from-file); in "
    "Python, pass a dict from file to label to set other names"
)


def number_labels(
    source: LabelSource,
    ids: list[str],
    *,
    task: str,
    classes: Iterable[str] | None,
    joined: LabelColumn | None = None,
) -> LabelColumn:
    """Return labels as numbers; ``joined`` provides the other fields of the result."""
    class_tuple = None if classes is None else tuple(classes)
    if task == "auto":
        task = guess_task(source, ids, has_classes=class_tuple is not None)
    names = class_tuple or ()
    if double := [name for i, name in enumerate(names) if name in names[:i]]:
        raise ArgumentError(f"classes contains {double[0]!r} twice; list each class once")
    labels = _CONVERTERS[task](source, ids, class_tuple)
    _check_names(source, ids, labels.classes)
    if joined is None:
        return labels
    numbers = {"task": task, "classes": labels.classes, "values": labels.values}
    return replace(joined, **numbers)


def label_rows(
    source: LabelSource,
    labels: Labels,
    keys: list[str],
    *,
    ids: list[str],
    noun: str | None,  # None if labels are in record order
    missing_error: Callable[[list[int]], LabelError],
    unmatched: Cells | None = None,
) -> LabelColumn:
    """Join records or intervals to labels by their keys; return the labels as numbers."""
    joined = join_labels_by_key(
        source,
        keys,
        ids,
        noun=noun,
        skip=labels.skips,
        missing_error=missing_error,
        unmatched=unmatched,
    )
    rows: list[int] = [] if joined.rows is None else joined.rows.tolist()
    labelled = [keys[row] for row in rows]
    return number_labels(
        source, labelled, task=labels.task, classes=labels.classes, joined=joined
    )


def _check_names(source: LabelSource, ids: list[str], classes: Cells) -> None:
    """Raise for names with control characters, which would corrupt output tables."""
    bad = next(filter(_CONTROL_CHARACTER.search, classes), None)
    if bad is None:
        return
    holders = (name for name in ids if any(bad in cell for cell in source.cells[name]))
    holder = next(holders, None)
    where = source.what if holder is None else source.locate(holder)
    raise LabelError(
        f"{where}: the name {bad!r} has a tab, a line break or another control "
        "character; rename it"
    )


def _to_classes(source: LabelSource, ids: list[str], classes: Cells | None) -> LabelColumn:
    if len(source.names) > 1:
        raise LabelError(
            f"task classify takes one label column, got {', '.join(source.names)}"
        )
    if source.is_of_lists:
        raise LabelError(
            f"{source.what}: a record has several names, or an empty list: pass "
            'Labels(..., task="multilabel"), or one name per record'
        )
    names = [source.cells[name][0] for name in ids]
    if classes is None and BOOLEANS.keys() >= {name.casefold() for name in set(names)}:
        names = [BOOLEANS[name.casefold()] for name in names]
    if classes is None:
        classes = _sort_names(set(names))
        if len(classes) == 1:
            raise LabelError(
                f"{source.what}: all {len(ids):,} sequences have the label {classes[0]!r}; "
                "a classifier needs two classes or more"
                f"{_FILE_REMEDY if source.is_of_files else source.note(0)}"
            )
    number = {name: i for i, name in enumerate(classes)}
    names = [name if name in number else find_equal_class(name, number) for name in names]
    unknown = next((i for i, name in enumerate(names) if name not in number), None)
    if unknown is not None:
        raise _make_class_error(source, ids[unknown], classes, label=names[unknown])
    values = np.fromiter((number[name] for name in names), np.int64, len(names))
    return LabelColumn("classify", classes, values)


def find_equal_class(name: str, classes: Collection[str]) -> str:
    """Return the class that equals a number or boolean, such as 1 for True or 1.0."""
    whole = BOOLEANS.get(name.casefold(), name.removesuffix(".0"))
    if not _INTEGER_PATTERN.fullmatch(whole):
        return name
    truths = {BOOLEANS.get(label.casefold(), label): label for label in classes}
    if truths.keys() <= {"0", "1"} and whole in truths:
        return truths[whole]
    return next((same for same in (whole, f"{whole}.0") if same in classes), name)


def _sort_names(names: set[str]) -> Cells:
    """Return sorted names; integers are sorted by value."""
    if all(_INTEGER_PATTERN.fullmatch(name) for name in names):
        return tuple(sorted(names, key=lambda name: (Decimal(name), name)))
    return tuple(sorted(names))


def _make_class_error(
    source: LabelSource, name: str, classes: Cells, *, label: str
) -> LabelError:
    remedy = (
        f"; correct it, or leave such records out with Labels(..., missing=[{label!r}], "
        f'unlabelled="skip") (--missing {shlex.quote(label)} --unlabelled skip)'
    )
    return LabelError(
        f"{source.locate(name)}: label {label!r} is not one of the classes "
        f"{', '.join(classes)}{suggest_name(label, classes)}"
        f"{_FILE_REMEDY if source.is_of_files else remedy}"
    )


def _to_targets(source: LabelSource, ids: list[str], classes: Cells | None) -> LabelColumn:
    names = source.names if classes is None else classes
    if len(names) != len(source.names):
        raise LabelError(
            f"{source.what}: expected values for {', '.join(names)}, "
            f"found {', '.join(source.names)}"
        )
    rows = [
        [_label_number(source, name, cell) for cell in source.cells[name]] for name in ids
    ]
    exact = np.array(rows, np.float64).reshape(len(ids), len(names))
    with np.errstate(over="ignore"):
        values = exact.astype(np.float32)
    _check_range(source, ids, values)
    _check_rounding(source, exact, values)
    # Names that are the column names reorder the columns; other names rename the
    # columns.
    if set(names) == set(source.names):
        values = values[:, [source.names.index(name) for name in names]]
    return LabelColumn("regress", names, values[:, 0].copy() if len(names) == 1 else values)


def _check_range(source: LabelSource, ids: list[str], values: NDArray[np.float32]) -> None:
    """Raise for numbers that overflow float32."""
    wrong = np.argwhere(~np.isfinite(values))
    if wrong.size:
        name = ids[int(wrong[0, 0])]
        cell = source.cells[name][int(wrong[0, 1])]
        raise LabelError(
            f"{source.locate(name)}: label {cell!r} is too large for 32 bits (3.4e38); "
            "scale the values"
        )


def _check_rounding(
    source: LabelSource, exact: NDArray[np.float64], values: NDArray[np.float32]
) -> None:
    """Raise if rounding to float32 loses much of the differences within a column."""
    if not len(exact):
        return
    rounding, spread = abs(exact - values).max(axis=0), np.ptp(exact, axis=0)
    wrong: list[int] = np.flatnonzero(
        (spread > 0) & (rounding > _MAX_ROUNDING * spread)
    ).tolist()
    if wrong:
        column = wrong[0]
        raise LabelError(
            f"{source.what}: the labels {source.names[column]!r} differ by at most "
            f"{spread[column]:.3g}, but float32 rounds them by {rounding[column]:.3g}; "
            f"subtract a number near {exact[:, column].mean():.9g} from each label"
        )


def _label_number(source: LabelSource, name: str, cell: str) -> float:
    try:
        number = parse_decimal(BOOLEANS.get(cell.casefold(), cell))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        hint = comma_hint(cell)
        raise LabelError(
            f"{source.locate(name)}: label {cell!r} is not a finite number{hint}"
        )
    return number


def _to_binary(source: LabelSource, ids: list[str], classes: Cells | None) -> LabelColumn:
    """Return labels as zeros and ones, from names in one column or from several columns."""
    one_column = len(source.names) == 1
    names_of = {name: _read_names(source, name) for name in ids}
    found_names = _sort_names({label for labels in names_of.values() for label in labels})
    order = classes or (found_names if one_column else source.names)
    if not order:
        raise LabelError(
            f"{source.what}: no sequence has a label: column {source.names[0]!r} is empty"
        )
    if not one_column and set(order) != set(source.names):
        raise LabelError(
            f"{source.what}: expected {', '.join(order)}, found {', '.join(source.names)}"
        )
    number = {label: i for i, label in enumerate(order)}
    values = np.zeros((len(ids), len(order)), np.float32)
    for i, name in enumerate(ids):
        for label in names_of[name]:
            if label not in number:
                raise _make_class_error(source, name, order, label=label)
            values[i, number[label]] = 1
    return LabelColumn("multilabel", order, values)


def _read_names(source: LabelSource, name: str) -> list[str]:
    """Return the labels of a record: separated names, or the columns that contain 1."""
    cells = source.cells[name]
    if len(source.names) == 1:
        parts = NAME_SEPARATOR.split(cells[0])
        return [part.strip() for part in parts if part.strip()]
    if wrong := [cell for cell in cells if cell not in TRUTH_VALUES]:
        raise LabelError(f"{source.locate(name)}: expected 0 or 1, found {wrong[0]!r}")
    return [
        label for label, cell in zip(source.names, cells, strict=True) if TRUTH_VALUES[cell]
    ]


_CONVERTERS: dict[str, Callable[[LabelSource, list[str], Cells | None], LabelColumn]] = {
    "classify": _to_classes,
    "regress": _to_targets,
    "multilabel": _to_binary,
}


def guess_task(source: LabelSource, ids: list[str], *, has_classes: bool) -> str:
    """Return the task that fits the labels; raise if it is ambiguous."""
    if source.is_of_lists:
        return "multilabel"
    holders: dict[str, str] = {}
    for name in ids:
        for cell in source.cells[name]:
            holders.setdefault(cell, name)
    if not has_classes:
        _check_not_mixed(source, holders)
    _check_fractions(source, holders)
    if len(source.names) == 1:
        if not has_classes:
            _check_class_names(source, holders, len(ids))
        return "classify"
    if TRUTH_VALUES.keys() >= set(holders):
        return "multilabel"
    raise LabelError(
        f"{source.what}: {len(source.names)} label columns, and they are not all 0 and 1; "
        'pass Labels(..., task="regress") (--task regress) for numbers'
    )


def has_comma(cell: str) -> bool:
    """Return whether a string is a number with a decimal comma."""
    return _DECIMAL_COMMA.fullmatch(cell) is not None


def comma_hint(cell: str) -> str:
    """Return a hint on writing a number without commas; empty if it has no commas."""
    if _THOUSANDS_COMMA.fullmatch(cell):
        plain = cell.replace(",", "")
        decimal = f", or {cell.replace(',', '.')} if it is a decimal comma"
        return f"; write {plain} without the comma{decimal if has_comma(cell) else ''}"
    return f"; write a point: {cell.replace(',', '.')}" if has_comma(cell) else ""


def _check_not_mixed(source: LabelSource, holders: dict[str, str]) -> None:
    """Raise if numbers and words are mixed, because the words may mark missing values."""
    words = [cell for cell in holders if not _NUMBER_PATTERN.fullmatch(cell)]
    if not words or len(words) == len(holders):
        return
    shown = ", ".join(map(repr, sorted(words)[:_MAX_SHOWN_LABELS]))
    comma = next((hint for word in words if (hint := comma_hint(word))), "")
    raise LabelError(
        f"{source.locate(holders[words[0]])}: some labels are numbers and some are "
        f"not: {shown}{comma}; if these mark missing values, pass them as missing= "
        'of Labels (--missing); if all are classes, pass Labels(..., task="classify") '
        "(--task classify)"
    )


def _check_fractions(source: LabelSource, holders: dict[str, str]) -> None:
    """Raise if labels for a classifier have fractions or decimal commas."""
    for cell, name in holders.items():
        number = float(cell) if _NUMBER_PATTERN.fullmatch(cell) else 0.0
        if math.isfinite(number) and not number.is_integer():
            raise LabelError(
                f"{source.locate(name)}: label {' '.join(source.cells[name])!r} has a "
                'fraction: pass Labels(..., task="regress") (--task regress) for '
                "numbers"
            )
        if hint := comma_hint(cell):
            kind = "comma" if _THOUSANDS_COMMA.fullmatch(cell) else "decimal comma"
            raise LabelError(
                f"{source.locate(name)}: label {cell!r} may be a number with a {kind}, or "
                f'several labels{hint}, and pass Labels(..., task="regress") (--task '
                'regress); or pass task="multilabel" (--task multilabel)'
            )


def _check_class_names(source: LabelSource, holders: dict[str, str], n: int) -> None:
    """Raise for too many classes, and for two spellings of one number."""
    if len(holders) > _MAX_UNCHECKED_CLASSES and 2 * len(holders) > n:
        raise LabelError(
            f"{source.what}: {len(holders):,} different labels for {n:,} records, "
            'too many for classes: pass Labels(..., task="regress") (--task regress) for '
            "numbers, choose another label_column (--label-column), or pass "
            'task="classify" (--task classify) if these are classes'
        )
    if not all(map(_NUMBER_PATTERN.fullmatch, holders)):
        return
    seen: dict[float, str] = {}
    for cell, name in holders.items():
        if (first := seen.setdefault(float(cell), cell)) != cell:
            raise LabelError(
                f"{source.locate(name)}: labels {first!r} and {cell!r} are the "
                "same number, but two classes: write it in only one way, or pass "
                'Labels(..., task="classify") (--task classify)'
            )
