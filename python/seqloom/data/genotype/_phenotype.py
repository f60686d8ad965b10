"""The labels and covariates of samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._text import list_some, parse_decimal
from seqloom._warning import warn_user
from seqloom.data.genotype._people import Columns, PersonValues, join_people
from seqloom.data.label._labels import TRUTH, LabelColumn
from seqloom.data.label._numbers import number_labels
from seqloom.data.label._source import LabelSource, count_ids, join
from seqloom.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from seqloom.data.genotype._encoder import GenotypeEncoder
    from seqloom.data.genotype._people import People
    from seqloom.data.label._labels import Cells, Labels


STATES = ("control", "case")
# What each number means; PLINK's 0 beside 1 and 2 is "not known".
_MEANINGS = {"01": {"0": "control", "1": "case"}, "12": {"1": "control", "2": "case"}}
_SHOWN = 3
_WORDS = frozenset({"na", "n/a", "#n/a", "<na>", "nan", "null", "none", ".", "?", "-"})
MISSING = ("NA", "-9", "nan", "")
_UNKNOWN = ("",)
_LARGEST = float(np.finfo(np.float32).max)


def label_people(people: People, labels: Labels) -> LabelColumn:
    """Return samples their labels."""
    if labels.source is False:
        return LabelColumn()
    people.check_unique()
    is_own = labels.source is None
    if is_own:
        column: list[str] = [] if people.phenotypes is None else people.phenotypes.tolist()
        cells = {at: (cell,) for at, cell in enumerate(column)}
        joined = PersonValues(people.path, ("phenotype",), cells, (), [])
    else:
        joined = _read_phenotype(people, labels)
    missing = Missing.of(labels.missing or ())
    rows = {at: row for at, row in joined.cells.items() if not any(map(missing.has, row))}
    # PLINK writes one value for all, 0 or -9, where nobody has a phenotype.
    if is_own and len(set(rows.values())) <= 1:
        return LabelColumn()
    rows = _replace_codes(joined, rows, labels)
    return _number_labels(people, joined, rows, labels=labels)


def _read_phenotype(people: People, labels: Labels) -> PersonValues:
    """Take what the caller names; one column unless several are asked for."""
    names = tuple(labels.label_column or ()) or None
    joined = join_people(labels.source, people, Columns(labels.id_column, names))
    if names is None and len(joined.names) > 1:
        raise LabelError(
            f"{joined.what}: {len(joined.names)} columns of values, "
            f"{', '.join(joined.names)}: choose with label_column of Labels "
            "(--label-column)"
        )
    return joined


def _replace_codes(
    joined: PersonValues, rows: dict[int, Cells], labels: Labels
) -> dict[int, Cells]:
    """Replace codes of controls and cases by what they mean."""
    if len(joined.names) > 1 or labels.task not in {"auto", "classify"}:
        return rows
    what = f"{joined.what}, {' '.join(joined.names)}"
    cells = [cell for row in rows.values() for cell in row]
    states = states_of(cells, labels.coding, what=what)
    if states is None:
        return rows
    is_guessed = labels.source is None and labels.coding == "auto"
    if is_guessed and (count := sum(map(_ZERO.has, cells))):
        warn_user(
            f"{what}: {count:,} samples have 0 and the others 1, which is read as control "
            "and case, but PLINK reads 0 as missing and 1 as control; confirm with "
            'Labels(..., coding="01") (--coding 01), or read as PLINK does with '
            'Labels(..., coding="12") (--coding 12)',
        )
    meant: dict[int, Cells] = {
        at: tuple(states[cell] for cell in row) for at, row in rows.items()
    }
    return {at: row for at, row in meant.items() if row != _UNKNOWN}


def _warn_of_marks(cells: dict[str, Cells], what: str, *, is_guessed: bool) -> None:
    """Warn of labels that look like missing values."""
    flat = [cell for row in cells.values() for cell in row]
    marks = missing_marks(flat, with_codes=is_guessed)
    if marks:
        shown = ", ".join(map(repr, marks))
        warn_user(
            f"{what}: {shown} looks like a missing value and is read as a label; to leave "
            f"its samples out, pass Labels(..., missing=[..., {shown}]) (--missing)",
        )


def _number_labels(
    people: People,
    joined: PersonValues,
    rows: dict[int, Cells],
    *,
    labels: Labels,
) -> LabelColumn:
    """Turn labels into numbers, and counts who has none."""
    names = people.names
    every = LabelSource(
        joined.what, joined.names, {names[at]: row for at, row in joined.cells.items()}
    )
    report = join(
        every,
        names,
        names,
        noun="sample",
        skip=labels.skips and bool(rows),
        refuse=partial(_unlabelled_error, people, joined),
        left=joined.unmatched,
    ).report
    empty = [at for at in joined.cells if at not in rows]
    if not rows:
        raise LabelError(f"{joined.what}: {', '.join(joined.names)} is missing for all")
    kept = sorted(rows)
    ids = [names[at] for at in kept]
    cells = {names[at]: row for at, row in rows.items()}
    source = LabelSource(joined.what, joined.names, cells, joined.tables)
    task, classes = _task_and_classes(cells, labels)
    report |= count_ids("missing_labels", [names[at] for at in sorted(empty)])
    found = number_labels(
        source,
        ids,
        task=task,
        classes=classes,
        joined=LabelColumn(rows=np.array(kept), unmatched=joined.unmatched, report=report),
    )
    _warn_of_marks(cells, joined.what, is_guessed=labels.task == "auto")
    return found


def _task_and_classes(cells: dict[str, Cells], labels: Labels) -> tuple[str, Cells | None]:
    """Decide what labels are for: as in PLINK, numbers that are no codes are values."""
    flat = {cell for row in cells.values() for cell in row}
    classes = None if labels.classes is None else tuple(labels.classes)
    if flat <= set(STATES) and labels.task in {"auto", "classify"}:
        return "classify", STATES if classes is None else classes
    is_values = labels.task == "auto" and len(flat) > 1 and are_numbers(flat)
    return ("regress" if is_values else labels.task), classes


def _unlabelled_error(people: People, joined: PersonValues, bare: list[int]) -> LabelError:
    """Say which samples have no row."""
    names = list_some([people.names[at] for at in bare])
    way_out = '; leave them out with Labels(..., unlabelled="skip") (--unlabelled skip)'
    if len(bare) == len(people):
        found = ", ".join(map(repr, joined.unmatched[:_SHOWN]))
        way_out = f"; its ids are {found}, ..." if found else ""
    return LabelError(
        f"{people.path}: {len(bare):,} of {len(people):,} samples have no row in "
        f"{joined.what}: {names}{way_out}"
    )


@dataclass(frozen=True, slots=True)
class Missing:
    """What stands for no value."""

    marks: frozenset[str]  # texts; numbers are compared as numbers

    @classmethod
    def of(cls, marks: Iterable[str]) -> Missing:
        """Take marks as a caller gives them."""
        return cls(frozenset(["", *(_plain(str(mark)) for mark in marks)]))

    def has(self, cell: str) -> bool:
        """Tell whether a cell holds no value."""
        return _plain(cell) in self.marks


def _plain(cell: str) -> str:
    """Write numbers and words in one way."""
    text = cell.strip().casefold()
    text = TRUTH.get(text, text)
    try:
        number = parse_decimal(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else text


_ZERO = Missing(frozenset({"0"}))


def states_of(cells: Iterable[str], coding: str, *, what: str) -> dict[str, str] | None:
    """Find what each text of a column means; None where the numbers are values."""
    plain = {cell: _plain(cell) for cell in dict.fromkeys(cells)}
    found = set(plain.values())
    if coding == "auto":
        if not found <= {"0", "1", "2"} or len(found) < 2:  # noqa: PLR2004 - one says nothing
            return None
        if {"0", "2"} <= found:
            raise LabelError(
                f"{what}: the values {', '.join(sorted(found))} may be controls (1), cases "
                '(2) and missing (0), or three values: pass Labels(..., coding="12") '
                '(--coding 12), or task="regress" (--task regress)'
            )
        coding = "12" if "2" in found else "01"
    meanings = _MEANINGS[coding] | ({"0": ""} if coding == "12" else {})
    if strange := [cell for cell, text in plain.items() if text not in meanings]:
        shown = ", ".join(map(repr, strange[:_SHOWN]))
        raise LabelError(f'{what}: coding="{coding}" has no meaning for {shown}')
    return {cell: meanings[text] for cell, text in plain.items()}


def missing_marks(cells: Iterable[str], *, with_codes: bool) -> list[str]:
    """List texts that programs write for no value, and a code beside two states."""
    found = {_plain(cell): cell for cell in cells}
    marks = [text for text in found if text in _WORDS]
    others = [text for text in found if text not in {"0", "1", "2"}]
    has_states = found.keys() - others in ({"0", "1"}, {"1", "2"})
    if with_codes and has_states and len(others) == 1 and are_numbers(others):
        marks += [text for text in others if parse_decimal(text) < 0]
    return [found[text] for text in marks]


def are_numbers(cells: Iterable[str]) -> bool:
    """Tell whether all texts are numbers."""
    try:
        return not any(math.isnan(parse_decimal(cell)) for cell in cells)
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Covariates:
    """Covariates of all individuals of the .fam."""

    names: tuple[str, ...]
    values: NDArray[np.float64]  # a row per individual; NaN if missing
    report: dict[str, Any] = field(default_factory=dict[str, Any])
    unmatched: tuple[str, ...] = ()  # ids of tables without an individual

    def of(self, rows: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.float64]:
        """Take those of some individuals, by name."""
        return self.values[rows][:, [self.names.index(name) for name in names]]

    def check_has(self, encoder: GenotypeEncoder, path: str) -> None:
        """Refuse an encoder that reads covariates which are not there."""
        wanted = encoder.covariate_names if encoder.is_fitted else ()
        if lacking := [name for name in wanted if name not in self.names]:
            raise LabelError(
                f"{path}: the model reads the covariates {', '.join(wanted)}; pass "
                f"covariates= with {', '.join(lacking)} (--covariates)"
            )


def read_covariates(
    people: People,
    kept: NDArray[np.int64],
    covariates: Any,
    *,
    columns: Columns,
    marks: Missing,
    fills: bool,
    needed: Sequence[str] | None = None,
) -> Covariates:
    """Read the covariates of individuals: all, or those that a model needs."""
    joined = join_people(covariates, people, columns)
    unused = [name for name in joined.names if needed is not None and name not in needed]
    if unused:
        used = [at for at, name in enumerate(joined.names) if name not in unused]
        names = tuple(joined.names[at] for at in used)
        cells = {who: tuple(row[at] for at in used) for who, row in joined.cells.items()}
        joined = replace(joined, names=names, cells=cells)
    _check_joined(people, joined)
    values = np.full((len(people), len(joined.names)), np.nan)
    for person, row in joined.cells.items():
        values[person] = [math.nan if marks.has(cell) else _number(cell) for cell in row]
    _check_numbers(people, joined, values)
    lacking: list[int] = kept[np.isnan(values[kept]).any(axis=1)].tolist()
    if lacking and not fills:
        shown = list_some([people.names[at] for at in lacking])
        raise LabelError(
            f"{joined.what}: {len(lacking):,} samples lack a covariate: {shown}; "
            'fill in the mean with missing_covariates="mean" (--missing-covariates mean)'
        )
    names = [people.names[at] for at in lacking[:_SHOWN]]
    report = {
        "missing_covariates": len(lacking),
        "missing_covariates_examples": names,
        "unused_covariates": len(unused),
        "unused_covariates_examples": unused[:_SHOWN],
    }
    return Covariates(joined.names, values, report, joined.unmatched)


def _number(cell: str) -> float:
    """Read a number; what is none becomes infinite, to be found later."""
    try:
        number = parse_decimal(TRUTH.get(cell.casefold(), cell))
    except ValueError:
        return math.inf
    return number if abs(number) <= _LARGEST else math.inf


def _check_joined(people: People, joined: PersonValues) -> None:
    """Refuse names that mean two columns, and tables of other people."""
    if double := [name for name in joined.names if joined.names.count(name) > 1]:
        raise LabelError(
            f"{joined.what}: {len(double)} columns are named {double[0]!r}; a covariate is "
            "found by its name: rename all but one"
        )
    if len(people) and not joined.cells:
        shown = ", ".join(joined.unmatched[:_SHOWN]) or "nothing"
        raise LabelError(
            f"{joined.what}: no row is of an individual of {people.path}; it has {shown}, "
            f"expected {', '.join(people.names[:_SHOWN])}"
        )


def _check_numbers(
    people: People, joined: PersonValues, values: NDArray[np.float64]
) -> None:
    """Refuse a column of names: what they mean as numbers nobody can guess."""
    wrong = np.argwhere(np.isinf(values))
    if not wrong.size:
        return
    person, column = int(wrong[0, 0]), int(wrong[0, 1])
    cell, name = joined.cells[person][column], joined.names[column]
    raise LabelError(
        f"{joined.what}: covariate {name!r} of {people.names[person]!r} is {cell!r}, "
        f"expected a number of at most {_LARGEST:.1e} with a decimal point; write "
        "categories as columns of 0 and 1, choose columns with covariate_columns "
        "(--covariate-column), or name the marks of missing values with missing= "
        "(--missing)"
    )
