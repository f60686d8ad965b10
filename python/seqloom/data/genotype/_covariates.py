"""Covariates of samples: age, sex, principal components."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from seqloom._text import parse_decimal
from seqloom.data.genotype._joined import join_people
from seqloom.data.label._cells import TRUTH
from seqloom.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.data.genotype._encoder import GenotypeEncoder
    from seqloom.data.genotype._joined import PersonValues
    from seqloom.data.genotype._people import Columns, People
    from seqloom.data.genotype._phenotype import Missing

_SHOWN = 3
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Covariates:
    """Covariates of all individuals of the .fam."""

    names: tuple[str, ...]
    values: NDArray[np.float64]  # a row per individual; NaN if missing
    report: dict[str, Any] = field(default_factory=dict[str, Any])
    unmatched: tuple[str, ...] = ()  # ids of tables without an individual

    def of(self, rows: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.float64]:
        """Takes those of some individuals, by name."""
        return self.values[rows][:, [self.names.index(name) for name in names]]

    def check_has(self, encoder: GenotypeEncoder, path: str) -> None:
        """Refuses an encoder that reads covariates which are not there."""
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
    """Reads the covariates of individuals: all, or those that a model needs."""
    joined = join_people(covariates, people, columns)
    unused = [name for name in joined.names if needed is not None and name not in needed]
    if unused:
        joined = _without(joined, unused)
    _check_joined(people, joined)
    values = np.full((len(people), len(joined.names)), np.nan)
    for person, row in joined.cells.items():
        values[person] = [math.nan if marks.has(cell) else _number(cell) for cell in row]
    _check_numbers(people, joined, values)
    lacking: list[int] = kept[np.isnan(values[kept]).any(axis=1)].tolist()
    if lacking and not fills:
        _refuse_lacking(people, joined, lacking)
    names = [people.names[at] for at in lacking[:_SHOWN]]
    report = {
        "missing_covariates": len(lacking),
        "missing_covariates_examples": names,
        "unused_covariates": len(unused),
        "unused_covariates_examples": unused[:_SHOWN],
    }
    return Covariates(joined.names, values, report, joined.unmatched)


def _without(joined: PersonValues, unused: Sequence[str]) -> PersonValues:
    """Leaves columns out."""
    used = [at for at, name in enumerate(joined.names) if name not in unused]
    return replace(
        joined,
        names=tuple(joined.names[at] for at in used),
        cells={
            person: tuple(row[at] for at in used) for person, row in joined.cells.items()
        },
    )


def _number(cell: str) -> float:
    """Reads a number; what is none becomes infinite, to be found later."""
    try:
        number = parse_decimal(TRUTH.get(cell.casefold(), cell))
    except ValueError:
        return math.inf
    return number if abs(number) <= _LARGEST else math.inf


def _check_joined(people: People, joined: PersonValues) -> None:
    """Refuses names that mean two columns, and tables of other people."""
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
    """Refuses a column of names: what they mean as numbers nobody can guess."""
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


def _refuse_lacking(people: People, joined: PersonValues, lacking: list[int]) -> NoReturn:
    """Says which samples lack a covariate."""
    names = ", ".join(people.names[at] for at in lacking[:_SHOWN])
    more = ", ..." if len(lacking) > _SHOWN else ""
    raise LabelError(
        f"{joined.what}: {len(lacking):,} samples lack a covariate: {names}{more}; fill in "
        'the mean with missing_covariates="mean" (--missing-covariates mean)'
    )
