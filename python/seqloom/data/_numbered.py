"""Map-style datasets that can be sliced and joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from seqloom.data._map_dataset import MapDataset
from seqloom.data._position import epoch_of, position, positions
from seqloom.data._subset import Subset, join_parts

if TYPE_CHECKING:
    from collections.abc import Sequence


class NumberedItems(MapDataset):
    """A whole dataset, of which a slice is a ``Subset``."""

    def __add__(self, other: MapDataset | Subset) -> Subset:
        """Joins this dataset and a part of it."""
        return join_parts(self[:], other)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Subset: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Subset:
        if isinstance(index, slice):
            return Subset(self, np.arange(len(self))[index])
        return self.items_at(np.array([position(index, len(self))]), epoch_of(index))[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        return self.items_at(positions(indices, len(self)), epoch_of(indices))
