"""Reads labels and covariates of samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._text import MAX_EXAMPLES, join_first_names, parse_decimal
from seqloom._warning import warn_user
from seqloom.data.genotype._people import Columns, PersonValues, join_people
from seqloom.data.label._labels import BOOLEANS, LabelColumn
from seqloom.data.label._numbers import number_labels
from seqloom.data.label._source import LabelSource, count_ids, join_labels_by_key
from seqloom.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from seqloom.data.genotype._encoder import GenotypeEncoder
    from seqloom.data.genotype._people import People
    from seqloom.data.label._labels import Cells, Labels


CASE_CONTROL_CLASSES = ("control", "case")
# Meaning of each phenotype code. In the PLINK coding (1 for control, 2 for case), 0
# means missing.
_CODINGS = {"01": {"0": "control", "1": "case"}, "12": {"1": "control", "2": "case"}}
_MISSING_WORDS = frozenset(
    {"na", "n/a", "#n/a", "<na>", "nan", "null", "none", ".", "?", "-"}
)
MISSING_CELLS = ("NA", "-9", "nan", "")
_MISSING_ROW = ("",)
_MAX_FLOAT32 = float(np.finfo(np.float32).max)


def label_samples(people: People, labels: Labels) -> LabelColumn:
    """Return the labels of samples as numbers."""
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
    missing = MissingCodes.of(labels.missing or ())
    rows = {at: row for at, row in joined.cells.items() if not any(map(missing.has, row))}
    # Without phenotypes, PLINK writes 0 or -9 for all samples.
    if is_own and len(set(rows.values())) <= 1:
        return LabelColumn()
    rows = _replace_codes(joined, rows, labels)
    return _number_labels(people, joined, rows, labels=labels)


def _read_phenotype(people: People, labels: Labels) -> PersonValues:
    """Read the chosen columns of labels; raise if the user must choose a column."""
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
    """Replace the codes of a phenotype by "control" and "case"."""
    if len(joined.names) > 1 or labels.task not in {"auto", "classify"}:
        return rows
    what = f"{joined.what}, {' '.join(joined.names)}"
    cells = [cell for row in rows.values() for cell in row]
    states = decode_states(cells, labels.coding, what=what)
    if states is None:
        return rows
    is_guessed = labels.source is None and labels.coding == "auto"
    if is_guessed and (count := sum(map(_ZERO_CODE.has, cells))):
        warn_user(
            f"{what}: 0 ({count:,} samples) and 1 (all others) are read as control "
            "and case, but PLINK reads 0 as missing and 1 as control; confirm with "
            'Labels(..., coding="01") (--coding 01), or read as PLINK does with '
            'Labels(..., coding="12") (--coding 12)'
        )
    replaced: dict[int, Cells] = {
        at: tuple(states[cell] for cell in row) for at, row in rows.items()
    }
    return {at: row for at, row in replaced.items() if row != _MISSING_ROW}


def _warn_of_missing_codes(cells: dict[str, Cells], what: str, *, is_guessed: bool) -> None:
    flat = [cell for row in cells.values() for cell in row]
    marks = find_missing_marks(flat, with_codes=is_guessed)
    if marks:
        shown = ", ".join(map(repr, marks))
        warn_user(
            f"{what}: {shown} looks like a missing value and is read as a label; to leave "
            f"its samples out, pass Labels(..., missing=[..., {shown}]) (--missing)"
        )


def _number_labels(
    people: People, joined: PersonValues, rows: dict[int, Cells], *, labels: Labels
) -> LabelColumn:
    """Return labels as numbers, with counts of samples without a label."""
    names = people.names
    all_labels = LabelSource(
        joined.what, joined.names, {names[at]: row for at, row in joined.cells.items()}
    )
    report = join_labels_by_key(
        all_labels,
        names,
        names,
        noun="sample",
        skip=labels.skips and bool(rows),
        missing_error=partial(_unlabelled_error, people, joined),
        unmatched=joined.unmatched,
    ).report
    empty = [at for at in joined.cells if at not in rows]
    if not rows:
        raise LabelError(f"{joined.what}: {', '.join(joined.names)} is missing for all")
    labelled = sorted(rows)
    ids = [names[at] for at in labelled]
    cells = {names[at]: row for at, row in rows.items()}
    source = LabelSource(joined.what, joined.names, cells, joined.tables)
    task, classes = _choose_task(cells, labels)
    report |= count_ids("missing_labels", [names[at] for at in sorted(empty)])
    column = number_labels(
        source,
        ids,
        task=task,
        classes=classes,
        joined=LabelColumn(
            rows=np.array(labelled), unmatched=joined.unmatched, report=report
        ),
    )
    _warn_of_missing_codes(cells, joined.what, is_guessed=labels.task == "auto")
    return column


def _choose_task(cells: dict[str, Cells], labels: Labels) -> tuple[str, Cells | None]:
    """Return task and classes; numbers that are not case-control codes are values."""
    flat = {cell for row in cells.values() for cell in row}
    classes = None if labels.classes is None else tuple(labels.classes)
    if flat <= set(CASE_CONTROL_CLASSES) and labels.task in {"auto", "classify"}:
        return "classify", CASE_CONTROL_CLASSES if classes is None else classes
    is_values = labels.task == "auto" and len(flat) > 1 and are_numbers(flat)
    return ("regress" if is_values else labels.task), classes


def _unlabelled_error(
    people: People, joined: PersonValues, unlabelled: list[int]
) -> LabelError:
    """Return the error for samples that are not in the table of labels."""
    names = join_first_names([people.names[at] for at in unlabelled])
    remedy = '; pass Labels(..., unlabelled="skip") (--unlabelled skip) to skip samples'
    if len(unlabelled) == len(people):
        found = ", ".join(map(repr, joined.unmatched[:MAX_EXAMPLES]))
        remedy = f"; its ids are {found}, ..." if found else ""
    return LabelError(
        f"{people.path}: {len(unlabelled):,} of {len(people):,} samples have no row in "
        f"{joined.what}: {names}{remedy}"
    )


@dataclass(frozen=True, slots=True)
class MissingCodes:
    """The strings that mark missing values."""

    marks: frozenset[str]  # lower case, whole numbers as integers

    @classmethod
    def of(cls, marks: Iterable[str]) -> MissingCodes:
        """Normalise the strings of the argument ``missing``."""
        return cls(frozenset(["", *(_normalise_cell(str(mark)) for mark in marks)]))

    def has(self, cell: str) -> bool:
        """Return whether a cell is missing."""
        return _normalise_cell(cell) in self.marks


def _normalise_cell(cell: str) -> str:
    """Return a cell stripped and in lower case; whole numbers become integers."""
    text = cell.strip().casefold()
    text = BOOLEANS.get(text, text)
    try:
        number = parse_decimal(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else text


_ZERO_CODE = MissingCodes(frozenset({"0"}))


def decode_states(cells: Iterable[str], coding: str, *, what: str) -> dict[str, str] | None:
    """Return control, case or missing for each cell; None if cells are not codes."""
    normalised = {cell: _normalise_cell(cell) for cell in dict.fromkeys(cells)}
    found = set(normalised.values())
    if coding == "auto":
        if not found <= {"0", "1", "2"} or len(found) < 2:  # noqa: PLR2004 - one is ambiguous
            return None
        if {"0", "2"} <= found:
            raise LabelError(
                f"{what}: the values {', '.join(sorted(found))} may be controls (1), cases "
                '(2) and missing (0), or three values: pass Labels(..., coding="12") '
                '(--coding 12), or task="regress" (--task regress)'
            )
        coding = "12" if "2" in found else "01"
    meanings = _CODINGS[coding] | ({"0": ""} if coding == "12" else {})
    if strange := [cell for cell, text in normalised.items() if text not in meanings]:
        shown = ", ".join(map(repr, strange[:MAX_EXAMPLES]))
        raise LabelError(f'{what}: coding="{coding}" has no meaning for {shown}')
    return {cell: meanings[text] for cell, text in normalised.items()}


def find_missing_marks(cells: Iterable[str], *, with_codes: bool) -> list[str]:
    """Return the cells that look like missing values, such as NA or -9."""
    cell_of = {_normalise_cell(cell): cell for cell in cells}
    marks = [text for text in cell_of if text in _MISSING_WORDS]
    others = [text for text in cell_of if text not in {"0", "1", "2"}]
    has_states = cell_of.keys() - others in ({"0", "1"}, {"1", "2"})
    if with_codes and has_states and len(others) == 1 and are_numbers(others):
        marks += [text for text in others if parse_decimal(text) < 0]
    return [cell_of[text] for text in marks]


def are_numbers(cells: Iterable[str]) -> bool:
    """Return whether all cells are numbers."""
    try:
        return not any(math.isnan(parse_decimal(cell)) for cell in cells)
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Covariates:
    """Covariates of all individuals of the .fam."""

    names: tuple[str, ...]
    values: NDArray[np.float64]  # one row per individual; NaN if missing
    report: dict[str, Any] = field(default_factory=dict[str, Any])
    unmatched: tuple[str, ...] = ()  # ids that are not in the .fam

    def of(self, rows: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.float64]:
        """Return the named covariates of some individuals."""
        return self.values[rows][:, [self.names.index(name) for name in names]]

    def check_has(self, encoder: GenotypeEncoder, path: str) -> None:
        """Raise if the encoder was fitted on covariates that are missing here."""
        wanted = encoder.covariate_names if encoder.is_fitted else ()
        if lacking := [name for name in wanted if name not in self.names]:
            raise LabelError(
                f"{path}: the model reads the covariates {', '.join(wanted)}; pass "
                f"covariates= with {', '.join(lacking)} (--covariates)"
            )


def read_covariates(
    people: People,
    selected: NDArray[np.int64],
    covariates: Any,
    *,
    columns: Columns,
    marks: MissingCodes,
    fills: bool,
    needed: Sequence[str] | None = None,
) -> Covariates:
    """Read all covariates of individuals, or only the needed ones."""
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
        values[person] = [math.nan if marks.has(cell) else _to_number(cell) for cell in row]
    _check_numbers(people, joined, values)
    lacking: list[int] = selected[np.isnan(values[selected]).any(axis=1)].tolist()
    if lacking and not fills:
        shown = join_first_names([people.names[at] for at in lacking])
        raise LabelError(
            f"{joined.what}: {len(lacking):,} samples lack a covariate: {shown}; "
            'fill in the mean with missing_covariates="mean" (--missing-covariates mean)'
        )
    names = [people.names[at] for at in lacking[:MAX_EXAMPLES]]
    report = {
        "missing_covariates": len(lacking),
        "missing_covariates_examples": names,
        "unused_covariates": len(unused),
        "unused_covariates_examples": unused[:MAX_EXAMPLES],
    }
    return Covariates(joined.names, values, report, joined.unmatched)


def _to_number(cell: str) -> float:
    """Return a cell as a number; infinity for other text, which is reported later."""
    try:
        number = parse_decimal(BOOLEANS.get(cell.casefold(), cell))
    except ValueError:
        return math.inf
    return number if abs(number) <= _MAX_FLOAT32 else math.inf


def _check_joined(people: People, joined: PersonValues) -> None:
    """Raise for duplicate column names, or if no row belongs to an individual."""
    if double := [name for name in joined.names if joined.names.count(name) > 1]:
        raise LabelError(
            f"{joined.what}: {len(double)} columns are named {double[0]!r}; a covariate is "
            "found by its name: rename all but one"
        )
    if len(people) and not joined.cells:
        shown = ", ".join(joined.unmatched[:MAX_EXAMPLES]) or "nothing"
        raise LabelError(
            f"{joined.what}: no row is of an individual of {people.path}; found {shown}, "
            f"expected {', '.join(people.names[:MAX_EXAMPLES])}"
        )


def _check_numbers(
    people: People, joined: PersonValues, values: NDArray[np.float64]
) -> None:
    wrong = np.argwhere(np.isinf(values))
    if not wrong.size:
        return
    person, column = int(wrong[0, 0]), int(wrong[0, 1])
    cell, name = joined.cells[person][column], joined.names[column]
    raise LabelError(
        f"{joined.what}: covariate {name!r} of {people.names[person]!r} is {cell!r}, "
        f"expected a number of at most {_MAX_FLOAT32:.1e} with a decimal point; write "
        "categories as columns of 0 and 1, choose columns with covariate_columns "
        "(--covariate-column), or pass the marks of missing values as missing= (--missing)"
    )
