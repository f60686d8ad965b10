"""The content of a picture of two alleles."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from seqloom.errors import ShapeError


@dataclass(frozen=True, slots=True, kw_only=True)
class AllelePair:
    """The aligned sequences of two alleles, with a value for each base.

    Args:
        title: The title above the picture.
        captions: A line of text above the values of each allele.
        letters: The sequences of the reference and the alternative allele, of one length;
            ``-`` is a gap.
        values: The values of each allele, one for each column.
        positions: The position of each column on the axis; None for inserted bases.
        axis: The label of the horizontal axis.
        unit: The label of the vertical axes.
        has_bars: If True, values are drawn as bars, otherwise as the heights of bases.

    Raises:
        ShapeError: Sequences, values and positions differ in length.

    Examples:
        >>> pair = AllelePair(
        ...     title="a",
        ...     captions=("REF", "ALT"),
        ...     letters=("ACG", "A-G"),
        ...     values=([0, 1, 0], [0, 0, 0]),
        ...     positions=(7, 8, 9),
        ... )
        >>> pair.changed_columns
        [1]
    """

    title: str
    captions: tuple[str, str]
    letters: tuple[str, str]
    values: tuple[ArrayLike, ArrayLike]
    positions: Sequence[int | None]
    axis: str = "position"
    unit: str = ""
    has_bars: bool = False

    def __post_init__(self) -> None:
        sizes = {len(self.positions), *map(len, self.letters), *map(np.size, self.values)}
        if len(sizes) > 1:
            raise ShapeError(
                f"alleles {self.title!r}: letters, values and positions must have one "
                f"length, got {sorted(sizes)}"
            )

    @property
    def changed_columns(self) -> list[int]:
        """The columns in which the sequences differ."""
        pairs = zip(*self.letters, strict=True)
        return [column for column, (one, other) in enumerate(pairs) if one != other]
