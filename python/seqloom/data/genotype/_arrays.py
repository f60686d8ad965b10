"""What an encoder was fitted on, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data.genotype._match import Variants

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_TEXTS = ("id", "counted", "other")
_NUMBERS = ("mean", "scale", "is_constant", "covariate_mean", "covariate_scale")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """The statistics of some samples."""

    variants: Variants
    mean: NDArray[np.float64]  # mean copies of each variant; 0 if all are missing
    scale: NDArray[np.float64]  # factor of the difference from the mean
    is_constant: NDArray[np.bool_]
    covariate_names: tuple[str, ...]
    covariate_mean: NDArray[np.float64]
    covariate_scale: NDArray[np.float64]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Lists all as arrays of numbers; strings as UTF-8 with the offset of each."""
        numbers = {name: np.asarray(getattr(self, name)) for name in _NUMBERS}
        numbers["is_constant"] = numbers["is_constant"].astype(np.uint8)
        columns = (self.variants.ids, self.variants.counted, self.variants.other)
        for name, column in zip(_TEXTS, columns, strict=True):
            numbers |= _pack_texts(name, column.tolist())
        return numbers | _pack_texts("covariate", self.covariate_names)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Fitted:
        """Takes back what ``to_arrays`` gave."""
        texts = [np.array(_texts(name, arrays), np.str_) for name in _TEXTS]
        numbers = {name: arrays[name] for name in _NUMBERS}
        numbers["is_constant"] = numbers["is_constant"].astype(np.bool_)
        names = tuple(_texts("covariate", arrays))
        return cls(variants=Variants(*texts), covariate_names=names, **numbers)


def _pack_texts(name: str, texts: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Lays texts end to end."""
    parts = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return {
        f"{name}_text": np.frombuffer(b"".join(parts), np.uint8),
        f"{name}_ends": ends,
    }


def _texts(name: str, arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    """Cuts texts apart again."""
    text, ends = arrays[f"{name}_text"].tobytes(), arrays[f"{name}_ends"].tolist()
    return [text[start:end].decode() for start, end in pairwise(ends)]
