"""Sequences of unequal length in one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data._collate import default_collate
from seqloom.data._sequence_dataset import mask_of
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PadCollator:
    """Puts items of unequal length together, and marks what is padding.

    The batch has ``mask`` (items, places), 1 where a letter stands, and ``lengths``, beside
    what ``default_collate`` gives.

    Args:
        length: Places in the batch; None takes its longest item.
        value: What padding holds.
        multiple: The longest item is rounded up to a multiple of this.
        axis: The axis of places in an item's ``inputs``: -1, or 0 for channels last.

    Raises:
        ArgumentError: A length or a multiple below 1.

    Examples:
        >>> items = [{"inputs": np.ones((4, 2))}, {"inputs": np.ones((4, 3))}]
        >>> batch = PadCollator()(items)
        >>> batch["inputs"].shape, batch["mask"].tolist(), batch["lengths"].tolist()
        ((2, 4, 3), [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], [2, 3])
    """

    length: int | None = None
    value: float = 0
    multiple: int = 1
    axis: int = -1

    def __post_init__(self) -> None:
        if self.multiple < 1 or (self.length is not None and self.length < 1):
            raise ArgumentError(
                f"length and multiple must be 1 or more, got {self.length}, {self.multiple}"
            )

    def __call__(self, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Puts items together.

        Args:
            items: Dicts with ``inputs``.

        Returns:
            The batch.

        Raises:
            ArgumentError: There is no item.
            ShapeError: An item is longer than ``length``, or items differ elsewhere too.

        Examples:
            >>> PadCollator(length=4)([{"inputs": np.ones(3)}])["inputs"].tolist()
            [[1.0, 1.0, 1.0, 0.0]]
        """
        if not items:
            raise ArgumentError("a batch needs at least one item, got none")
        lengths = np.array([item["inputs"].shape[self.axis] for item in items], np.int64)
        places = self._places(int(lengths.max()))
        padded = [
            {**item, "inputs": self._padded(item["inputs"], places)} for item in items
        ]
        return default_collate(padded) | self._extent(lengths, places)

    def columns(self, dataset: Any, indices: NDArray[np.int64]) -> dict[str, Any]:
        """Fetches the same batch from a dataset at once, without a Python object an item.

        Args:
            dataset: A ``SequenceDataset`` with an encoder, or a part of one.
            indices: Which sequences.

        Returns:
            What calling the collator on the items would give.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> from seqloom.encode import OneHot
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> data = SequenceDataset("a.fa", encoder=OneHot("dna"))
            >>> PadCollator().columns(data, np.arange(2))["mask"].sum()
            np.float32(6.0)
        """
        batch = dataset.batch(indices, length=self.length, multiple=self.multiple)
        inputs, lengths = batch["inputs"], batch.pop("lengths")
        batch.pop("mask", None)
        extent = self._extent(lengths, inputs.shape[self.axis % 2 + 1])
        if self.value:
            np.moveaxis(inputs, self.axis % 2 + 1, 1)[extent["mask"] == 0] = self.value
        return batch | extent

    def _places(self, longest: int) -> int:
        """Decides how many places the batch has."""
        if self.length is None:
            return -(-longest // self.multiple) * self.multiple
        if longest > self.length:
            raise ShapeError(f"an item has {longest:,} places, more than {self.length:,}")
        return self.length

    def _padded(self, inputs: NDArray[Any], places: int) -> NDArray[Any]:
        """Lengthens one item."""
        axis = self.axis % inputs.ndim
        margins = [(0, 0)] * inputs.ndim
        margins[axis] = (0, places - inputs.shape[axis])
        return np.pad(inputs, margins, constant_values=self.value)

    def _extent(self, lengths: NDArray[np.int64], places: int) -> dict[str, Any]:
        """Says where letters stand."""
        return {"lengths": lengths, "mask": mask_of(lengths, places)}
