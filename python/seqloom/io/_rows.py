"""Several batches as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom._ragged import Ragged, offsets_of
from seqloom.io._batch import SequenceBatch

if TYPE_CHECKING:
    from collections.abc import Sequence


def join(batches: Sequence[SequenceBatch]) -> SequenceBatch:
    """Puts batches one behind the other; one alone is not copied."""
    if len(batches) == 1:
        return batches[0]
    qualities = [each.qualities for each in batches if each.qualities is not None]
    return SequenceBatch(
        _join([each.headers for each in batches]),
        _join([each.sequences for each in batches]),
        _join(qualities) if len(qualities) == len(batches) else None,
    )


def _join(columns: Sequence[Ragged]) -> Ragged:
    """Puts columns one behind the other."""
    data = np.concatenate([each.data for each in columns])
    return Ragged(data, offsets_of(np.concatenate([each.lengths for each in columns])))
