"""Parts of datasets, and cutting a dataset into parts."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from seqloom._arguments import as_flag, as_seed, check_sized
from seqloom._key import Key
from seqloom._text import list_some
from seqloom.data._dataset import Dataset
from seqloom.data._frame import key_text, values_by_id
from seqloom.data._position import permutation
from seqloom.data._source import each_letters, fetch_letters
from seqloom.data.label._labels import is_nothing
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Groups = ArrayLike | Mapping[str, Any]

# The most records and letters that are compared: more would take minutes, and memory.
_MAX_RECORDS = 1 << 20
_MAX_LETTERS = 1 << 30
_SHOWN = 5


def Subset(dataset: Dataset, indices: ArrayLike) -> Dataset:
    """Select records of a dataset, as ``dataset.select(indices)`` does.

    Parts of one dataset are joined by ``+``: ``train + valid``.

    Args:
        dataset: The whole dataset, or a part of it.
        indices: Positions of the records, or a mask of True and False.

    Returns:
        The part.

    Raises:
        ArgumentError: The indices are neither integers nor a mask.
        OutOfRangeError: A position is out of range.

    Examples:
        >>> from seqloom.data import SequenceDataset
        >>> part = Subset(SequenceDataset({"x": "ACGT", "y": "GG"}), [1])
        >>> part.ids, part
        (['y'], Subset(1 sequence of 2))
    """
    check_sized("dataset", dataset)
    check_dataset(dataset)
    return dataset.select(indices)


def has_letters(dataset: Any) -> TypeGuard[Dataset]:
    """Return True for a dataset of ours whose records have letters."""
    return isinstance(dataset, Dataset) and dataset.source.has_letters


def check_dataset(dataset: Any) -> None:
    """Raise if a value is not a dataset of ours, such as a list."""
    if not isinstance(dataset, Dataset):
        raise ArgumentError(
            "dataset must be a dataset of sl.data, or a part of one, got "
            f"{type(dataset).__name__}"
        )


def letters_of(examples: Any, rows: NDArray[np.int64]) -> list[bytes] | None:
    """Read letters as they are before augmentation; None without letters."""
    if not has_letters(examples):
        return None
    found = fetch_letters(examples.source, examples.rows[rows], examples.encoder)
    return found[0].to_list()


def hash_letters(examples: Any) -> NDArray[np.uint64] | None:
    """Hash each record's letters, in capitals; None without letters, or of too many."""
    if not has_letters(examples):
        return None
    if len(examples) > _MAX_RECORDS or examples.lengths.sum() > _MAX_LETTERS:
        return None
    parts = each_letters(examples.source, examples.rows, examples.encoder)
    digests = [
        hashlib.blake2b(letters.upper(), digest_size=8).digest()
        for sequences, _ in parts
        for letters in sequences.to_list()
    ]
    return np.frombuffer(b"".join(digests), np.uint64)


def split(
    dataset: Dataset,
    shares: Sequence[float] | NDArray[Any],
    *,
    stratify: bool = True,
    groups: Groups | None = None,
    seed: int = 0,
) -> tuple[Dataset, ...]:
    """Cut a dataset into parts that have no record in common.

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
        ...     sorted(train.ids + valid.ids) == sorted(train.whole.ids),
        ... )
        (8, 2, True)
    """
    shares = _check_shares(shares)
    check_dataset(dataset)
    stratify = as_flag("stratify", stratify)
    parts = _deal(dataset, shares, groups, stratify=stratify, seed=seed)
    rows = [np.flatnonzero(parts == i) for i in range(len(shares))]
    dataset = _fit_to(dataset, rows[0])
    plain = dataset.plain()
    return tuple((plain if i else dataset).select(part) for i, part in enumerate(rows))


def folds(
    dataset: Dataset,
    k: int,
    *,
    stratify: bool = True,
    groups: Groups | None = None,
    seed: int = 0,
) -> list[tuple[Dataset, Dataset]]:
    """Cut a dataset into k parts, each of which is once the one to validate by.

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
    check_dataset(dataset)
    stratify = as_flag("stratify", stratify)
    parts = _deal(dataset, [1 / k] * k, groups, stratify=stratify, seed=seed)
    rows = [(np.flatnonzero(parts != i), np.flatnonzero(parts == i)) for i in range(k)]
    wholes = [_fit_to(dataset, train) for train, _ in rows]
    return [
        (whole.select(train), whole.plain().select(valid))
        for whole, (train, valid) in zip(wholes, rows, strict=True)
    ]


def _fit_to(dataset: Dataset, rows: NDArray[np.int64]) -> Dataset:
    """Standardise a dataset by some of its records, if it is not fitted yet."""
    source = dataset.source.fitted(dataset.rows[rows])
    return dataset if source is dataset.source else dataset.replace(source=source)


def _check_shares(shares: Any) -> list[float]:
    """Check that there is one share for each part."""
    try:
        each = [float(share) for share in shares]
    except (TypeError, ValueError):
        raise ArgumentError(
            f"shares must be one number for each part, such as (0.8, 0.2); got {shares!r}"
        ) from None
    if not each or min(each) <= 0 or not math.isclose(sum(each), 1, abs_tol=1e-6):
        raise ArgumentError(f"shares must be above 0 and sum to 1, got {tuple(each)}")
    return each


def _deal(
    dataset: Dataset,
    shares: list[float],
    groups: Groups | None,
    *,
    stratify: bool,
    seed: int,
) -> NDArray[np.int64]:
    """Return each sequence the number of its part."""
    key = Key(as_seed(seed)).fold("split")
    classes = dataset.labels
    # Numbers and several labels are not balanced.
    if classes is None or not stratify or dataset.task != "classify":
        classes = np.zeros(len(dataset), np.int64)
    if groups is None:
        parts = _deal_each(classes, shares, key)
    else:
        parts = deal_groups(group_numbers(dataset, groups), classes, shares, key=key)
    sizes = np.bincount(parts, minlength=len(shares))
    if not sizes.all():
        shown = list_some([f"{share:.3g}" for share in shares], _SHOWN)
        raise ArgumentError(
            f"part {sizes.argmin() + 1} of {len(shares)} would be empty: "
            f"{len(dataset):,} sequences for shares {shown}"
        )
    return parts


def _deal_each(
    classes: NDArray[np.int64], shares: list[float], key: Key
) -> NDArray[np.int64]:
    """Deal sequence by sequence: exact sizes, and every class within one of its share."""
    parts = np.zeros(classes.size, np.int64)
    left = permutation(classes.size, key)
    for part, size in enumerate(_apportion(classes.size, shares)):
        taken = _first_of_each(classes[left], size)
        parts[left[taken]] = part
        left = left[~taken]
    return parts


def _first_of_each(classes: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Mark ``size`` positions: the first ones of each class, as many as its share."""
    counts = np.bincount(classes)
    quotas = np.array(_apportion(size, counts / max(classes.size, 1)), np.int64)
    by_class = np.argsort(classes, kind="stable")
    starts = counts.cumsum() - counts
    position_in_class = np.empty_like(by_class)
    position_in_class[by_class] = np.arange(classes.size) - starts[classes[by_class]]
    return position_in_class < quotas[classes]


def _apportion(n: int, shares: Iterable[float]) -> list[int]:
    """Round shares of n to integers that sum to n, by largest remainder."""
    exact = [n * share for share in shares]
    sizes = [math.floor(size + 1e-9) for size in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: sizes[i] - exact[i])
    for i in by_remainder[: n - sum(sizes)]:
        sizes[i] += 1
    return sizes


def group_numbers(
    dataset: Dataset, groups: ArrayLike | Mapping[str, Any]
) -> NDArray[np.int64]:
    """Number the groups that sequences belong to."""
    if isinstance(groups, str):
        groups = dataset.group(groups)
    by_id = values_by_id("groups", groups, dataset)
    names = np.asarray(groups if by_id is None else by_id, object)
    if names.shape != (len(dataset),):
        raise ArgumentError(
            f"groups must name one group for each of {len(dataset):,} sequences, "
            f"got shape {names.shape}"
        )
    given: list[Any] = names.tolist()
    missing = [row for row, name in enumerate(given) if is_nothing(name) or name == ""]
    if missing:  # they would all be one group, or each its own
        raise ArgumentError(
            f"groups names no group for {len(missing):,} of {len(given):,} records: "
            f"{dataset.ids[missing[0]]!r}, ...; give each a group, such as its id"
        )
    return np.unique(list(map(key_text, names)), return_inverse=True)[1]


def deal_groups(
    groups: NDArray[np.int64], classes: NDArray[np.int64], shares: list[float], *, key: Key
) -> NDArray[np.int64]:
    """Deal whole groups, large ones first, each to the part that lacks most of it."""
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
