"""Subsets of a dataset, and random splits and folds."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from seqloom._arguments import as_bool, as_seed, check_has_length
from seqloom._key import Key
from seqloom._text import join_first_names
from seqloom.data._dataset import Dataset
from seqloom.data._frame import format_id, values_by_id
from seqloom.data._position import permutation
from seqloom.data._similarity import find_similar
from seqloom.data._source import fetch_letters, iterate_letters
from seqloom.data.label._labels import is_missing
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Groups = ArrayLike | Mapping[str, Any]

# Larger datasets are not checked for duplicates, which would take minutes and memory.
_MAX_HASHED_RECORDS = 1 << 20
_MAX_HASHED_RESIDUES = 1 << 30
# Larger sets are not searched for similar records, to limit time and memory.
_MAX_COMPARED_RESIDUES = 1 << 24
_MAX_SHOWN_SHARES = 5


def Subset(dataset: Dataset, indices: ArrayLike) -> Dataset:
    """Select records of a dataset, as ``dataset.select(indices)`` does.

    Join subsets of one dataset with ``+``: ``train + valid``.

    Args:
        dataset: A dataset, or a subset of one.
        indices: Indices of the records, or a boolean mask.

    Returns:
        The subset.

    Raises:
        ArgumentError: The indices are neither integers nor a mask.
        OutOfRangeError: An index is out of range.

    Examples:
        >>> from seqloom.data import SequenceDataset
        >>> part = Subset(SequenceDataset({"x": "ACGT", "y": "GG"}), [1])
        >>> part.ids, part
        (['y'], Subset(1 sequence of 2))
    """
    check_has_length("dataset", dataset)
    check_dataset(dataset)
    return dataset.select(indices)


def has_letters(dataset: Any) -> TypeGuard[Dataset]:
    """Return whether a value is a `Dataset` of sequences."""
    return isinstance(dataset, Dataset) and dataset.source.has_letters


def check_dataset(dataset: Any) -> None:
    """Raise unless a value is a `Dataset`."""
    if not isinstance(dataset, Dataset):
        raise ArgumentError(
            "dataset must be a dataset of sl.data, or a subset of one, got "
            f"{type(dataset).__name__}"
        )


def read_sequences(examples: Any, rows: NDArray[np.int64]) -> list[bytes] | None:
    """Return sequences before augmentation; None if the records are not sequences."""
    if not has_letters(examples):
        return None
    sequences, _ = fetch_letters(examples.source, examples.rows[rows], examples.encoder)
    return sequences.to_list()


def hash_sequences(examples: Any) -> NDArray[np.uint64] | None:
    """Hash each sequence in upper case; None if there are no sequences, or too many."""
    if not has_letters(examples):
        return None
    if len(examples) > _MAX_HASHED_RECORDS or examples.lengths.sum() > _MAX_HASHED_RESIDUES:
        return None
    parts = iterate_letters(examples.source, examples.rows, examples.encoder)
    digests = [
        hashlib.blake2b(letters.upper(), digest_size=8).digest()
        for sequences, _ in parts
        for letters in sequences.to_list()
    ]
    return np.frombuffer(b"".join(digests), np.uint64)


def find_similar_records(examples: Any, train: Any) -> tuple[NDArray[np.bool_], int] | None:
    """Return which sequences are similar to a training sequence, and k of the k-mers."""
    if not (has_letters(examples) and has_letters(train)):
        return None
    if examples.lengths.sum() + train.lengths.sum() > _MAX_COMPARED_RESIDUES:
        return None
    pair = [
        [it.upper() for it in read_sequences(part, np.arange(len(part))) or ()]
        for part in (examples, train)
    ]
    return find_similar(*pair)


def split(
    dataset: Dataset,
    shares: Sequence[float] | NDArray[Any],
    *,
    stratify: bool = True,
    groups: Groups | None = None,
    seed: int = 0,
) -> tuple[Dataset, ...]:
    """Split a dataset at random into subsets that share no records.

    Records with equal sequences may fall into different subsets; ``groups="sequence"``
    keeps equal sequences together. ``groups="similar"`` and ``"homology"`` also keep
    similar sequences together.

    The fractions of the dataset are rounded to whole records by the largest remainder
    method. Each subset keeps the order of the dataset. The split depends only on the seed.
    Only the first subset, the training set, keeps augmentation and jitter. The genotypes of
    all subsets are standardised with the statistics of the training set, unless the encoder
    is already fitted.

    Args:
        dataset: The dataset to split.
        shares: The fraction of records in each subset; the fractions must sum to 1.
        stratify: If True and the labels are classes, all subsets have the same fraction of
            each class.
        groups: The group of each record, such as its family or donor: an array, a list,
            or a dict or pandas series by id. The name of a column, such as ``"file"``
            or the ``"chrom"`` of intervals, is accepted too. With ``"sequence"``, equal
            sequences form a group. With ``"similar"``, a sequence is in each group of
            longer sequences in which at least half of its k-mers occur, on either
            strand of DNA or RNA. The k-mers are 12-mers of DNA and RNA, and 6-mers of
            proteins. With ``"homology"``, two sequences that share a quarter of the k-mers
            of the shorter one are in one group, and so are intervals that overlap, also
            after jitter; then `check_leakage` finds no leak. All records of a group are in
            the same subset, so subset sizes only approximate the fractions. A record
            without a group raises an error.
        seed: Seed of the random split.

    Returns:
        The subsets; each has all classes of the dataset.

    Raises:
        ArgumentError: The fractions do not sum to 1, a subset would be empty, or the groups
            do not match the records.

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
    stratify = as_bool("stratify", stratify)
    parts = _assign_records(dataset, shares, groups, stratify=stratify, seed=seed)
    rows = [np.flatnonzero(parts == i) for i in range(len(shares))]
    dataset = _select_training_rows(dataset, rows[0])
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
    """Split a dataset for k-fold cross-validation.

    Validation sets are not augmented. The genotypes of each fold are standardised with the
    statistics of its training set, unless the encoder is already fitted.

    Args:
        dataset: The dataset to split.
        k: The number of folds, 2 or more.
        stratify: If True and the labels are classes, all subsets have the same fraction of
            each class.
        groups: The group of each record, a dict or a pandas series from id to group, or the
            name of a column, such as ``"file"``. With ``"sequence"``, equal sequences form
            a group, and with ``"similar"`` or ``"homology"`` similar sequences, as in
            `split`. All records of a group are in the same fold.
        seed: Seed of the random split.

    Returns:
        One pair (training set, validation set) for each fold.

    Raises:
        ArgumentError: ``k`` is below 2, a fold would be empty, or the groups do not match
            the records.

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
    stratify = as_bool("stratify", stratify)
    parts = _assign_records(dataset, [1 / k] * k, groups, stratify=stratify, seed=seed)
    rows = [(np.flatnonzero(parts != i), np.flatnonzero(parts == i)) for i in range(k)]
    wholes = [_select_training_rows(dataset, train) for train, _ in rows]
    return [
        (whole.select(train), whole.plain().select(valid))
        for whole, (train, valid) in zip(wholes, rows, strict=True)
    ]


def _select_training_rows(dataset: Dataset, rows: NDArray[np.int64]) -> Dataset:
    source = dataset.source.fitted(dataset.rows[rows])
    return dataset if source is dataset.source else dataset.replace(source=source)


def _check_shares(shares: Any) -> list[float]:
    """Return the fractions as floats; raise unless they are positive and sum to 1."""
    try:
        numbers = [float(share) for share in shares]
    except (TypeError, ValueError):
        raise ArgumentError(
            f"shares must be a number for each subset, such as (0.8, 0.2); got {shares!r}"
        ) from None
    if not numbers or min(numbers) <= 0 or not math.isclose(sum(numbers), 1, abs_tol=1e-6):
        raise ArgumentError(f"shares must be above 0 and sum to 1, got {tuple(numbers)}")
    return numbers


def _assign_records(
    dataset: Dataset,
    shares: list[float],
    groups: Groups | None,
    *,
    stratify: bool,
    seed: int,
) -> NDArray[np.int64]:
    key = Key(as_seed(seed)).fold("split")
    classes = dataset.labels
    # Only classes can be stratified.
    if classes is None or not stratify or dataset.task != "classify":
        classes = np.zeros(len(dataset), np.int64)
    if groups is None:
        parts = _assign_by_class(classes, shares, key)
    else:
        parts = assign_groups(number_groups(dataset, groups), classes, shares, key=key)
    sizes = np.bincount(parts, minlength=len(shares))
    if not sizes.all():
        shown = join_first_names([f"{share:.3g}" for share in shares], _MAX_SHOWN_SHARES)
        raise ArgumentError(
            f"subset {sizes.argmin() + 1} of {len(shares)} would be empty: "
            f"{len(dataset):,} sequences for shares {shown}"
        )
    return parts


def _assign_by_class(
    classes: NDArray[np.int64], shares: list[float], key: Key
) -> NDArray[np.int64]:
    """Assign records to subsets, with the same class fractions in each subset."""
    parts = np.zeros(classes.size, np.int64)
    remaining = permutation(classes.size, key)
    for part, size in enumerate(_round_shares(classes.size, shares)):
        is_chosen = _select_by_class(classes[remaining], size)
        parts[remaining[is_chosen]] = part
        remaining = remaining[~is_chosen]
    return parts


def _select_by_class(classes: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Return a mask of ``size`` records that has about the same fraction of each class."""
    counts = np.bincount(classes)
    quotas = np.array(_round_shares(size, counts / max(classes.size, 1)), np.int64)
    by_class = np.argsort(classes, kind="stable")
    starts = counts.cumsum() - counts
    position_in_class = np.empty_like(by_class)
    position_in_class[by_class] = np.arange(classes.size) - starts[classes[by_class]]
    return position_in_class < quotas[classes]


def _round_shares(n: int, shares: Iterable[float]) -> list[int]:
    """Round fractions of n to integers whose sum is n (largest remainder method)."""
    exact = [n * share for share in shares]
    sizes = [math.floor(size + 1e-9) for size in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: sizes[i] - exact[i])
    for i in by_remainder[: n - sum(sizes)]:
        sizes[i] += 1
    return sizes


def number_groups(
    dataset: Dataset, groups: ArrayLike | Mapping[str, Any]
) -> NDArray[np.int64]:
    """Return the group number of each record."""
    if isinstance(groups, str):
        groups = dataset.group(groups)
    by_id = values_by_id("groups", groups, dataset)
    names = np.asarray(groups if by_id is None else by_id, object)
    if names.shape != (len(dataset),):
        raise ArgumentError(
            f"groups must contain one group for each of {len(dataset):,} records, "
            f"got shape {names.shape}"
        )
    listed: list[Any] = names.tolist()
    missing = [row for row, name in enumerate(listed) if is_missing(name) or name == ""]
    if missing:
        raise ArgumentError(
            f"groups has no group for {len(missing):,} of {len(listed):,} records: "
            f"{dataset.ids[missing[0]]!r}, ...; add a group for each, such as its id"
        )
    return np.unique(list(map(format_id, names)), return_inverse=True)[1]


def assign_groups(
    groups: NDArray[np.int64], classes: NDArray[np.int64], shares: list[float], *, key: Key
) -> NDArray[np.int64]:
    """Assign whole groups to subsets, largest first, to approximate the target sizes."""
    counts = np.zeros((int(groups.max(initial=-1)) + 1, int(classes.max(initial=0)) + 1))
    np.add.at(counts, (groups, classes), 1)
    if len(counts) < len(shares):
        raise ArgumentError(
            f"groups must contain at least {len(shares)} groups, one for each subset, "
            f"got {len(counts)}"
        )
    shuffled = permutation(len(counts), key)
    order = shuffled[np.argsort(-counts[shuffled].sum(axis=1), kind="stable")]
    lacking = np.outer(shares, counts.sum(axis=0))
    weights = 1 / np.maximum(counts.sum(axis=0), 1)
    part_of = np.zeros(len(counts), np.int64)
    for group in order:
        # For each subset: how much its squared distance to its target size would shrink
        # if the subset received the group.
        gain = ((2 * lacking - counts[group]) * counts[group] * weights).sum(axis=1)
        part_of[group] = gain.argmax()
        lacking[part_of[group]] -= counts[group]
    return part_of[groups]
