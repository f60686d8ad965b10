"""Names, types and default values of the twelve properties of individuals and variants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, IdError, MemoryLimitError, NumberRangeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Suffix: TypeAlias = Literal["fam", "bim"]
Column: TypeAlias = "NDArray[Any] | None"

_MAX_COUNT = np.iinfo(np.intp).max  # maximum size of an array axis
COUNT_NAMES: dict[Suffix, str] = {"fam": "iid_count", "bim": "sid_count"}


@dataclass(frozen=True, slots=True)
class Property:
    """The file, the type and the missing value of a property."""

    suffix: Suffix
    kind: type[np.generic] = np.str_
    missing: str | int | None = None


# Properties in column order. Ids cannot be missing; the default ids are iid1, iid2 and
# so on.
PROPERTIES = {
    "fid": Property("fam", missing="0"),
    "iid": Property("fam"),
    "father": Property("fam", missing="0"),
    "mother": Property("fam", missing="0"),
    "sex": Property("fam", np.int32, missing=0),
    "pheno": Property("fam", missing="0"),
    "chromosome": Property("bim", missing="0"),
    "sid": Property("bim"),
    "cm_position": Property("bim", np.float32, missing=0),
    "bp_position": Property("bim", np.int32, missing=0),
    "allele_1": Property("bim", missing="A1"),
    "allele_2": Property("bim", missing="A2"),
}


def property_names(suffix: Suffix) -> list[str]:
    """List the properties in one file, in column order."""
    return [name for name, prop in PROPERTIES.items() if prop.suffix == suffix]


def find_property(name: str) -> Property:
    """Return a property by its name."""
    try:
        return PROPERTIES[name]
    except KeyError:
        names = ", ".join(PROPERTIES)
        raise IdError(
            f"properties key {name!r} not known; expected one of {names}"
        ) from None


def as_count(suffix: Suffix, count: Any) -> int:
    """Convert a number of individuals or variants to int."""
    return as_integer(COUNT_NAMES[suffix], count, limit=_MAX_COUNT + 1)


def override_columns(
    properties: Mapping[str, ArrayLike | None], counts: dict[Suffix, int | None]
) -> dict[str, Column]:
    """Convert the caller's values to columns; raise if their lengths differ."""
    _check_mapping(properties)
    for name in properties:
        find_property(name)
    columns = {
        name: to_bed_column(name, properties[name])
        for name in PROPERTIES
        if name in properties
    }
    for name, column in columns.items():
        suffix = PROPERTIES[name].suffix
        count = counts[suffix]
        if column is not None and count is None:
            counts[suffix] = len(column)
        elif column is not None and count != len(column):
            raise ArgumentError(
                f"The length of override {name}, {len(column)}, should not be different "
                f"from the current {COUNT_NAMES[suffix]}, {count}"
            )
    return columns


def _check_mapping(properties: object) -> None:
    """Raise if the properties are not a mapping."""
    if not isinstance(properties, Mapping):
        raise ArgumentError(
            "properties must be a dict from property to values, such as "
            f'{{"iid": ["a", "b"]}}; got {type(properties).__name__}'
        )


def complete_columns(
    properties: Mapping[str, ArrayLike | None], counts: dict[Suffix, int]
) -> dict[str, NDArray[Any]]:
    """Return all twelve columns; replace missing columns and None by default values."""
    columns = override_columns(properties, dict(counts))
    return {
        name: _default_column(name, counts[prop.suffix])
        if (column := columns.get(name)) is None
        else column
        for name, prop in PROPERTIES.items()
    }


def to_bed_column(name: str, values: ArrayLike | None) -> Column:
    """Convert values to the column of a property; NaN and None are missing values."""
    if values is None:
        return None
    array = np.asarray(values)
    kind = PROPERTIES[name].kind
    if array.ndim != 1:
        raise ArgumentError(
            f"{name} should be one dimensional, got {array.ndim} dimensions"
        )
    if not len(array):
        return np.empty(0, kind)
    absent = _is_missing(array)
    if absent.any():
        array = _fill_missing(name, array, absent)
    if kind is np.str_:
        return array if array.dtype.kind in "UT" else array.astype(np.str_)
    return _to_numeric_column(name, array)


def _is_missing(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of the values that are NaN or None."""
    if array.dtype.kind == "O":
        # NaN is the only value that differs from itself.
        return np.array([value is None or bool(value != value) for value in array])  # noqa: PLR0124
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(len(array), bool)


def _fill_missing(
    name: str, array: NDArray[Any], absent: NDArray[np.bool_]
) -> NDArray[Any]:
    """Replace NaN and None by the missing value of the property."""
    missing = PROPERTIES[name].missing
    if missing is None:
        i = int(absent.argmax())
        raise ArgumentError(
            f"properties[{name!r}][{i}] is {array[i]}, but an id cannot be missing"
        )
    if isinstance(missing, str):
        array = array.astype(np.str_).astype(object)
    return np.where(absent, missing, array)


def _to_numeric_column(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Convert values to numbers; raise if the conversion would change a value."""
    kind = PROPERTIES[name].kind
    try:
        numbers = array.astype(np.float64) if array.dtype.kind in "OUT" else array
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"properties[{name!r}] must contain numbers: {error}"
        ) from error
    if kind is not np.int32:
        return numbers.astype(kind, copy=False)
    limits = np.iinfo(np.int32)
    wide = (numbers < limits.min) | (numbers > limits.max)
    if wide.any():
        value = numbers[wide][0]
        raise NumberRangeError(
            f"properties[{name!r}] has {value}, which does not fit 32 bits; expected at "
            f"most {limits.max}"
        )
    broken = numbers != np.trunc(numbers)
    if broken.any():
        raise ArgumentError(
            f"properties[{name!r}] must contain integers, got {numbers[broken][0]}"
        )
    return numbers.astype(kind, copy=False)


def _default_column(name: str, count: int) -> NDArray[Any]:
    """Return the default column of a property."""
    prop = PROPERTIES[name]
    if prop.missing is None:
        return np.array([f"{name}{number}" for number in range(1, count + 1)], np.str_)
    kind = (
        np.dtype(f"<U{len(prop.missing)}") if isinstance(prop.missing, str) else prop.kind
    )
    try:
        return np.full(count, prop.missing, kind)
    except (MemoryError, ValueError) as error:
        raise MemoryLimitError(
            f"{COUNT_NAMES[prop.suffix]}: no memory for the tables of {count:,}"
        ) from error
