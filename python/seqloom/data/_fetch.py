"""From positions to a batch, the fast way where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.data._collate import default_collate, unequal
from seqloom.data._pad import PadCollator
from seqloom.data._sequence_dataset import SequenceDataset
from seqloom.data._subset import Subset

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Fetch = Callable[[NDArray[np.int64]], Any]


def fetcher(dataset: Any, collate: Callable[[list[Any]], Any]) -> Fetch:
    """Chooses how to make a batch: as columns with our collators, else item by item."""
    if isinstance(dataset, (SequenceDataset, Subset)) and dataset.encoder is not None:
        if collate is default_collate:
            return lambda indices: _equal_columns(dataset, indices)
        if isinstance(collate, PadCollator) and _same_axis(dataset, collate):
            return lambda indices: collate.columns(dataset, indices)
    return lambda indices: collate(_items(dataset, indices.tolist()))


def _equal_columns(dataset: SequenceDataset | Subset, indices: NDArray[np.int64]) -> Any:
    """Fetches sequences of one length."""
    batch = dataset.batch(indices)
    lengths = batch.pop("lengths")
    if "mask" in batch:
        raise unequal(lengths.min(), lengths.max())
    return batch


def _same_axis(dataset: SequenceDataset | Subset, collate: PadCollator) -> bool:
    """Tells whether encoder and collator agree about which axis is the place."""
    first = dataset.encoder is not None and dataset.encoder.channels == "first"
    return collate.axis % 2 == int(first)


def _items(dataset: Any, indices: list[int]) -> list[Any]:
    """Fetches items, all at once where the dataset can."""
    if hasattr(dataset, "__getitems__"):
        return dataset.__getitems__(indices)
    return [dataset[i] for i in indices]
