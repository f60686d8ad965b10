"""The twelve properties of individuals and variants: names, types and values."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from seqloom.errors import ArgumentError, IdError, NumberRangeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Suffix: TypeAlias = Literal["fam", "bim"]
Column: TypeAlias = "NDArray[Any] | None"

# What an array can have along an axis.
_MOST_LINES = np.iinfo(np.intp).max
COUNT_NAMES: dict[Suffix, str] = {"fam": "iid_count", "bim": "sid_count"}


@dataclass(frozen=True, slots=True)
class Property:
    """Says where a property stands in the files, and what stands in for a missing value."""

    suffix: Suffix
    kind: type[np.generic] = np.str_
    missing: str | int | None = None


# In the order of the files' columns. An id has no missing value: iid1, iid2 ... fill in.
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


def names_of(suffix: Suffix) -> list[str]:
    """Lists the properties that one file holds, in the order of its columns."""
    return [name for name, each in PROPERTIES.items() if each.suffix == suffix]


def find_property(name: str) -> Property:
    """Finds a property by its name."""
    try:
        return PROPERTIES[name]
    except KeyError:
        names = ", ".join(PROPERTIES)
        raise IdError(
            f"properties key {name!r} not known; expected one of {names}"
        ) from None


def check_count(suffix: Suffix, count: Any) -> int:
    """Takes how many individuals or variants there are from somebody who says so."""
    try:
        number = operator.index(count)
    except TypeError:
        number = -1
    if not 0 <= number <= _MOST_LINES:
        raise ArgumentError(
            f"{COUNT_NAMES[suffix]} must be a whole number from 0 to {_MOST_LINES}, "
            f"got {count!r}"
        )
    return number


def override(
    properties: Mapping[str, ArrayLike | None], counts: dict[Suffix, int | None]
) -> dict[str, Column]:
    """Makes columns of given values; the first of a file says how long all of them are."""
    _check_mapping(properties)
    for name in properties:
        find_property(name)
    columns = {
        name: to_column(name, properties[name]) for name in PROPERTIES if name in properties
    }
    for name, column in columns.items():
        if column is not None:
            _check_count(name, column, counts)
    return columns


def _check_mapping(properties: object) -> None:
    """Refuses names without values."""
    if not isinstance(properties, Mapping):
        raise ArgumentError(
            "properties must be a dict from property to values, such as "
            f'{{"iid": ["a", "b"]}}; got {type(properties).__name__}'
        )


def complete(
    properties: Mapping[str, ArrayLike | None], counts: dict[Suffix, int]
) -> dict[str, NDArray[Any]]:
    """Makes all twelve columns; what is not given, or is None, is filled in."""
    given = override(properties, dict(counts))
    return {
        name: _filled(name, counts[each.suffix])
        if (column := given.get(name)) is None
        else column
        for name, each in PROPERTIES.items()
    }


def to_column(name: str, values: ArrayLike | None) -> Column:
    """Makes one property's column of given values; NaN and None are missing values."""
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
    absent = _absent(array)
    if absent.any():
        array = _with_missing(name, array, absent)
    return _to_text(array) if kind is np.str_ else _to_numbers(name, array)


def _absent(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Says which values are NaN or None."""
    if array.dtype.kind == "O":
        return np.array([value is None or _is_nan(value) for value in array])
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(len(array), bool)


def _is_nan(value: Any) -> bool:
    """Says whether a value is the number that is none: it differs from itself."""
    return bool(value != value)  # noqa: PLR0124 - so NaN is told from all else


def _with_missing(
    name: str, array: NDArray[Any], absent: NDArray[np.bool_]
) -> NDArray[Any]:
    """Puts the missing value where there is none."""
    missing = PROPERTIES[name].missing
    if missing is None:
        place = int(absent.argmax())
        raise ArgumentError(f"{name} {place} is {array[place]}; an id cannot be missing")
    if isinstance(missing, str):
        array = array.astype(np.str_).astype(object)
    return np.where(absent, missing, array)


def _to_text(array: NDArray[Any]) -> NDArray[Any]:
    """Makes texts of values; texts stay as they are."""
    if array.dtype.kind in "UT":
        return array
    return array.astype(np.str_)


def _to_numbers(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Makes numbers of values; one that would not be the same number is refused."""
    kind = PROPERTIES[name].kind
    try:
        numbers = array.astype(np.float64) if array.dtype.kind in "OUT" else array
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} holds what is no number: {error}") from error
    if kind is np.int32:
        _check_whole(name, numbers)
    return numbers.astype(kind, copy=False)


def _check_whole(name: str, numbers: NDArray[Any]) -> None:
    """Refuses fractions, and what 32 bits do not hold."""
    limits = np.iinfo(np.int32)
    wide = (numbers < limits.min) | (numbers > limits.max)
    if wide.any():
        value = numbers[wide][0]
        raise NumberRangeError(
            f"{name} {value} does not fit 32 bits; expected at most {limits.max}"
        )
    broken = numbers != np.trunc(numbers)
    if broken.any():
        raise ArgumentError(f"{name} must be whole numbers, got {numbers[broken][0]}")


def _check_count(name: str, column: NDArray[Any], counts: dict[Suffix, int | None]) -> None:
    """Compares a column's length with what is known, or takes it as the count."""
    suffix = PROPERTIES[name].suffix
    count = counts[suffix]
    if count is None:
        counts[suffix] = len(column)
    elif count != len(column):
        raise ArgumentError(
            f"The length of override {name}, {len(column)}, should not be different from "
            f"the current {COUNT_NAMES[suffix]}, {count}"
        )


def _filled(name: str, count: int) -> NDArray[Any]:
    """Makes the column of a property that nobody gave."""
    each = PROPERTIES[name]
    if each.missing is None:
        return np.array([f"{name}{number}" for number in range(1, count + 1)], np.str_)
    kind = (
        np.dtype(f"<U{len(each.missing)}") if isinstance(each.missing, str) else each.kind
    )
    return np.full(count, each.missing, kind)
