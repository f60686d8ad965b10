"""The inputs of a graph: a shape with sizes by name, and an element type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqloom._arguments import quote
from seqloom.errors import ArgumentError
from seqloom.export._dtypes import check_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Input:
    """An array that a network reads.

    Args:
        shape: The length of each axis: a number, or ``"batch"`` or ``"length"`` where it
            differs from batch to batch.
        dtype: The element type.

    Raises:
        ArgumentError: A length is neither, or there is no such type in an exported model.

    Examples:
        >>> Input(("batch", "length"), "int32").shape
        ('batch', 'length')
    """

    shape: tuple[int | str, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        check_dtype(self.dtype, "an input")
        for size in self.shape:
            if not (isinstance(size, int) and size > 0) and size not in NAMES:
                raise ArgumentError(
                    "shape of an Input must hold numbers from 1, and the names "
                    f"{', '.join(map(repr, NAMES))}, got {quote(size)}"
                )

    def at(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Gives the shape at some sizes.

        Args:
            sizes: The size of each name.

        Returns:
            The lengths of the axes.

        Examples:
            >>> Input(("batch", 4, "length")).at({"batch": 2, "length": 9})
            (2, 4, 9)
        """
        return tuple(sizes[it] if isinstance(it, str) else it for it in self.shape)


# Those of a padded graph, and those of a packed one, which users do not write.
NAMES = ("batch", "length", "total", "sequences", "starts")
