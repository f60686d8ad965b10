"""Cutting a dataset into parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_flag, as_seed
from seqloom._key import Key
from seqloom.data._group import deal_groups, group_numbers
from seqloom.data._order import permutation
from seqloom.data._subset import Subset, learning_from, without_augment
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._map_dataset import MapDataset

    Groups = ArrayLike | Mapping[str, Any]

_SHOWN = 5


def split(
    dataset: MapDataset | Subset,
    shares: Sequence[float] | NDArray[Any],
    *,
    stratify: bool = True,
    groups: Groups | None = None,
    seed: int = 0,
) -> tuple[Subset, ...]:
    """Cuts a dataset into parts that have no record in common.

    Two records with equal letters may fall into different parts, so that a network is
    judged by what it learned; ``groups="sequence"`` keeps them in one part.

    Sizes are the shares of the whole to the nearest sequence (largest remainder), and each
    part keeps the order of the whole. What falls where depends on the seed alone. Only the
    first part keeps augmentation and jitter; genotypes of all parts are standardised by the
    first one, unless their encoder is fitted.

    Args:
        dataset: What to cut.
        shares: The share of each part; together 1.
        stratify: Gives each part its share of every class, where labels are classes.
        groups: A group for each sequence, a dict or a pandas series from id to group
            (family, donor), or the name of a column (``"chrom"`` of intervals, ``"file"``),
            or ``"sequence"``: equal letters are a group. A group is never cut, so sizes are
            as near as its groups allow. A sequence without a group is an error.
        seed: Seed of the random split.

    Returns:
        The parts; they share the classes of the whole.

    Raises:
        ArgumentError: Shares do not sum to 1, a part would be empty, or groups do not fit.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data import SequenceDataset
        >>> _ = Path("a.fa").write_text("".join(f">s{i}\\nACGT\\n" for i in range(10)))
        >>> train, valid = split(SequenceDataset("a.fa"), (0.8, 0.2), seed=1)
        >>> (
        ...     len(train),
        ...     len(valid),
        ...     sorted(train.ids + valid.ids) == sorted(train.dataset.ids),
        ... )
        (8, 2, True)
    """
    shares = _check_shares(shares)
    _check_dataset(dataset)
    stratify = as_flag("stratify", stratify)
    parts = _deal(dataset, shares, groups, stratify=stratify, seed=seed)
    rows = [np.flatnonzero(parts == i) for i in range(len(shares))]
    dataset = learning_from(dataset, rows[0])
    plain = without_augment(dataset)
    return tuple(Subset(plain if i else dataset, part) for i, part in enumerate(rows))


def folds(
    dataset: MapDataset | Subset,
    k: int,
    *,
    stratify: bool = True,
    groups: Groups | None = None,
    seed: int = 0,
) -> list[tuple[Subset, Subset]]:
    """Cuts a dataset into k parts, each of which is once the one to validate by.

    What is validated by is not augmented; genotypes of both are standardised by what is
    trained on, unless their encoder is fitted.

    Args:
        dataset: What to cut.
        k: How many parts, 2 or more.
        stratify: Gives each part its share of every class, where labels are classes.
        groups: A group for each sequence, a dict or a pandas series from id to group, or
            the name of a column (``"chrom"`` of intervals, ``"file"``), or ``"sequence"``:
            equal letters are a group; none is cut.
        seed: Seed of the random split.

    Returns:
        Pairs of what to train on and what to validate by.

    Raises:
        ArgumentError: ``k`` is below 2, a part would be empty, or groups do not fit.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data import SequenceDataset
        >>> _ = Path("a.fa").write_text("".join(f">s{i}\\nACGT\\n" for i in range(10)))
        >>> [(len(t), len(v)) for t, v in folds(SequenceDataset("a.fa"), 3)]
        [(6, 4), (7, 3), (7, 3)]
    """
    if not hasattr(k, "__index__") or k < 2:  # noqa: PLR2004 - two is what a fold means
        raise ArgumentError(f"k must be an integer of at least 2, got {k!r}")
    _check_dataset(dataset)
    stratify = as_flag("stratify", stratify)
    parts = _deal(dataset, [1 / k] * k, groups, stratify=stratify, seed=seed)
    rows = [(np.flatnonzero(parts != i), np.flatnonzero(parts == i)) for i in range(k)]
    wholes = [learning_from(dataset, train) for train, _ in rows]
    return [
        (Subset(whole, train), Subset(without_augment(whole), valid))
        for whole, (train, valid) in zip(wholes, rows, strict=True)
    ]


def _check_shares(shares: Any) -> list[float]:
    """Checks that there is one share for each part."""
    try:
        each = [float(share) for share in shares]
    except (TypeError, ValueError):
        raise ArgumentError(
            f"shares must be one number for each part, such as (0.8, 0.2); got {shares!r}"
        ) from None
    if not each or min(each) <= 0 or not math.isclose(sum(each), 1, abs_tol=1e-6):
        raise ArgumentError(f"shares must be above 0 and sum to 1, got {tuple(each)}")
    return each


def _check_dataset(dataset: Any) -> None:
    """Refuses what is no dataset of ours, such as a list."""
    if not hasattr(dataset, "labels"):
        raise ArgumentError(
            "dataset must be a dataset of sl.data, or a part of one, got "
            f"{type(dataset).__name__}"
        )


def _deal(
    dataset: MapDataset | Subset,
    shares: list[float],
    groups: Groups | None,
    *,
    stratify: bool,
    seed: int,
) -> NDArray[np.int64]:
    """Gives each sequence the number of its part."""
    key = Key(as_seed(seed)).fold("split")
    classes = _strata(dataset) if stratify else np.zeros(len(dataset), np.int64)
    if groups is None:
        parts = _deal_each(classes, shares, key)
    else:
        parts = deal_groups(group_numbers(dataset, groups), classes, shares, key=key)
    sizes = np.bincount(parts, minlength=len(shares))
    if not sizes.all():
        raise ArgumentError(
            f"part {sizes.argmin() + 1} of {len(shares)} would be empty: "
            f"{len(dataset):,} sequences for shares {_describe(shares)}"
        )
    return parts


def _describe(shares: Sequence[float]) -> str:
    """Writes shares; of many, the first."""
    more = ", ..." if len(shares) > _SHOWN else ""
    return ", ".join(f"{share:.3g}" for share in shares[:_SHOWN]) + more


def _strata(dataset: MapDataset | Subset) -> NDArray[np.int64]:
    """Takes the classes to balance; numbers and several labels are not balanced."""
    labels = dataset.labels
    if labels is None or dataset.task != "classify":
        return np.zeros(len(dataset), np.int64)
    return labels


def _deal_each(
    classes: NDArray[np.int64], shares: list[float], key: Key
) -> NDArray[np.int64]:
    """Deals sequence by sequence: exact sizes, and every class within one of its share."""
    parts = np.zeros(classes.size, np.int64)
    left = permutation(classes.size, key)
    for part, size in enumerate(_apportion(classes.size, shares)):
        taken = _first_of_each(classes[left], size)
        parts[left[taken]] = part
        left = left[~taken]
    return parts


def _first_of_each(classes: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Marks ``size`` positions: the first ones of each class, as many as its share."""
    counts = np.bincount(classes)
    quotas = np.array(_apportion(size, counts / max(classes.size, 1)), np.int64)
    by_class = np.argsort(classes, kind="stable")
    starts = counts.cumsum() - counts
    position_in_class = np.empty_like(by_class)
    position_in_class[by_class] = np.arange(classes.size) - starts[classes[by_class]]
    return position_in_class < quotas[classes]


def _apportion(n: int, shares: Iterable[float]) -> list[int]:
    """Rounds shares of n to integers that sum to n, by largest remainder."""
    exact = [n * share for share in shares]
    sizes = [math.floor(size + 1e-9) for size in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: sizes[i] - exact[i])
    for i in by_remainder[: n - sum(sizes)]:
        sizes[i] += 1
    return sizes
