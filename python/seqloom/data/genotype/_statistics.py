"""Means and standard deviations of genotypes, from exact counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Texts = NDArray[np.str_]

    Floats = NDArray[np.float64]
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_STRING_COLUMNS = ("id", "counted", "other")
_NUMBER_COLUMNS = ("mean", "scale", "is_constant", "covariate_mean", "covariate_scale")

_PLOIDY = 2


def mean_and_scale(
    counts: NDArray[np.int64],
    total: int,
    standardize: str | tuple[str, float, float] | None,
    *,
    count_a1: bool,
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return mean, scale and a mask of constant variants from genotype counts."""
    missing, single, double = counts.T
    known = total - missing
    if count_a1:
        double = known - single - double
    sums, squares = single + _PLOIDY * double, single + _PLOIDY**2 * double
    # The variance multiplied by n², an exact integer.
    spread = known * squares - sums**2
    mean = sums / np.maximum(known, 1)
    is_constant = spread == 0
    scale = _variant_scale(mean, np.sqrt(spread) / np.maximum(known, 1), standardize)
    return mean, np.where(is_constant, 0.0, scale), is_constant


def _variant_scale(
    mean: Floats, deviation: Floats, standardize: str | tuple[str, float, float] | None
) -> Floats:
    """Return the scale of each variant; the scale of constant variants is arbitrary."""
    if standardize is None:
        return np.ones_like(mean)
    if standardize == "unit":
        return 1 / np.where(deviation == 0, 1.0, deviation)
    frequency = mean / _PLOIDY
    rarer = np.minimum(frequency, 1 - frequency)
    return _beta_density(np.where(deviation == 0, 0.5, rarer), *standardize[1:])  # pyright: ignore[reportArgumentType] - checked before


def _beta_density(x: Floats, a: float, b: float) -> Floats:
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return np.exp(constant + (a - 1) * np.log(x) + (b - 1) * np.log1p(-x))


def check_standardize(standardize: object) -> str | tuple[str, float, float] | None:
    """Return a valid ``standardize``; raise for an invalid one."""
    if standardize is None or (isinstance(standardize, str) and standardize == "unit"):
        return standardize
    if isinstance(standardize, (tuple, list)) and standardize:
        name, *numbers = standardize  # pyright: ignore[reportUnknownVariableType]
        if name == "beta" and len(numbers) == _PLOIDY and all(n > 0 for n in numbers):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            return ("beta", float(numbers[0]), float(numbers[1]))  # pyright: ignore[reportUnknownArgumentType]
    raise ArgumentError(
        f'standardize must be "unit", ("beta", a, b) with a and b above 0, or None; '
        f"got {standardize!r}"
    )


def covariate_statistics(values: Floats) -> tuple[Floats, Floats]:
    """Return mean and scale of each covariate; a constant covariate has scale 0."""
    known = np.isfinite(values)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0).sum(axis=0) / count
    differences = np.where(known, values - mean, 0)
    deviation = np.sqrt((differences**2).sum(axis=0) / count)
    is_same = np.ptp(np.where(known, values, mean), axis=0) == 0 if len(values) else True
    return mean, np.where(is_same, 0.0, 1 / np.where(deviation == 0, 1.0, deviation))


@dataclass(frozen=True, slots=True, eq=False)
class Variants:
    """Ids and alleles of variants."""

    ids: Texts
    counted: Texts  # allele that dosages count
    other: Texts

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, rows: NDArray[np.int64]) -> Variants:
        return Variants(self.ids[rows], self.counted[rows], self.other[rows])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedStats:
    """Statistics of variants and covariates over some samples."""

    variants: Variants
    mean: NDArray[np.float64]  # Mean dosage of each variant; 0 if all are missing.
    scale: NDArray[np.float64]  # Factor of (dosage - mean).
    is_constant: NDArray[np.bool_]
    covariate_names: tuple[str, ...]
    covariate_mean: NDArray[np.float64]
    covariate_scale: NDArray[np.float64]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all fields as numeric arrays; strings become UTF-8 bytes and offsets."""
        numbers = {name: np.asarray(getattr(self, name)) for name in _NUMBER_COLUMNS}
        numbers["is_constant"] = numbers["is_constant"].astype(np.uint8)
        columns = (self.variants.ids, self.variants.counted, self.variants.other)
        for name, column in zip(_STRING_COLUMNS, columns, strict=True):
            numbers |= _pack_texts(name, column.tolist())
        return numbers | _pack_texts("covariate", self.covariate_names)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> FittedStats:
        """Restore the statistics from the arrays that ``to_arrays`` returned."""
        texts = [np.array(_unpack_texts(name, arrays), np.str_) for name in _STRING_COLUMNS]
        numbers = {name: arrays[name] for name in _NUMBER_COLUMNS}
        numbers["is_constant"] = numbers["is_constant"].astype(np.bool_)
        names = tuple(_unpack_texts("covariate", arrays))
        return cls(variants=Variants(*texts), covariate_names=names, **numbers)


def _pack_texts(name: str, texts: Sequence[str]) -> dict[str, NDArray[Any]]:
    parts = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return {f"{name}_text": np.frombuffer(b"".join(parts), np.uint8), f"{name}_ends": ends}


def _unpack_texts(name: str, arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    text, ends = arrays[f"{name}_text"].tobytes(), arrays[f"{name}_ends"].tolist()
    return [text[start:end].decode() for start, end in pairwise(ends)]
