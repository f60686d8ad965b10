"""Splitting so that no group is cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data._frame import key_text, values_by_id
from seqloom.data._order import permutation
from seqloom.data.label._cells import is_nothing
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from seqloom._key import Key
    from seqloom.data._map_dataset import MapDataset
    from seqloom.data._subset import Subset


def group_numbers(
    dataset: MapDataset | Subset, groups: ArrayLike | Mapping[str, Any]
) -> NDArray[np.int64]:
    """Numbers the groups that sequences belong to."""
    if isinstance(groups, str):
        groups = dataset.group(groups)
    by_id = values_by_id("groups", groups, dataset)
    names = np.asarray(groups if by_id is None else by_id, object)
    if names.shape != (len(dataset),):
        raise ArgumentError(
            f"groups must name one group for each of {len(dataset):,} sequences, "
            f"got shape {names.shape}"
        )
    _check_present(dataset, names.tolist())
    return np.unique(list(map(key_text, names)), return_inverse=True)[1]


def _check_present(dataset: MapDataset | Subset, names: list[Any]) -> None:
    """Refuses records without a group: they would all be one group, or each its own."""
    missing = [row for row, name in enumerate(names) if is_nothing(name) or name == ""]
    if missing:
        raise ArgumentError(
            f"groups names no group for {len(missing):,} of {len(names):,} records: "
            f"{dataset.ids[missing[0]]!r}, ...; give each a group, such as its id"
        )


def deal_groups(
    groups: NDArray[np.int64], classes: NDArray[np.int64], shares: list[float], *, key: Key
) -> NDArray[np.int64]:
    """Deals whole groups, large ones first, each to the part that lacks most of it."""
    counts = np.zeros((int(groups.max(initial=-1)) + 1, int(classes.max(initial=0)) + 1))
    np.add.at(counts, (groups, classes), 1)
    if len(counts) < len(shares):
        raise ArgumentError(
            f"groups must have at least one group for each of the {len(shares)} parts, "
            f"got {len(counts)}"
        )
    shuffled = permutation(len(counts), key)
    order = shuffled[np.argsort(-counts[shuffled].sum(axis=1), kind="stable")]
    lacking = np.outer(shares, counts.sum(axis=0))
    weights = 1 / np.maximum(counts.sum(axis=0), 1)
    part_of = np.zeros(len(counts), np.int64)
    for group in order:
        # How much nearer to what it should have each part would come.
        gain = ((2 * lacking - counts[group]) * counts[group] * weights).sum(axis=1)
        part_of[group] = gain.argmax()
        lacking[part_of[group]] -= counts[group]
    return part_of[groups]
